#include "face_geometry.h"

#include <algorithm>
#include <cmath>

#include "geometry.h"

namespace facematch {
namespace {

struct Range {
  float least, most;
  bool holds(float value) const { return value >= least && value <= most; }  // false for NaN
};

// Shares of the box's longer side. Wide enough for profiles, for faces cut off by the frame and for
// every pose that the detector finds.
constexpr Range kEyeDistance = {0.12f, 0.7f};
constexpr Range kEyesToMouth = {0.15f, 0.7f};
constexpr float kMostShift = 0.25f;      // of the mouth's middle against the eyes', sideways
constexpr float kMostOffCentre = 0.35f;  // of the points' middle against the box's
constexpr Range kNose = {-0.1f, 1.1f};   // height of its tip between eyes (0) and mouth (1)

constexpr float kMostTemplateError = 0.3f;  // see template_error()

}  // namespace

float template_error(const Landmarks& landmarks, std::span<const Point> template_points) {
  const auto points = landmarks.points();
  const Similarity fit = fit_similarity(points, template_points);
  float sum = 0;
  for (size_t i = 0; i < points.size(); ++i) {
    const Point d = fit.apply(points[i]) - template_points[i];
    sum += d.dot(d);
  }
  const Point eyes = (template_points[0] + template_points[1]) / 2;
  const Point mouth = (template_points[3] + template_points[4]) / 2;
  return std::sqrt(sum / static_cast<float>(points.size())) / (mouth.y - eyes.y);
}

bool plausible(const Landmarks& landmarks, const Box& box, std::span<const Point> template_points) {
  const float side = std::max(box.width, box.height);
  const Point eyes = (landmarks.right_eye + landmarks.left_eye) / 2;
  const Point mouth = (landmarks.mouth_right + landmarks.mouth_left) / 2;
  const float eyes_to_mouth = mouth.y - eyes.y;
  const Point off_centre = (eyes + mouth) / 2 - box.centre();
  // In the picture the person's right eye lies to the left.
  return kEyeDistance.holds((landmarks.left_eye.x - landmarks.right_eye.x) / side) &&
         kEyesToMouth.holds(eyes_to_mouth / side) &&
         landmarks.mouth_right.x < landmarks.mouth_left.x &&
         kNose.holds((landmarks.nose.y - eyes.y) / eyes_to_mouth) &&
         std::abs(mouth.x - eyes.x) <= kMostShift * side &&
         cv::norm(off_centre) <= kMostOffCentre * side &&
         template_error(landmarks, template_points) <= kMostTemplateError;
}

}  // namespace facematch
