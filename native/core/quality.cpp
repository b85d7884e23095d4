#include "quality.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <opencv2/imgproc.hpp>

namespace facematch {
namespace {

struct ModelPoint {
  size_t index;
  float x, y, z;
};

// A mean adult head in millimetres from the tip of the nose: x to the person's left, y down, z away
// from the viewer. Rounded anthropometric means (eye fissures 32 apart and 90 across, mouth 50
// wide, ...).
constexpr std::array<ModelPoint, 14> kHead = {{
    {27, 0, -40, 16},    // nose bridge
    {30, 0, 0, 0},       // tip of the nose
    {33, 0, 12, 12},     // below the nose
    {31, -14, 8, 16},    // right wing of the nose
    {35, 14, 8, 16},     // left wing
    {36, -45, -36, 34},  // right eye, outer corner
    {39, -16, -35, 27},  // right eye, inner corner
    {42, 16, -35, 27},   // left eye, inner corner
    {45, 45, -36, 34},   // left eye, outer corner
    {48, -25, 30, 23},   // right corner of the mouth
    {54, 25, 30, 23},    // left corner
    {51, 0, 24, 10},     // upper lip
    {57, 0, 38, 12},     // lower lip
    {8, 0, 74, 18},      // chin
}};

}  // namespace

Pose estimate_pose(const Points68& points) {
  // Rows of the affine camera by least squares: [x y] = [X Y Z 1] * camera.
  cv::Matx<float, 14, 4> model;
  cv::Matx<float, 14, 2> seen;
  for (size_t i = 0; i < kHead.size(); ++i) {
    const int row = static_cast<int>(i);
    model(row, 0) = kHead[i].x;
    model(row, 1) = kHead[i].y;
    model(row, 2) = kHead[i].z;
    model(row, 3) = 1;
    seen(row, 0) = points[kHead[i].index].x;
    seen(row, 1) = points[kHead[i].index].y;
  }
  const cv::Matx<float, 4, 2> camera = model.solve(seen, cv::DECOMP_SVD);
  const cv::Vec3f right(camera(0, 0), camera(1, 0), camera(2, 0));
  const cv::Vec3f down(camera(0, 1), camera(1, 1), camera(2, 1));
  const float norm_right = static_cast<float>(cv::norm(right));
  const float norm_down = static_cast<float>(cv::norm(down));
  if (!(norm_right > 1e-6f) || !(norm_down > 1e-6f)) return {};
  const cv::Vec3f i = right / norm_right;
  const cv::Vec3f j = down / norm_down;
  const cv::Vec3f k = i.cross(j);  // the head's axes as the viewer's depth sees them
  constexpr float kDegrees = 180.0f / static_cast<float>(CV_PI);
  // R = Rz(roll) * Rx(pitch) * Ry(yaw), rows i, j, k.
  const float pitch = std::asin(std::clamp(k[1], -1.0f, 1.0f));
  const float yaw = std::atan2(-k[0], k[2]);
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
