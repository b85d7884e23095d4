#include "contrast.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <opencv2/imgproc.hpp>
#include <vector>

namespace facematch {
namespace {

constexpr double kCutOff = 0.005;  // share of the pixels that is clipped at either end
constexpr double kDark = 0.35;     // mean grey, 0..1, below which a gamma curve brightens
constexpr double kMiddle = 0.45;   // target mean grey of the gamma curve
constexpr double kMinGamma = 0.4;
constexpr double kClip = 4;  // CLAHE: clip limit, the maximum slope of the curve
constexpr int kRegions = 4;  // CLAHE: regions along each side

using Histogram = std::array<int, 256>;

Histogram histogram_of(const cv::Mat& grey) {
  Histogram histogram{};
  for (int y = 0; y < grey.rows; ++y) {
    const uint8_t* row = grey.ptr(y);
    for (int x = 0; x < grey.cols; ++x) ++histogram[row[x]];
  }
  return histogram;
}

// Adds up the pixels of each level, from `first` in steps of `step`. Returns the level at which the
// sum exceeds `count`.
int level_after(const Histogram& histogram, int first, int step, double count) {
  double seen = 0;
  int level = first;
  while (true) {
    seen += histogram[static_cast<size_t>(level)];
    if (seen > count || level + step < 0 || level + step > 255) return level;
    level += step;
  }
}

}  // namespace

cv::Mat stretch_contrast(const cv::Mat& bgr, int max_range) {
  cv::Mat grey;
  cv::cvtColor(bgr, grey, cv::COLOR_BGR2GRAY);
  const Histogram histogram = histogram_of(grey);
  const double cut = kCutOff * static_cast<double>(grey.total());
  const int low = level_after(histogram, 0, 1, cut);
  const int high = level_after(histogram, 255, -1, cut);
  // An image of one colour cannot be stretched.
  if (high <= low || high - low > max_range) return bgr;
  const auto stretched = [&](int level) {
    return std::clamp(static_cast<double>(level - low) / (high - low), 0.0, 1.0);
  };
  double mean = 0;
  for (int level = 0; level < 256; ++level) {
    mean += stretched(level) * histogram[static_cast<size_t>(level)];
  }
  mean /= static_cast<double>(grey.total());
  const double gamma =
      mean > 0 && mean < kDark ? std::max(kMinGamma, std::log(kMiddle) / std::log(mean)) : 1.0;
  cv::Mat curve(1, 256, CV_8U);
  for (int level = 0; level < 256; ++level) {
    curve.at<uint8_t>(level) =
        static_cast<uint8_t>(std::lround(255 * std::pow(stretched(level), gamma)));
  }
  cv::Mat out;
  cv::LUT(bgr, curve, out);
  return out;
}

cv::Mat equalised(const cv::Mat& bgr) {
  cv::Mat luma, out;
  cv::cvtColor(bgr, luma, cv::COLOR_BGR2YCrCb);
  std::vector<cv::Mat> channels;
  cv::split(luma, channels);
  cv::createCLAHE(kClip, {kRegions, kRegions})->apply(channels[0], channels[0]);
  cv::merge(channels, luma);
  cv::cvtColor(luma, out, cv::COLOR_YCrCb2BGR);
  return out;
}

}  // namespace facematch
