#include "../core/embed/quality.h"

#include <doctest/doctest.h>

#include <opencv2/imgproc.hpp>
#include <utility>

#include "drawing.h"

namespace facematch::testing {
namespace {

cv::Mat grey_chip(double value) { return cv::Mat(112, 112, CV_8UC3, cv::Scalar::all(value)); }

// Edges along both axes, far enough apart.
cv::Mat squares() {
  cv::Mat chip = grey_chip(60);
  chip(cv::Rect(30, 26, 45, 52)).setTo(cv::Scalar::all(190));
  chip(cv::Rect(44, 40, 14, 20)).setTo(cv::Scalar::all(110));
  return chip;
}

float sharpness_of(const cv::Mat& chip) { return measure_quality(chip, 100).sharpness; }

// The two sums along x, as in the paper: differences of neighbours, and what blurring takes from
// them.
std::pair<double, double> sums_along_x(const cv::Mat_<double>& picture) {
  double before = 0, lost = 0;
  for (int y = 0; y < picture.rows; ++y) {
    const auto blurred = [&](int x) {
      double sum = 0;
      for (int k = x - 4; k <= x + 4; ++k) {
        const int last = picture.cols - 1;
        sum += picture(y, k < 0 ? -k : k > last ? 2 * last - k : k);
      }
      return sum / 9;
    };
    for (int x = 1; x < picture.cols; ++x) {
      const double difference = std::abs(picture(y, x) - picture(y, x - 1));
      before += difference;
      lost += std::max(0.0, difference - std::abs(blurred(x) - blurred(x - 1)));
    }
  }
  return {before, lost};
}

}  // namespace

TEST_SUITE_BEGIN("quality");

TEST_CASE("brightness is mean luma") {
  for (const double grey : {0.0, 51.0, 102.0, 255.0}) {
    CHECK(measure_quality(grey_chip(grey), 100).brightness ==
          doctest::Approx(grey / 255).epsilon(0.005));
  }
}

TEST_CASE("a uniform picture has no sharpness, and blur reduces it") {
  for (const double grey : {0.0, 128.0, 255.0})
    CHECK(sharpness_of(grey_chip(grey)) == doctest::Approx(0));
  float last = sharpness_of(squares());
  CHECK(last > 0.6f);
  CHECK(last <= 1);
  for (const double sigma : {1.0, 2.0, 3.0, 4.5, 6.0}) {
    cv::Mat blurred;
    cv::GaussianBlur(squares(), blurred, {}, sigma);
    const float sharpness = sharpness_of(blurred);
    CAPTURE(sigma);
    CHECK(sharpness < last);
    last = sharpness;
  }
}

TEST_CASE("motion blur along one axis reduces sharpness too") {
  for (const cv::Size box : {cv::Size(15, 1), cv::Size(1, 15)}) {
    cv::Mat shaken;
    cv::blur(squares(), shaken, box);
    CHECK(sharpness_of(shaken) < 0.75f * sharpness_of(squares()));
  }
}

TEST_CASE("neither contrast nor brightness changes sharpness") {
  const float sharp = sharpness_of(squares());
  for (const double gain : {0.1, 0.3, 0.6, 1.0}) {
    for (const double lift : {0.0, 20.0, 60.0}) {
      cv::Mat changed;
      squares().convertTo(changed, -1, gain, lift);
      CAPTURE(gain);
      CAPTURE(lift);
      CHECK(sharpness_of(changed) == doctest::Approx(sharp).epsilon(0.01));
    }
  }
}

TEST_CASE(
    "sharpness is 1 - the blur effect of the middle at half its size, the lesser axis counting") {
  cv::Mat soft, grey;
  cv::GaussianBlur(squares(), soft, {}, 2.5, 1.2);
  cv::cvtColor(soft, grey, cv::COLOR_BGR2GRAY);
  cv::Mat_<double> half(42, 42);
  for (int y = 0; y < half.rows; ++y) {
    for (int x = 0; x < half.cols; ++x)
      half(y, x) = cv::mean(grey(cv::Rect(14 + 2 * x, 14 + 2 * y, 2, 2)))[0];
  }
  const auto [before_x, lost_x] = sums_along_x(half);
  const cv::Mat_<double> turned(half.t());
  const auto [before_y, lost_y] = sums_along_x(turned);
  CHECK(lost_x / before_x < lost_y / before_y);
  CHECK(sharpness_of(soft) == doctest::Approx(lost_x / before_x).epsilon(0.001));
}

TEST_CASE("only the middle counts, where the face is") {
  cv::Mat framed = grey_chip(255);
  framed(cv::Rect(13, 13, 86, 86)).setTo(cv::Scalar::all(51));
  const Quality quality = measure_quality(framed, 100);
  CHECK(quality.brightness == doctest::Approx(0.2).epsilon(0.005));
  CHECK(quality.sharpness == doctest::Approx(0));
}

TEST_CASE("face_pixels is copied") {
  CHECK(measure_quality(grey_chip(1), 147.5f).face_pixels == 147.5f);
}

TEST_SUITE_END();

}  // namespace facematch::testing
