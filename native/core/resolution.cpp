#include "resolution.h"

#include <algorithm>
#include <cmath>

namespace facematch {
namespace {

// A chip shows about as much as the box's longer side. With less than this of a pixel for each of
// its own, embeddings begin to differ from those of the full picture.
constexpr float kPixelsPerChipPixel = 1.2f;

}  // namespace

int side_for_detector(const Pack& pack) {
  // Half as much again as its frame, so that landmarks of a large face lie where they do in full.
  return 3 * std::max(pack.detector.width, pack.detector.height) / 2;
}

int side_for_faces(const Pack& pack, const Image& image, const std::vector<Detection>& faces) {
  const float needed = kPixelsPerChipPixel * static_cast<float>(pack.embedder.size);
  float zoom = 1;
  for (const Detection& face : faces) {
    zoom = std::max(zoom, needed / std::max({face.box.width, face.box.height, 1.0f}));
  }
  const auto now = static_cast<float>(std::max(image.bgr.cols, image.bgr.rows));
  return static_cast<int>(std::lround(std::min(now * zoom, now / image.scale)));
}

Detection scaled(Detection detection, float finer) {
  Box& box = detection.box;
  box = {box.x * finer, box.y * finer, box.width * finer, box.height * finer};
  return detection;
}

Candidate scaled(Candidate candidate, float finer) {
  candidate.detection = scaled(candidate.detection, finer);
  for (Point& point : candidate.points) point *= finer;
  return candidate;
}

}  // namespace facematch
