#include "resolution.h"

#include <algorithm>
#include <cmath>

namespace facematch {
namespace {

// A chip shows about as much as the longer side of the box. With fewer source pixels for each pixel
// of the chip, embeddings begin to differ from those of the full picture.
constexpr float kPixelsPerChipPixel = 1.2f;

}  // namespace

int side_for_detector(const Pack& pack) {
  // 1.5 times its frame, so that landmarks of a large face are the same as in the full picture.
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
