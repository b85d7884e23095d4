#include "geometry.h"

#include <algorithm>
#include <cmath>
#include <opencv2/imgproc.hpp>

namespace facematch {

Similarity Similarity::inverse() const {
  const float norm = a * a + b * b;
  const float ia = a / norm;
  const float ib = -b / norm;
  return {ia, ib, -(ia * tx - ib * ty), -(ib * tx + ia * ty)};
}

Similarity Similarity::then(const Similarity& next) const {
  const Point origin = next.apply({tx, ty});
  return {next.a * a - next.b * b, next.b * a + next.a * b, origin.x, origin.y};
}

float Similarity::scale() const { return std::hypot(a, b); }

float Similarity::degrees() const { return std::atan2(b, a) * 180.0f / static_cast<float>(CV_PI); }

Similarity enlarged(float factor) {
  const float middle = (factor - 1) / 2;  // centre of the pixels that one pixel becomes
  return {.a = factor, .b = 0, .tx = middle, .ty = middle};
}

Box moved(const Box& box, const Similarity& transform) {
  const Point half(0.5f, 0.5f);  // from the edge of a pixel to its centre
  const Point centre = transform.apply(box.centre() - half) + half;
  const float straight = transform.a * transform.a;
  const float across = transform.b * transform.b;
  const float scale = 1 / transform.scale();  // straight + across is the square of the scale
  const float width = (box.width * straight + box.height * across) * scale;
  const float height = (box.width * across + box.height * straight) * scale;
  return {centre.x - width / 2, centre.y - height / 2, width, height};
}

Similarity fit_similarity(std::span<const Point> from, std::span<const Point> to) {
  // The closed form of Umeyama's singular value decomposition in two dimensions.
  Point from_mean, to_mean;
  for (size_t i = 0; i < from.size(); ++i) {
    from_mean += from[i];
    to_mean += to[i];
  }
  const float count = static_cast<float>(from.size());
  from_mean /= count;
  to_mean /= count;
  float dot = 0, cross = 0, norm = 0;
  for (size_t i = 0; i < from.size(); ++i) {
    const Point p = from[i] - from_mean;
    const Point q = to[i] - to_mean;
    dot += p.x * q.x + p.y * q.y;
    cross += p.x * q.y - p.y * q.x;
    norm += p.x * p.x + p.y * p.y;
  }
  // Identical points have no direction; a tiny scale keeps the numbers finite.
  if (!(norm > 1e-6f)) return {1e-3f, 0, to_mean.x, to_mean.y};
  Similarity fit{dot / norm, cross / norm, 0, 0};
  if (!(fit.scale() > 1e-6f)) fit.a = 1e-3f;
  const Point moved = fit.apply(from_mean);
  fit.tx = to_mean.x - moved.x;
  fit.ty = to_mean.y - moved.y;
  return fit;
}

float rms_distance(std::span<const Point> points, std::span<const Point> others) {
  float sum = 0;
  for (size_t i = 0; i < points.size(); ++i) {
    const Point d = points[i] - others[i];
    sum += d.dot(d);
  }
  return std::sqrt(sum / static_cast<float>(points.size()));
}

Similarity square_crop(Point centre, float side, float degrees, int size) {
  const float radians = degrees * static_cast<float>(CV_PI) / 180.0f;
  const float scale = static_cast<float>(size) / side;
  Similarity crop{scale * std::cos(radians), -scale * std::sin(radians), 0, 0};
  const Point moved = crop.apply(centre);
  crop.tx = static_cast<float>(size) / 2 - moved.x;
  crop.ty = static_cast<float>(size) / 2 - moved.y;
  return crop;
}

Corners shown_by(const Similarity& crop, int size) {
  const Similarity back = crop.inverse();
  const float end = static_cast<float>(size);
  Point top_left = back.apply({0, 0}), bottom_right = top_left;
  for (const Point corner : {Point(end, 0), Point(0, end), Point(end, end)}) {
    const Point at = back.apply(corner);
    top_left = {std::min(top_left.x, at.x), std::min(top_left.y, at.y)};
    bottom_right = {std::max(bottom_right.x, at.x), std::max(bottom_right.y, at.y)};
  }
  return {top_left, bottom_right};
}

namespace {

// Returns the part of the source that the crop covers, with a margin of `spare` + 1 pixels; empty
// if the crop is outside the source or the transform is not finite.
cv::Rect covered(const cv::Mat& source, const Similarity& transform, int size, int spare) {
  const auto [from, to] = shown_by(transform, size);
  // Converting NaN or infinity to int would be undefined behaviour.
  if (!std::isfinite(from.x + from.y + to.x + to.y)) return {};
  const float extra = static_cast<float>(spare + 1);
  const auto clamp = [](float value, int max) {
    return static_cast<int>(std::clamp(value, 0.0f, static_cast<float>(max)));
  };
  const int x0 = clamp(std::floor(from.x) - extra, source.cols);
  const int y0 = clamp(std::floor(from.y) - extra, source.rows);
  const int x1 = clamp(std::ceil(to.x) + extra, source.cols);
  const int y1 = clamp(std::ceil(to.y) + extra, source.rows);
  return {x0, y0, x1 - x0, y1 - y0};
}

}  // namespace

void warp(const cv::Mat& source, const Similarity& transform, int size, cv::Mat& out,
          Outside outside) {
  // The clamped ratio fits into an int for any transform.
  const float ratio = 1 / transform.scale();
  const int shrink = ratio > 1 ? static_cast<int>(std::min(ratio, 1e6f)) : 1;
  // Uses only the part that the crop covers, because cv::warpAffine rejects sources with a side
  // above 32766 pixels. The margin is one pixel of the shrunk source, so that the crop's edge is
  // not blended with the outside colour.
  const cv::Rect area = covered(source, transform, size, shrink);
  if (area.empty()) {
    out.create(size, size, source.type());
    out.setTo(0);
    return;
  }
  cv::Mat from = source(area);
  // Shrinks each axis separately, because a very wide image may have only a few rows.
  const cv::Size times(std::min(shrink, area.width), std::min(shrink, area.height));
  if (shrink >= 2) {
    const cv::Size small(area.width / times.width, area.height / times.height);
    const cv::Mat whole =
        from(cv::Rect(0, 0, small.width * times.width, small.height * times.height));
    cv::resize(whole, from, small, 0, 0, cv::INTER_AREA);
  }
  // Pixel centres: x_source = area.x + times * (x_from + 0.5) - 0.5
  const float kx = static_cast<float>(times.width);
  const float ky = static_cast<float>(times.height);
  const Point origin = transform.apply(
      {static_cast<float>(area.x) + (kx - 1) / 2, static_cast<float>(area.y) + (ky - 1) / 2});
  const cv::Matx23f matrix(transform.a * kx, -transform.b * ky, origin.x,  //
                           transform.b * kx, transform.a * ky, origin.y);
  cv::warpAffine(from, out, matrix, {size, size}, cv::INTER_LINEAR, cv::BORDER_CONSTANT,
                 outside == Outside::kMean ? cv::mean(from) : cv::Scalar());
}

}  // namespace facematch
