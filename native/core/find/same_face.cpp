#include "same_face.h"

#include <algorithm>
#include <cmath>

#include "detect.h"

namespace facematch {
namespace {

// Minimum intersection over union of two detections of one face. In 168 development photos of
// several people, 436 faces are found; 432 with 0.25, and 436 with 0.55. These photos do not
// determine the other two limits: kCoincide of 0.15 or 0.35 and kOverlap of 0.3 or 0.7 find the
// same faces.
constexpr float kSameFace = 0.4f;
// Landmarks of two people are further apart than this share of the smaller box (root mean square).
constexpr float kCoincide = 0.25f;
constexpr float kOverlap = 0.5f;  // minimum overlap / area of the smaller box

Point middle_of(const FoundFace& face) {
  Point sum;
  for (const Point point : face.points) sum += point;
  return sum / static_cast<float>(face.points.size());
}

bool is_same_face(const FoundFace& a, const FoundFace& b) {
  return intersection_over_union(a.detection.box, b.detection.box) > kSameFace ||
         landmarks_coincide(a, b);
}

bool is_among(const std::vector<FoundFace>& faces, const FoundFace& one) {
  return std::any_of(faces.begin(), faces.end(),
                     [&](const FoundFace& face) { return is_same_face(face, one); });
}

}  // namespace

bool landmarks_coincide(const FoundFace& a, const FoundFace& b) {
  const auto of_a = five_points(a.points).points(), of_b = five_points(b.points).points();
  const float side = std::min(a.detection.box.longer_side(), b.detection.box.longer_side());
  return rms_distance(of_a, of_b) < kCoincide * side;
}

float off_centre(const FoundFace& face) {
  return static_cast<float>(cv::norm(middle_of(face) - face.detection.box.centre())) /
         face.detection.box.longer_side();
}

bool overlap(const Box& a, const Box& b) {
  const float width = std::min(a.x + a.width, b.x + b.width) - std::max(a.x, b.x);
  const float height = std::min(a.y + a.height, b.y + b.height) - std::max(a.y, b.y);
  return width > 0 && height > 0 && width * height > kOverlap * std::min(a.area(), b.area());
}

void keep_one_of_each(std::vector<FoundFace>& faces, float (*badness)(const FoundFace&)) {
  std::stable_sort(faces.begin(), faces.end(),
                   [&](const auto& a, const auto& b) { return badness(a) < badness(b); });
  std::vector<FoundFace> kept;
  for (FoundFace& face : faces) {
    const auto better = std::find_if(kept.begin(), kept.end(), [&](const FoundFace& known) {
      return is_same_face(known, face);
    });
    if (better == kept.end()) {
      kept.push_back(std::move(face));
    } else {
      better->detection.score = std::max(better->detection.score, face.detection.score);
    }
  }
  faces = std::move(kept);
}

void restore_first_landmarks(std::vector<FoundFace>& faces) {
  for (FoundFace& face : faces) {
    if (!face.first_points) continue;
    FoundFace before = face;
    before.points = *face.first_points;
    const bool lost = std::any_of(faces.begin(), faces.end(), [&](const FoundFace& other) {
      return &other != &face && is_same_face(other, face) && !is_same_face(other, before);
    });
    if (lost) face.points = before.points;
  }
}

void append_new(std::vector<FoundFace>& faces, std::vector<FoundFace> more) {
  for (FoundFace& face : more) {
    if (!is_among(faces, face)) faces.push_back(std::move(face));
  }
}

std::vector<FoundFace> without_known(std::vector<FoundFace> faces,
                                     const std::vector<FoundFace>& known) {
  std::erase_if(faces, [&](const FoundFace& face) { return is_among(known, face); });
  return faces;
}

}  // namespace facematch
