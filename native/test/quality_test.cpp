#include "../core/quality.h"

#include <doctest/doctest.h>

#include <opencv2/imgproc.hpp>

#include "drawing.h"

namespace facematch::testing {
namespace {

cv::Mat grey_chip(double value) { return cv::Mat(112, 112, CV_8UC3, cv::Scalar::all(value)); }

cv::Mat stripes() {
  cv::Mat chip = grey_chip(60);
  for (int x = 0; x < chip.cols; x += 8)
    chip(cv::Rect(x, 0, 4, chip.rows)).setTo(cv::Scalar::all(190));
  return chip;
}

}  // namespace

TEST_SUITE_BEGIN("quality");

TEST_CASE("brightness is the share of white") {
  for (const double grey : {0.0, 51.0, 102.0, 255.0}) {
    CHECK(measure_quality(grey_chip(grey), 100).brightness ==
          doctest::Approx(grey / 255).epsilon(0.005));
  }
}

TEST_CASE("an even picture has no sharpness, and blur takes it away") {
  CHECK(measure_quality(grey_chip(128), 100).sharpness == doctest::Approx(0));
  float last = measure_quality(stripes(), 100).sharpness;
  CHECK(last > 0.9f);
  CHECK(last <= 1);
  for (const double sigma : {0.7, 1.5, 3.0, 6.0}) {
    cv::Mat blurred;
    cv::GaussianBlur(stripes(), blurred, {}, sigma);
    const float sharpness = measure_quality(blurred, 100).sharpness;
    CAPTURE(sigma);
    CHECK(sharpness < last);
    last = sharpness;
  }
  CHECK(last < 0.1f);
}

TEST_CASE("sharpness is v / (v + 250), v the variance of the middle's Laplacian") {
  cv::Mat blurred, grey, edges;
  cv::GaussianBlur(stripes(), blurred, {}, 1.5);
  cv::cvtColor(blurred, grey, cv::COLOR_BGR2GRAY);
  cv::Laplacian(grey(cv::Rect(14, 14, 84, 84)).clone(), edges, CV_64F);
  cv::Scalar mean, deviation;
  cv::meanStdDev(edges, mean, deviation);
  const double variance = deviation[0] * deviation[0];
  CHECK(measure_quality(blurred, 100).sharpness ==
        doctest::Approx(variance / (variance + 250)).epsilon(0.001));
}

TEST_CASE("only the middle counts, where the face is") {
  cv::Mat framed = grey_chip(255);
  framed(cv::Rect(13, 13, 86, 86)).setTo(cv::Scalar::all(51));
  const Quality quality = measure_quality(framed, 100);
  CHECK(quality.brightness == doctest::Approx(0.2).epsilon(0.005));
  CHECK(quality.sharpness == doctest::Approx(0));
}

TEST_CASE("the side in pixels is passed on") {
  CHECK(measure_quality(grey_chip(1), 147.5f).face_pixels == 147.5f);
}

TEST_SUITE_END();

}  // namespace facematch::testing
