#include "quality.h"

#include <algorithm>
#include <cmath>
#include <opencv2/imgproc.hpp>

#include "head.h"

namespace facematch {
namespace {

constexpr int kPoints = static_cast<int>(kHead.size());

// The head's points do not change, so neither does the matrix that solves for the camera.
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

}  // namespace

Pose estimate_pose(const Points68& points) {
  // Rows of the affine camera by least squares: [x y] = [X Y Z 1] * camera.
  static const cv::Matx<float, 4, kPoints> solver = solve_for_camera();
  cv::Matx<float, kPoints, 2> seen;
  for (int row = 0; row < kPoints; ++row) {
    const Point& point = points[kHead[static_cast<size_t>(row)].landmark];
    seen(row, 0) = point.x;
    seen(row, 1) = point.y;
  }
  const cv::Matx<float, 4, 2> camera = solver * seen;
  const cv::Vec3f right(camera(0, 0), camera(1, 0), camera(2, 0));
  const cv::Vec3f down(camera(0, 1), camera(1, 1), camera(2, 1));
  const float norm_right = static_cast<float>(cv::norm(right));
  const float norm_down = static_cast<float>(cv::norm(down));
  if (!(norm_right > 1e-6f) || !(norm_down > 1e-6f)) return {};
  const cv::Vec3f i = right / norm_right;
  const cv::Vec3f j = down / norm_down;
  const cv::Vec3f k = i.cross(j);  // the head's axes as the viewer's depth sees them
  constexpr float kDegrees = 180.0f / static_cast<float>(CV_PI);
  // R = Rz(roll) * Rx(-pitch) * Ry(-yaw), rows i, j, k: the signs are those of types.h.
  const float pitch = std::asin(std::clamp(-k[1], -1.0f, 1.0f));
  const float yaw = std::atan2(k[0], k[2]);
  const float roll = std::atan2(-i[1], j[1]);
  return {.yaw = yaw * kDegrees, .pitch = pitch * kDegrees, .roll = roll * kDegrees};
}

Quality measure_quality(const cv::Mat& chip, float face_pixels) {
  thread_local cv::Mat grey, edges;
  const int margin = chip.cols / 8;
  cv::cvtColor(chip(cv::Rect(margin, margin, chip.cols - 2 * margin, chip.rows - 2 * margin)), grey,
               cv::COLOR_BGR2GRAY);
  cv::Laplacian(grey, edges, CV_16S);
  cv::Scalar mean, deviation;
  cv::meanStdDev(edges, mean, deviation);
  const double variance = deviation[0] * deviation[0];
  return {.sharpness = static_cast<float>(variance / (variance + 250.0)),
          .brightness = static_cast<float>(cv::mean(grey)[0] / 255.0),
          .face_pixels = face_pixels};
}

}  // namespace facematch
