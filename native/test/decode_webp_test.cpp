#include <doctest/doctest.h>

#include <opencv2/imgproc.hpp>

#include "../core/image/codec.h"
#include "../core/image/decode.h"
#include "drawing.h"

namespace facematch::testing {
namespace {

cv::Mat with_alpha(const cv::Mat& bgr) {
  cv::Mat bgra;
  cv::cvtColor(bgr, bgra, cv::COLOR_BGR2BGRA);
  for (int y = 0; y < bgra.rows; ++y) {
    for (int x = 0; x < bgra.cols; ++x)
      bgra.at<cv::Vec4b>(y, x)[3] = static_cast<uint8_t>(10 + 4 * x);
  }
  return bgra;
}

cv::Mat on_white(const cv::Mat& bgra) {
  cv::Mat bgr(bgra.size(), CV_8UC3);
  for (int y = 0; y < bgra.rows; ++y) {
    for (int x = 0; x < bgra.cols; ++x) {
      const auto& pixel = bgra.at<cv::Vec4b>(y, x);
      for (int c = 0; c < 3; ++c) {
        const double value = pixel[c] * pixel[3] / 255.0 + 255.0 - pixel[3];
        bgr.at<cv::Vec3b>(y, x)[c] = cv::saturate_cast<uint8_t>(value);
      }
    }
  }
  return bgr;
}

}  // namespace

TEST_SUITE_BEGIN("decode_webp");

TEST_CASE("lossless images are decoded exactly, lossy ones nearly") {
  for (const cv::Size size :
       {cv::Size(48, 36), cv::Size(47, 35), cv::Size(1, 1), cv::Size(200, 3)}) {
    const cv::Mat drawn = gradient(size.width, size.height);
    const auto exact = decode(encode_webp(drawn), kAnySize, 0);
    CHECK(exact.format == Format::kWebp);
    CHECK(exact.width == size.width);
    CHECK(exact.height == size.height);
    CHECK(largest_difference(exact.bgr, drawn) == 0);
  }
  const cv::Mat drawn = gradient(63, 47);
  CHECK(mean_difference(decode(encode_webp(drawn, {.lossless = false}), kAnySize, 0).bgr, drawn) <
        4);
}

TEST_CASE("transparency is blended onto white, lossless and lossy") {
  const cv::Mat drawn = with_alpha(gradient(48, 36));
  CHECK(largest_difference(decode(encode_webp(drawn), kAnySize, 0).bgr, on_white(drawn)) <= 1);
  CHECK(mean_difference(decode(encode_webp(drawn, {.lossless = false}), kAnySize, 0).bgr,
                        on_white(drawn)) < 4);
}

TEST_CASE("the first frame of an animation is decoded") {
  std::vector<cv::Mat> frames;
  for (const auto& colour :
       {cv::Scalar(200, 30, 10, 255), cv::Scalar(0, 0, 255, 255), cv::Scalar(0, 255, 0, 255)}) {
    frames.emplace_back(30, 40, CV_8UC4, colour);
  }
  const auto image = decode(encode_webp_animation(frames), kAnySize, 0);
  CHECK(image.width == 40);
  CHECK(image.height == 30);
  CHECK(largest_difference(image.bgr, cv::Mat(30, 40, CV_8UC3, cv::Scalar(200, 30, 10))) == 0);
}

TEST_CASE("the first frame is where it belongs on the canvas, the rest of which is white") {
  const cv::Size canvas(64, 50);
  const cv::Rect place(10, 6, 40, 30);
  const cv::Mat drawn = gradient(place.width, place.height);
  struct Case {
    cv::Mat image;
    cv::Mat seen;
  };
  for (const Case& c : {Case{drawn, drawn}, Case{with_alpha(drawn), on_white(with_alpha(drawn))}}) {
    cv::Mat expected(canvas, CV_8UC3, cv::Scalar::all(255));
    c.seen.copyTo(expected(place));
    const ByteVector file = encode_webp_frame(c.image, canvas, place.tl(), 0xFF0000FF);
    const auto image = decode(file, kAnySize, 0);
    CHECK(image.width == canvas.width);
    CHECK(image.height == canvas.height);
    CHECK(largest_difference(image.bgr, expected) <= 1);
  }
}

TEST_CASE("the canvas of an animation is what the limits are for") {
  const ByteVector file = encode_webp_frame(gradient(20, 20), {4000, 3000}, {0, 0}, 0);
  CHECK(decode(file, {.max_pixels = 12'000'000, .min_side = 3000}, 0).width == 4000);
  const auto error = refusal([&] { decode(file, {.max_pixels = 11'999'999, .min_side = 1}, 0); });
  REQUIRE(error);
  CHECK(error->code == ErrorCode::kImageDimensions);
  CHECK(error->width == 4000);
  CHECK(error->height == 3000);
}

TEST_CASE("opaque pixels are kept and transparent ones become white") {
  const uint8_t bgra[] = {1, 2, 3, 255, 4, 5, 6, 0, 0, 0, 0, 255, 255, 255, 255, 255};
  uint8_t bgr[12] = {};
  flatten_onto_white(bgra, bgr, 4);
  const ByteVector expected = {1, 2, 3, 255, 255, 255, 0, 0, 0, 255, 255, 255};
  CHECK(ByteVector(bgr, bgr + 12) == expected);
}

TEST_SUITE_END();

}  // namespace facematch::testing
