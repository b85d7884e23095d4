#include "../core/image/contrast.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <opencv2/imgproc.hpp>

#include "../core/image/decode.h"
#include "drawing.h"

namespace facematch::testing {
namespace {

struct Range {
  double min, max;
};

Range range_of(const cv::Mat& bgr) {
  Range range{};
  cv::minMaxLoc(bgr.reshape(1), &range.min, &range.max);
  return range;
}

double mean_grey(const cv::Mat& bgr) {
  cv::Mat grey;
  cv::cvtColor(bgr, grey, cv::COLOR_BGR2GRAY);
  return cv::mean(grey)[0];
}

// Draws every grey level from `min` to `max`.
cv::Mat ramp(int min, int max) {
  cv::Mat ramp(40, max - min + 1, CV_8UC3);
  for (int x = 0; x < ramp.cols; ++x) ramp.col(x).setTo(cv::Scalar::all(min + x));
  return ramp;
}

}  // namespace

TEST_SUITE_BEGIN("contrast");

TEST_CASE("stretches the levels of dark, pale and flat images over the whole range, in order") {
  for (const auto& [min, max] : {std::pair{0, 20}, {179, 230}, {100, 140}, {0, 255}}) {
    CAPTURE(min);
    const cv::Mat image = ramp(min, max), before = image.clone();
    const cv::Mat out = stretch_contrast(image);
    const auto [low, high] = range_of(out);
    CHECK(low == 0);
    CHECK(high == 255);
    for (int x = 1; x < out.cols; ++x) CHECK(out.data[3 * x] >= out.data[3 * (x - 1)]);
    equalised(image);
    CHECK(largest_difference(image, before) == 0);
  }
}

TEST_CASE("makes a darkened photo about as bright as a normal one") {
  const cv::Mat photo = decode(sample(1), {}, 0).bgr;
  for (const double share : {0.25, 0.15, 0.07}) {
    CAPTURE(share);
    const double mean = mean_grey(stretch_contrast(photo * share));
    CHECK(mean > 80);
    CHECK(mean < 150);
  }
}

TEST_CASE("stretches an image despite a few extreme pixels") {
  cv::Mat image = ramp(100, 140);
  image.at<cv::Vec3b>(0, 0) = {0, 0, 0};
  image.at<cv::Vec3b>(0, 1) = {255, 255, 255};
  const cv::Mat out = stretch_contrast(image);
  CHECK(out.at<cv::Vec3b>(20, 0)[0] < 10);
  CHECK(out.at<cv::Vec3b>(20, 40)[0] > 245);
}

TEST_CASE("leaves an image of one colour unchanged, in any shape") {
  for (const cv::Size size :
       {cv::Size(16, 16), cv::Size(1, 1), cv::Size(1, 480), cv::Size(480, 1)}) {
    for (const int level : {0, 1, 128, 255}) {
      const cv::Mat plain(size, CV_8UC3, cv::Scalar::all(level));
      CHECK(largest_difference(stretch_contrast(plain), plain) == 0);
      CHECK(equalised(plain).size() == size);
    }
  }
}

TEST_CASE("raises the contrast of a flat corner by equalising") {
  cv::Mat image(160, 160, CV_8UC3, cv::Scalar::all(250));
  cv::Mat corner = image(cv::Rect(0, 0, 80, 80));
  for (int x = 0; x < corner.cols; ++x) corner.col(x).setTo(cv::Scalar::all(10 + x / 8));
  const auto contrast = [](const cv::Mat& part) {
    const auto [min, max] = range_of(part);
    return max - min;
  };
  const cv::Rect middle(20, 20, 40, 40);
  CHECK(contrast(equalised(image)(middle)) > 1.2 * contrast(image(middle)));
}

TEST_SUITE_END();

}  // namespace facematch::testing
