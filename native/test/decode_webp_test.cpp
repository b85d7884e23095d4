#include <doctest/doctest.h>
#include <webp/decode.h>
#include <webp/demux.h>

#include <algorithm>
#include <cerrno>
#include <opencv2/imgproc.hpp>

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
  for (int i = 0; i < 3 * static_cast<int>(bgr.total()); ++i) {
    const uint8_t* const pixel = bgra.data + 4 * (i / 3);
    const double value = pixel[i % 3] * pixel[3] / 255.0 + 255.0 - pixel[3];
    bgr.data[i] = cv::saturate_cast<uint8_t>(value);
  }
  return bgr;
}

}  // namespace

TEST_SUITE_BEGIN("decode_webp");

TEST_CASE("decodes lossless images exactly, lossy ones closely, and transparency as white") {
  for (const cv::Size size :
       {cv::Size(48, 36), cv::Size(47, 35), cv::Size(1, 1), cv::Size(200, 3)}) {
    const cv::Mat drawn = gradient(size.width, size.height), clear = with_alpha(drawn);
    const auto exact = decode(encode_webp(drawn), kAnySize, 0);
    CHECK(exact.format == Format::kWebp);
    CHECK(exact.width == size.width);
    CHECK(exact.height == size.height);
    CHECK(largest_difference(exact.bgr, drawn) == 0);
    CHECK(largest_difference(decode(encode_webp(clear), kAnySize, 0).bgr, on_white(clear)) <= 1);
    if (size.height < 30) continue;
    const auto lossy = [](const cv::Mat& image) {
      return decode(encode_webp(image, {.lossless = false}), kAnySize, 0).bgr;
    };
    CHECK(mean_difference(lossy(drawn), drawn) < 4);
    CHECK(mean_difference(lossy(clear), on_white(clear)) < 4);
  }
}

TEST_CASE("places the first frame on a white canvas") {
  const cv::Size canvas(64, 50);
  const cv::Rect place(10, 6, 40, 30);
  const cv::Mat drawn = gradient(place.width, place.height);
  for (const cv::Mat& frame : {drawn, with_alpha(drawn)}) {
    cv::Mat expected(canvas, CV_8UC3, cv::Scalar::all(255));
    (frame.channels() == 4 ? on_white(frame) : drawn).copyTo(expected(place));
    const ByteVector file = encode_webp_frame(frame, canvas, place.tl(), 0xFF0000FF);
    CHECK(largest_difference(decode(file, kAnySize, 0).bgr, expected) <= 1);
  }
}

TEST_CASE("applies the limits to the canvas of an animation") {
  const ByteVector file = encode_webp_frame(gradient(20, 20), {4000, 3000}, {0, 0}, 0);
  CHECK(decode(file, {.max_pixels = 12'000'000, .min_side = 3000}, 0).width == 4000);
  const auto error = error_of([&] { decode(file, {.max_pixels = 11'999'999, .min_side = 1}, 0); });
  REQUIRE(error);
  CHECK(error->code == ErrorCode::kImageDimensions);
  CHECK(error->width == 4000);
  CHECK(error->height == 3000);
}

TEST_CASE("accepts every file that libwebp's demuxer accepts") {
  const cv::Mat drawn = gradient(40, 30);
  const ByteVector files[] = {
      encode_webp(drawn, {.exif = ExifBlock{}.bytes()}),
      encode_webp(drawn, {.lossless = false}),
      encode_webp(with_alpha(drawn), {.lossless = false}),
      encode_webp_frame(drawn, {64, 50}, {10, 6}, 0),
      encode_webp_frame(with_alpha(drawn), {64, 50}, {10, 6}, 0),
  };
  const auto is_accepted = [](const ByteVector& file) {
    const WebPData data = {file.data(), file.size()};
    WebPDemuxer* demuxer = WebPDemux(&data);
    if (demuxer == nullptr) return false;
    WebPIterator frame = {};
    int width = 0, height = 0;
    uint8_t* pixels = nullptr;
    if (WebPDemuxGetFrame(demuxer, 1, &frame) != 0) {
      pixels = WebPDecodeBGR(frame.fragment.bytes, frame.fragment.size, &width, &height);
    }
    WebPFree(pixels);
    WebPDemuxReleaseIterator(&frame);
    WebPDemuxDelete(demuxer);
    return pixels != nullptr;
  };
  size_t accepted = 0, rejected = 0;
  for (const ByteVector& file : files) {
    // Flips each bit of the headers and chunks in turn.
    for (size_t bit = 8 * 12; bit < 8 * std::min<size_t>(file.size(), 100); ++bit) {
      ByteVector other = file;
      other[bit / 8] = static_cast<uint8_t>(other[bit / 8] ^ 1 << bit % 8);
      const auto error = error_of([&] { decode(other, kAnySize, 0); });
      if (error && error->code == ErrorCode::kImageDimensions) continue;
      CAPTURE(&file - std::begin(files));
      CAPTURE(bit);
      if (is_accepted(other)) {
        CHECK_FALSE(error);
        ++accepted;
      } else {
        ++rejected;
      }
    }
  }
  CHECK(accepted > 100);
  CHECK(rejected > 100);
}

TEST_CASE("distinguishes damage from failed allocations, whatever errno was before") {
  ByteVector file = encode_webp(gradient(40, 30));
  file.resize(file.size() - 20);
  errno = ENOMEM;
  CHECK(fails_with(ErrorCode::kImageDecodeFailed, [&] { decode(file, kAnySize, 0); }));
}

TEST_SUITE_END();

}  // namespace facematch::testing
