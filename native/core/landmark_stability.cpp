#include "landmark_stability.h"

#include <array>
#include <cmath>
#include <opencv2/core.hpp>

namespace facematch {
namespace {

constexpr std::array kQuick = {Perturbation{.mirrored = true, .degrees = 20}};
constexpr std::array kThorough = {Perturbation{.mirrored = true}, Perturbation{.degrees = 20},
                                  Perturbation{.degrees = -20}, Perturbation{.right = 0.1f},
                                  Perturbation{.down = 0.1f}};

// The jaw is left out: hair and beards let it wander on good faces too.
constexpr size_t kFirstPoint = 17;

// Which landmark each becomes in a mirror.
constexpr std::array<size_t, 68> kInMirror = {
    16, 15, 14, 13, 12, 11, 10, 9,  8,  7,  6,  5,  4, 3, 2, 1, 0,  // jaw
    26, 25, 24, 23, 22, 21, 20, 19, 18, 17,                         // brows
    27, 28, 29, 30, 35, 34, 33, 32, 31,                             // nose
    45, 44, 43, 42, 47, 46, 39, 38, 37, 36, 41, 40,                 // eyes
    54, 53, 52, 51, 50, 49, 48, 59, 58, 57, 56, 55,                 // outer lips
    64, 63, 62, 61, 60, 67, 66, 65};                                // inner lips

// The points of a look at the mirror image, by the numbers that they have outside it.
Points68 renumbered(const Points68& points) {
  Points68 out;
  for (size_t i = 0; i < out.size(); ++i) out[i] = points[kInMirror[i]];
  return out;
}

float distance(const Points68& a, const Points68& b) {
  float sum = 0;
  for (size_t i = kFirstPoint; i < a.size(); ++i) {
    const Point d = a[i] - b[i];
    sum += d.dot(d);
  }
  return std::sqrt(sum / static_cast<float>(a.size() - kFirstPoint));
}

}  // namespace

std::span<const Perturbation> quick_perturbations() { return kQuick; }
std::span<const Perturbation> thorough_perturbations() { return kThorough; }

float instability(const Landmarker& landmarker, const cv::Mat& bgr, const Box& box,
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
    const Points68 seen = landmarker.predict(bgr, crop, perturbation.mirrored);
    const float moved = distance(points, perturbation.mirrored ? renumbered(seen) : seen);
    logarithms += std::log(moved / side + 1e-6f);
  }
  return std::exp(logarithms / static_cast<float>(perturbations.size()));
}

}  // namespace facematch
