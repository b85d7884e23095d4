#include "landmarks.h"

#include <algorithm>
#include <cmath>
#include <opencv2/imgproc.hpp>

#include "../error.h"
#include "../runtime/net_input.h"

namespace facematch {
namespace {

// Limit for coordinates, in sides of the crop from its corner: far beyond any face, but small
// enough to avoid overflow.
constexpr float kMaxShare = 100;

float bounded(float share) {
  if (!std::isfinite(share)) {
    throw Error(ErrorCode::kInternalError, "the landmark net returned NaN or infinity");
  }
  return std::clamp(share, -kMaxShare, kMaxShare);
}

Point mean(const Points68& points, size_t first, size_t last) {
  Point sum;
  for (size_t i = first; i <= last; ++i) sum += points[i];
  return sum / static_cast<float>(last - first + 1);
}

}  // namespace

Landmarker::Landmarker(const Pack& pack)
    : spec_(pack.landmarks),
      net_(pack.directory + "/" + spec_.file, spec_.input, {1, 1, spec_.size, spec_.size},
           {spec_.output}) {
  if (net_.output_size(0) != size_t{2} * 68) {
    throw Error(ErrorCode::kInternalError, "the landmark net must return 136 numbers (68 points)");
  }
}

Points68 Landmarker::predict(const View& view, const Similarity& crop, bool mirrored) const {
  thread_local std::vector<float> input;
  thread_local cv::Mat patch, grey;
  view.crop(crop, spec_.size, patch);
  cv::cvtColor(patch, grey, cv::COLOR_BGR2GRAY);
  if (mirrored) cv::flip(grey, grey, 1);
  input.resize(net_.input_size());
  fill_planes(grey, spec_.normalisation, input);
  std::array<float, 136> shares;
  net_.run(input, shares);
  std::transform(shares.begin(), shares.end(), shares.begin(), bounded);
  const Similarity back = crop.inverse();
  const float size = static_cast<float>(spec_.size);
  Points68 points;
  for (size_t i = 0; i < points.size(); ++i) {
    const float x = shares[2 * i] * size;
    points[i] = back.apply({mirrored ? size - x : x, shares[2 * i + 1] * size});
  }
  return points;
}

Points68 Landmarker::find(const View& view, const Box& box, bool refine, float roll) const {
  const float side = crop_side(box);
  const Points68 first = predict(view, square_crop(box.centre(), side, roll, spec_.size));
  const Landmarks seen = five_points(first);
  if (!refine && degrees_from(roll, seen) <= spec_.upright_degrees) return first;
  return predict(view, square_crop(box.centre(), side, eye_line_degrees(seen), spec_.size));
}

Points68 moved(const Points68& points, const Similarity& transform) {
  Points68 out;
  std::transform(points.begin(), points.end(), out.begin(),
                 [&](Point point) { return transform.apply(point); });
  return out;
}

Landmarks five_points(const Points68& points) {
  return {.right_eye = mean(points, 36, 41),
          .left_eye = mean(points, 42, 47),
          .nose = points[30],
          .mouth_right = points[48],
          .mouth_left = points[54]};
}

float eye_line_degrees(const Landmarks& landmarks) {
  const Point line = landmarks.left_eye - landmarks.right_eye;
  return std::atan2(line.y, line.x) * 180.0f / static_cast<float>(CV_PI);
}

float degrees_from(float roll, const Landmarks& landmarks) {
  return std::abs(std::remainder(eye_line_degrees(landmarks) - roll, 360.0f));
}

}  // namespace facematch
