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

float Similarity::scale() const { return std::hypot(a, b); }

float Similarity::degrees() const { return std::atan2(b, a) * 180.0f / static_cast<float>(CV_PI); }

Similarity fit_similarity(std::span<const Point> from, std::span<const Point> to) {
  // In two dimensions Umeyama's singular value decomposition has this closed form.
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
  // Points that coincide have no direction: a tiny scale keeps the numbers finite.
  if (!(norm > 1e-6f)) return {1e-3f, 0, to_mean.x, to_mean.y};
  Similarity fit{dot / norm, cross / norm, 0, 0};
  if (!(fit.scale() > 1e-6f)) fit.a = 1e-3f;
  const Point moved = fit.apply(from_mean);
  fit.tx = to_mean.x - moved.x;
  fit.ty = to_mean.y - moved.y;
  return fit;
}

Similarity square_crop(Point center, float side, float degrees, int size) {
  const float radians = degrees * static_cast<float>(CV_PI) / 180.0f;
  const float scale = static_cast<float>(size) / side;
  Similarity crop{scale * std::cos(radians), -scale * std::sin(radians), 0, 0};
  const Point moved = crop.apply(center);
  crop.tx = static_cast<float>(size) / 2 - moved.x;
  crop.ty = static_cast<float>(size) / 2 - moved.y;
  return crop;
}

namespace {

// What the crop covers of the source, with a pixel to spare.
cv::Rect covered(const cv::Mat& source, const Similarity& transform, int size) {
  const Similarity back = transform.inverse();
  const float s = static_cast<float>(size);
  float left = 1e9f, top = 1e9f, right = -1e9f, bottom = -1e9f;
  for (const Point corner : {Point(0, 0), Point(s, 0), Point(0, s), Point(s, s)}) {
    const Point p = back.apply(corner);
    left = std::min(left, p.x);
    right = std::max(right, p.x);
    top = std::min(top, p.y);
    bottom = std::max(bottom, p.y);
  }
  const auto clamp = [](float value, int most) {
    return static_cast<int>(std::clamp(value, 0.0f, static_cast<float>(most)));
  };
  const int x0 = clamp(std::floor(left) - 1, source.cols);
  const int y0 = clamp(std::floor(top) - 1, source.rows);
  const int x1 = clamp(std::ceil(right) + 2, source.cols);
  const int y1 = clamp(std::ceil(bottom) + 2, source.rows);
  return {x0, y0, x1 - x0, y1 - y0};
}

}  // namespace

void warp(const cv::Mat& source, const Similarity& transform, int size, cv::Mat& out) {
  Similarity t = transform;
  cv::Mat from = source;
  const int shrink = static_cast<int>(1.0f / t.scale());
  const cv::Rect area = shrink >= 2 ? covered(source, t, size) : cv::Rect();
  if (area.width >= shrink && area.height >= shrink && shrink >= 2) {
    const cv::Rect whole(area.x, area.y, area.width / shrink * shrink,
                         area.height / shrink * shrink);
    cv::resize(source(whole), from, {whole.width / shrink, whole.height / shrink}, 0, 0,
               cv::INTER_AREA);
    // Pixel centres: x_source = area.x + shrink * (x_small + 0.5) - 0.5
    const float k = static_cast<float>(shrink);
    const Point origin = t.apply(
        {static_cast<float>(area.x) + (k - 1) / 2, static_cast<float>(area.y) + (k - 1) / 2});
    t = {t.a * k, t.b * k, origin.x, origin.y};
  }
  const cv::Matx23f matrix(t.a, -t.b, t.tx, t.b, t.a, t.ty);
  cv::warpAffine(from, out, matrix, {size, size}, cv::INTER_LINEAR, cv::BORDER_CONSTANT);
}

}  // namespace facematch
