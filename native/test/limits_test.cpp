#include <doctest/doctest.h>

#include "../core/image/codec.h"
#include "../core/image/decode.h"
#include "drawing.h"
#include "exif_block.h"

namespace facematch::testing {
namespace {

struct Encoding {
  const char* name;
  ByteVector (*encode)(const cv::Mat&);
};

const Encoding kEncodings[] = {
    {"jpeg", [](const cv::Mat& bgr) { return encode_jpeg(bgr); }},
    {"png", [](const cv::Mat& bgr) { return encode_png(bgr); }},
    {"webp", [](const cv::Mat& bgr) { return encode_webp(bgr); }},
};

// A picture of 32 x 32 whose header states another size; only the header is ever read.
ByteVector claiming(const char* format, uint16_t width, uint16_t height) {
  const auto high = [](uint16_t v) { return static_cast<uint8_t>(v >> 8); };
  const auto low = [](uint16_t v) { return static_cast<uint8_t>(v & 0xFF); };
  if (std::string_view(format) == "jpeg") {
    ByteVector file = encode_jpeg(gradient(32, 32));
    size_t sof = 0;
    while (!(file[sof] == 0xFF && file[sof + 1] == 0xC0)) ++sof;
    file[sof + 5] = high(height);
    file[sof + 6] = low(height);
    file[sof + 7] = high(width);
    file[sof + 8] = low(width);
    return file;
  }
  // Lossy WebP: after "VP8 ", size, 3 bytes of frame tag and 3 of start code come 14 bits of each
  // (RFC 6386, 9.1).
  ByteVector file = encode_webp(gradient(32, 32), {.lossless = false});
  file[26] = low(width);
  file[27] = high(width);
  file[28] = low(height);
  file[29] = high(height);
  return file;
}

}  // namespace

TEST_SUITE_BEGIN("limits");

TEST_CASE(
    "a picture with as many pixels as the limit is decoded, one more is rejected with the "
    "figures") {
  for (const Encoding& encoding : kEncodings) {
    CAPTURE(encoding.name);
    const ByteVector file = encoding.encode(gradient(40, 25));
    CHECK(decode(file, {.max_pixels = 1000, .min_side = 1}, 0).width == 40);
    const auto error = refusal([&] { decode(file, {.max_pixels = 999, .min_side = 1}, 0); });
    REQUIRE(error);
    CHECK(error->code == ErrorCode::kImageDimensions);
    CHECK(error->width == 40);
    CHECK(error->height == 25);
    CHECK(error->limit_pixels == 999);
  }
}

TEST_CASE("a side as short as the limit is decoded, one pixel less is rejected") {
  for (const Encoding& encoding : kEncodings) {
    CAPTURE(encoding.name);
    for (const cv::Size size : {cv::Size(40, 16), cv::Size(16, 40)}) {
      const ByteVector file = encoding.encode(gradient(size.width, size.height));
      CHECK(decode(file, {.max_pixels = 10000, .min_side = 16}, 0).width == size.width);
      CHECK(refuses_with(ErrorCode::kImageDimensions,
                         [&] { decode(file, {.max_pixels = 10000, .min_side = 17}, 0); }));
    }
  }
}

TEST_CASE("a huge picture is rejected by its header, before its pixels are read") {
  for (const char* format : {"jpeg", "webp"}) {
    const uint16_t most = std::string_view(format) == "jpeg" ? 65500 : 16383;
    ByteVector file = claiming(format, most, most);
    CAPTURE(format);
    const auto error = refusal([&] { decode(file, {}, 0); });
    REQUIRE(error);
    CHECK(error->code == ErrorCode::kImageDimensions);
    CHECK(error->width == most);
    CHECK(error->height == most);
  }
}

TEST_CASE("a PNG of 2^31-1 pixels in both directions does not overflow") {
  ByteVector file = encode_png(gradient(20, 20));
  // IHDR: width at 16, height at 20 (PNG 11.2.1).
  for (const size_t at : {size_t{16}, size_t{20}}) {
    file[at] = 0x7F;
    for (size_t i = 1; i < 4; ++i) file[at + i] = 0xFF;
  }
  repair_png_checksums(file);
  const auto error = refusal([&] { decode(file, {}, 0); });
  REQUIRE(error);
  CHECK(error->code == ErrorCode::kImageDimensions);
  CHECK(error->width == 0x7FFFFFFF);
}

TEST_CASE("sizes are multiplied in 64 bits, and no side is longer than a JPEG's can be") {
  const ImageLimits limits;
  CHECK(refuses_with(ErrorCode::kImageDimensions, [&] { check_dimensions(65536, 65536, limits); }));
  CHECK(refuses_with(ErrorCode::kImageDimensions, [&] { check_dimensions(0, 100, limits); }));
  CHECK(refuses_with(ErrorCode::kImageDimensions, [&] { check_dimensions(100, -1, limits); }));
  CHECK_NOTHROW(check_dimensions(8192, 6144, limits));
  CHECK_NOTHROW(check_dimensions(10000, 6400, limits));
  CHECK(refuses_with(ErrorCode::kImageDimensions, [&] { check_dimensions(10000, 6401, limits); }));
  CHECK_NOTHROW(check_dimensions(16, 65535, limits));
  CHECK(refuses_with(ErrorCode::kImageDimensions, [&] { check_dimensions(16, 65536, limits); }));
  CHECK(refuses_with(ErrorCode::kImageDimensions, [&] { check_dimensions(65536, 16, limits); }));
}

TEST_SUITE_END();

}  // namespace facematch::testing
