#include <doctest/doctest.h>

#include <opencv2/imgproc.hpp>

#include "../core/image/decode.h"
#include "drawing.h"

namespace facematch::testing {
namespace {

// The printed colour of four inks; 255 is full ink.
cv::Mat printed(const cv::Mat& inks) {
  cv::Mat bgr(inks.size(), CV_8UC3);
  for (int y = 0; y < inks.rows; ++y) {
    for (int x = 0; x < inks.cols; ++x) {
      const auto& ink = inks.at<cv::Vec4b>(y, x);
      for (int c = 0; c < 3; ++c) {
        const double light = (255.0 - ink[c]) * (255.0 - ink[3]) / 255.0;
        bgr.at<cv::Vec3b>(y, x)[2 - c] = cv::saturate_cast<uint8_t>(light);
      }
    }
  }
  return bgr;
}

cv::Mat draw_inks(int width, int height) {
  cv::Mat inks(height, width, CV_8UC4);
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      inks.at<cv::Vec4b>(y, x) = {static_cast<uint8_t>(3 * x), static_cast<uint8_t>(4 * y),
                                  static_cast<uint8_t>(2 * (x + y)), static_cast<uint8_t>(40 + x)};
    }
  }
  return inks;
}

cv::Mat inverted(const cv::Mat& inks) { return cv::Scalar::all(255) - inks; }

}  // namespace

TEST_SUITE_BEGIN("decode_jpeg");

TEST_CASE("colour pictures are decoded as drawn, in every encoding") {
  struct Case {
    const char* what;
    JpegOptions options;
    double tolerance;
  };
  const Case cases[] = {
      {"baseline", {}, 1.5},
      {"progressive", {.progressive = true}, 1.5},
      {"4:2:0", {.subsample = true}, 2.5},
      {"progressive 4:2:0", {.progressive = true, .subsample = true}, 2.5},
      {"restart markers", {.restart_rows = 1}, 1.5},
  };
  for (const Case& c : cases) {
    for (const cv::Size size : {cv::Size(64, 48), cv::Size(63, 47), cv::Size(17, 90)}) {
      CAPTURE(c.what);
      const cv::Mat drawn = gradient(size.width, size.height);
      const Image image = decode(encode_jpeg(drawn, c.options), kAnySize, 0);
      CHECK(image.format == Format::kJpeg);
      CHECK(image.width == size.width);
      CHECK(image.height == size.height);
      CHECK(image.scale() == 1);
      CHECK(image.orientation == 1);
      CHECK(mean_difference(image.bgr, drawn) < c.tolerance);
    }
  }
}

TEST_CASE("a grey picture is decoded into three equal channels") {
  cv::Mat grey, expected;
  cv::cvtColor(gradient(50, 40), grey, cv::COLOR_BGR2GRAY);
  cv::cvtColor(grey, expected, cv::COLOR_GRAY2BGR);
  const Image image = decode(encode_jpeg(grey), kAnySize, 0);
  CHECK(mean_difference(image.bgr, expected) < 1);
  std::vector<cv::Mat> channels;
  cv::split(image.bgr, channels);
  CHECK(largest_difference(channels[0], channels[1]) == 0);
  CHECK(largest_difference(channels[0], channels[2]) == 0);
}

TEST_CASE("CMYK and YCCK are decoded as printed, with Adobe's inverted inks and without") {
  struct Case {
    const char* what;
    J_COLOR_SPACE colours;
    bool adobe;
  };
  const Case cases[] = {
      {"CMYK by Adobe", JCS_CMYK, true},
      {"YCCK by Adobe", JCS_YCCK, true},
      {"plain CMYK", JCS_CMYK, false},
  };
  const cv::Mat inks = draw_inks(60, 50);
  for (const Case& c : cases) {
    CAPTURE(c.what);
    const ByteVector file = encode_jpeg_inks(c.adobe ? inverted(inks) : inks, c.colours, c.adobe);
    CHECK(mean_difference(decode(file, kAnySize, 0).bgr, printed(inks)) < 2.5);
  }
}

TEST_CASE("a picture of one pixel is decoded") {
  const cv::Mat drawn(1, 1, CV_8UC3, cv::Scalar(30, 140, 220));
  for (const bool progressive : {false, true}) {
    const Image image = decode(encode_jpeg(drawn, {.progressive = progressive}), kAnySize, 0);
    CHECK(largest_difference(image.bgr, drawn) <= 3);
  }
}

TEST_CASE("a reduced decode has at least the wanted side and reports its scale") {
  const cv::Mat drawn = gradient(400, 240);
  const ByteVector file = encode_jpeg(drawn);
  struct Case {
    int wanted;
    int width;
    int height;
  };
  const Case cases[] = {{0, 400, 240},   {401, 400, 240}, {400, 400, 240},
                        {201, 400, 240}, {200, 200, 120}, {101, 200, 120},
                        {100, 100, 60},  {51, 100, 60},   {1, 100, 60}};
  for (const Case& c : cases) {
    CAPTURE(c.wanted);
    const Image image = decode(file, kAnySize, c.wanted);
    CHECK(image.bgr.size() == cv::Size(c.width, c.height));
    CHECK(image.width == 400);
    CHECK(image.height == 240);
    CHECK(image.scale() == doctest::Approx(c.width / 400.0));
    cv::Mat reduced;
    cv::resize(drawn, reduced, image.bgr.size(), 0, 0, cv::INTER_AREA);
    CHECK(mean_difference(image.bgr, reduced) < 2);
  }
}

TEST_CASE("an eighth is taken where it leaves 750 pixels") {
  for (const int width : {6000, 5999}) {
    const Image image = decode(encode_jpeg(gradient(width, 16)), kAnySize, 480);
    CHECK(image.longer_side() == (width == 6000 ? 750 : 1500));
  }
}

TEST_CASE("bytes after the end of the picture are ignored") {
  const cv::Mat drawn = gradient(40, 30);
  ByteVector file = encode_jpeg(drawn);
  file.insert(file.end(), 1000, 0x5A);
  CHECK(mean_difference(decode(file, kAnySize, 0).bgr, drawn) < 1.5);
}

TEST_SUITE_END();

}  // namespace facematch::testing
