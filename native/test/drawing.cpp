#include "drawing.h"

#include <cstdlib>

namespace facematch::testing {

cv::Mat gradient(int width, int height) {
  cv::Mat picture(height, width, CV_8UC3);
  const int last_x = std::max(width - 1, 1);
  const int last_y = std::max(height - 1, 1);
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      picture.at<cv::Vec3b>(y, x) = {
          static_cast<uint8_t>(20 + 200 * x / last_x), static_cast<uint8_t>(20 + 200 * y / last_y),
          static_cast<uint8_t>(220 - 100 * x / last_x - 100 * y / last_y)};
    }
  }
  return picture;
}

cv::Mat grain(int width, int height, int type) {
  Random random(static_cast<uint32_t>(width * 1000 + height));
  cv::Mat picture(height, width, type);
  for (int y = 0; y < height; ++y) {
    for (size_t i = 0; i < static_cast<size_t>(width) * picture.elemSize(); ++i) {
      picture.ptr(y)[i] = random.byte();
    }
  }
  return picture;
}

double mean_difference(const cv::Mat& a, const cv::Mat& b) {
  if (a.size() != b.size() || a.type() != b.type()) return 255;
  return cv::norm(a, b, cv::NORM_L1) / static_cast<double>(a.total() * a.elemSize());
}

double largest_difference(const cv::Mat& a, const cv::Mat& b) {
  if (a.size() != b.size() || a.type() != b.type()) return 255;
  return cv::norm(a, b, cv::NORM_INF);
}

}  // namespace facematch::testing
