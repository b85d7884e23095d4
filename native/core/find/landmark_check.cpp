#include "landmark_check.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <opencv2/core.hpp>

#include "../image/geometry.h"

namespace facematch {
namespace {

struct Range {
  float min, max;
  bool contains(float value) const { return value >= min && value <= max; }  // false for NaN
};

// Limits, as shares of the box's longer side unless a comment says otherwise. They admit profiles,
// faces cut off by the image's edge, and every pose that the detector finds.
constexpr Range kEyeDistance = {0.12f, 0.7f};
constexpr Range kEyesToMouth = {0.15f, 0.7f};
constexpr float kMaxShift = 0.25f;      // sideways distance of the centres of mouth and eyes
constexpr float kMaxOffCentre = 0.35f;  // distance of the centres of points and box
constexpr Range kNose = {-0.1f, 1.1f};  // height of the tip between eyes (0) and mouth (1)

constexpr float kMaxTemplateError = 0.3f;  // see template_error()

constexpr std::array kQuick = {Perturbation{.mirrored = true, .degrees = 20}};
constexpr std::array kThorough = {Perturbation{.mirrored = true}, Perturbation{.degrees = 20},
                                  Perturbation{.degrees = -20}, Perturbation{.right = 0.1f},
                                  Perturbation{.down = 0.1f}};

// The jaw is omitted: hair and beards make it unstable on good faces too.
constexpr size_t kFirstPoint = 17;

// Index of each landmark in the mirror image.
constexpr std::array<size_t, 68> kInMirror = {
    16, 15, 14, 13, 12, 11, 10, 9,  8,  7,  6,  5,  4, 3, 2, 1, 0,  // jaw
    26, 25, 24, 23, 22, 21, 20, 19, 18, 17,                         // brows
    27, 28, 29, 30, 35, 34, 33, 32, 31,                             // nose
    45, 44, 43, 42, 47, 46, 39, 38, 37, 36, 41, 40,                 // eyes
    54, 53, 52, 51, 50, 49, 48, 59, 58, 57, 56, 55,                 // outer lips
    64, 63, 62, 61, 60, 67, 66, 65};                                // inner lips

// Converts the order of points predicted on the mirror image to that of the original.
Points68 renumbered(const Points68& points) {
  Points68 out;
  for (size_t i = 0; i < out.size(); ++i) out[i] = points[kInMirror[i]];
  return out;
}

float distance(const Points68& a, const Points68& b) {
  return rms_distance(std::span(a).subspan(kFirstPoint), std::span(b).subspan(kFirstPoint));
}

}  // namespace

float template_error(const Landmarks& landmarks, std::span<const Point> template_points) {
  auto points = landmarks.points();
  const Similarity fit = fit_similarity(points, template_points);
  for (Point& point : points) point = fit.apply(point);
  const Point eyes = (template_points[0] + template_points[1]) / 2;
  const Point mouth = (template_points[3] + template_points[4]) / 2;
  return rms_distance(points, template_points) / (mouth.y - eyes.y);
}

bool plausible(const Landmarks& landmarks, const Box& box, std::span<const Point> template_points) {
  const float side = box.longer_side();
  const Point eyes = (landmarks.right_eye + landmarks.left_eye) / 2;
  const Point mouth = (landmarks.mouth_right + landmarks.mouth_left) / 2;
  const float eyes_to_mouth = mouth.y - eyes.y;
  const Point off_centre = (eyes + mouth) / 2 - box.centre();
  // The person's right eye is on the left in the image.
  return kEyeDistance.contains((landmarks.left_eye.x - landmarks.right_eye.x) / side) &&
         kEyesToMouth.contains(eyes_to_mouth / side) &&
         landmarks.mouth_right.x < landmarks.mouth_left.x &&
         kNose.contains((landmarks.nose.y - eyes.y) / eyes_to_mouth) &&
         std::abs(mouth.x - eyes.x) <= kMaxShift * side &&
         cv::norm(off_centre) <= kMaxOffCentre * side &&
         template_error(landmarks, template_points) <= kMaxTemplateError;
}

std::span<const Perturbation> quick_perturbations() { return kQuick; }
std::span<const Perturbation> thorough_perturbations() { return kThorough; }

float instability(const Landmarker& landmarker, const View& view, const Box& box,
                  const Points68& points, std::span<const Perturbation> perturbations) {
  const float side = landmarker.crop_side(box);
  const float roll = eye_line_degrees(five_points(points));
  const float radians = roll * static_cast<float>(CV_PI) / 180.0f;
  const Point right(std::cos(radians), std::sin(radians));
  const Point down(-right.y, right.x);
  const int size = landmarker.crop_size();
  float logarithms = 0;
  for (const Perturbation& perturbation : perturbations) {
    const Point centre =
        box.centre() + right * (perturbation.right * side) + down * (perturbation.down * side);
    const Similarity crop = square_crop(centre, side, roll + perturbation.degrees, size);
    const Points68 seen = landmarker.predict(view, crop, perturbation.mirrored);
    const float moved = distance(points, perturbation.mirrored ? renumbered(seen) : seen);
    logarithms += std::log(moved / side + 1e-6f);
  }
  return std::exp(logarithms / static_cast<float>(perturbations.size()));
}

}  // namespace facematch
