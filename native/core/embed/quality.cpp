#include "quality.h"

#include <algorithm>
#include <cmath>
#include <opencv2/imgproc.hpp>

namespace facematch {
namespace {

constexpr int kPoints = static_cast<int>(kHead.size());

// Returns the least-squares solver for the camera. It is constant, like the head's points.
cv::Matx<float, 4, kPoints> solve_for_camera() {
  cv::Matx<float, kPoints, 4> model;
  for (int row = 0; row < kPoints; ++row) {
    const HeadPoint& point = kHead[static_cast<size_t>(row)];
    model(row, 0) = point.x;
    model(row, 1) = point.y;
    model(row, 2) = point.z;
    model(row, 3) = 1;
  }
  return model.inv(cv::DECOMP_SVD);
}

// Sums over all pairs of neighbouring pixels along an axis.
struct Variation {
  double before = 0;  // their differences
  double lost = 0;    // part of these differences that blurring removes
};

// `step`: offset from a pixel to its neighbour.
Variation variation(const cv::Mat& grey, const cv::Mat& blurred, cv::Point step) {
  Variation sum;
  for (int y = step.y; y < grey.rows; ++y) {
    const float* row = grey.ptr<float>(y);
    const float* row_blurred = blurred.ptr<float>(y);
    const float* back = grey.ptr<float>(y - step.y);
    const float* back_blurred = blurred.ptr<float>(y - step.y);
    for (int x = step.x; x < grey.cols; ++x) {
      const float before = std::abs(row[x] - back[x - step.x]);
      const float after = std::abs(row_blurred[x] - back_blurred[x - step.x]);
      sum.before += before;
      sum.lost += std::max(0.0f, before - after);
    }
  }
  return sum;
}

// Sides in pixels of the image in which differences are measured, and of the blur's box filter.
constexpr int kSharpnessSide = 42;
constexpr int kBox = 9;

float sharpness(const cv::Mat& grey) {
  thread_local cv::Mat exact, small, blurred;
  grey.convertTo(exact, CV_32F);  // bytes would round the small differences of a dark image away
  cv::resize(exact, small, {kSharpnessSide, kSharpnessSide}, 0, 0, cv::INTER_AREA);
  double min = 1;
  for (const cv::Point step : {cv::Point(1, 0), cv::Point(0, 1)}) {
    const cv::Size box = step.x ? cv::Size(kBox, 1) : cv::Size(1, kBox);
    cv::blur(small, blurred, box, {-1, -1}, cv::BORDER_REFLECT_101);
    const Variation sum = variation(small, blurred, step);
    min = std::min(min, sum.before > 1e-3 ? sum.lost / sum.before : 0);
  }
  return static_cast<float>(min);
}

// The axes of the head that the affine camera projects to the rows and the columns of the image.
struct Axes {
  cv::Vec3f right, down;
};

Axes axes_of(const Points68& points) {
  // Fits the affine camera by least squares: [x y] = [X Y Z 1] * camera.
  static const cv::Matx<float, 4, kPoints> solver = solve_for_camera();
  cv::Matx<float, kPoints, 2> seen;
  for (int row = 0; row < kPoints; ++row) {
    const Point& point = points[kHead[static_cast<size_t>(row)].landmark];
    seen(row, 0) = point.x;
    seen(row, 1) = point.y;
  }
  const cv::Matx<float, 4, 2> camera = solver * seen;
  return {{camera(0, 0), camera(1, 0), camera(2, 0)}, {camera(0, 1), camera(1, 1), camera(2, 1)}};
}

}  // namespace

float stretch(const Points68& points) {
  const auto [right, down] = axes_of(points);
  // The eigenvalues of the axes' Gram matrix are half + apart and half - apart. Their square roots
  // are the maximum and the minimum scale of the projection.
  const float half = (right.dot(right) + down.dot(down)) / 2;
  const float apart = std::hypot((right.dot(right) - down.dot(down)) / 2, right.dot(down));
  return apart < half ? std::sqrt((half + apart) / (half - apart)) : 1;
}

Pose estimate_pose(const Points68& points) {
  const auto [right, down] = axes_of(points);
  // The nearest pair of orthonormal axes is A^(-1/2) [right; down], where A is their Gram matrix.
  // The inverse root of a symmetric 2 x 2 matrix is the adjugate of A + sqrt(det A), up to a scale,
  // which does not matter here.
  const float rr = right.dot(right);
  const float dd = down.dot(down);
  const float rd = right.dot(down);
  const float root = std::sqrt(std::max(0.0f, rr * dd - rd * rd));
  if (!(root > 1e-3f * (rr + dd))) return {};
  const cv::Vec3f i = cv::normalize(right * (dd + root) - down * rd);
  const cv::Vec3f j = cv::normalize(down * (rr + root) - right * rd);
  const cv::Vec3f k = i.cross(j);  // depth components of the head's axes, as the viewer sees them
  constexpr float kDegrees = 180.0f / static_cast<float>(CV_PI);
  // R = Rz(roll) * Rx(-pitch) * Ry(-yaw), rows i, j, k; types.h defines the signs.
  const float pitch = std::asin(std::clamp(-k[1], -1.0f, 1.0f));
  const float yaw = std::atan2(k[0], k[2]);
  const float roll = std::atan2(-i[1], j[1]);
  return {.yaw = yaw * kDegrees, .pitch = pitch * kDegrees, .roll = roll * kDegrees};
}

Pose correct_yaw(Pose pose) {
  constexpr float kTrue = 20;
  constexpr float kSlope = 2.25f;
  constexpr float kProfile = 90;
  const float beyond = std::abs(pose.yaw) - kTrue;
  if (beyond > 0) {
    pose.yaw = std::copysign(std::min(kProfile, kTrue + kSlope * beyond), pose.yaw);
  }
  return pose;
}

Quality measure_quality(const cv::Mat& chip, float face_pixels) {
  thread_local cv::Mat grey;
  const int margin = chip.cols / 8;
  cv::cvtColor(chip(cv::Rect(margin, margin, chip.cols - 2 * margin, chip.rows - 2 * margin)), grey,
               cv::COLOR_BGR2GRAY);
  return {.sharpness = sharpness(grey),
          .brightness = static_cast<float>(cv::mean(grey)[0] / 255.0),
          .face_pixels = face_pixels,
          .dot_pitch = 0,
          .stretch = 1};
}

}  // namespace facematch
