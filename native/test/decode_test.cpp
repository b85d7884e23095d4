#include "../core/image/decode.h"

#include <doctest/doctest.h>

#include <opencv2/imgproc.hpp>
#include <string>
#include <utility>

#include "../core/image/codec.h"
#include "drawing.h"
#include "support.h"

namespace facematch::testing {
namespace {

std::vector<ByteVector> in_each_format(const cv::Mat& bgr) {
  return {encode_jpeg(bgr), encode_png(bgr), encode_webp(bgr)};
}

// The sides, of 16 bits each, in a header.
void claim(ByteVector& file, size_t at, uint16_t side, bool little_endian = false) {
  const auto high = static_cast<uint8_t>(side >> 8), low = static_cast<uint8_t>(side & 0xFF);
  file[at] = little_endian ? low : high;
  file[at + 1] = little_endian ? high : low;
}

// The start of an ISO base media file.
std::string media(const char* type) { return std::string("\0\0\0\x20", 4) + type; }

constexpr int kUprightWidth = 45;  // of the upright image
constexpr int kUprightHeight = 31;

// The image as a camera in that orientation stores it: which side of the upright image are its
// first row and its first column (EXIF 2.32, 4.6.4)?
cv::Mat stored(const cv::Mat& upright, int orientation) {
  // Whether row 0 is at the bottom, column 0 on the right, of the image or, from 5 on, of the
  // transposed one.
  constexpr bool kFlips[8][2] = {{false, false}, {false, true}, {true, true}, {true, false},
                                 {false, false}, {true, false}, {true, true}, {false, true}};
  const auto& [bottom, right] = kFlips[orientation - 1];
  cv::Mat raw = orientation >= 5 ? cv::Mat(upright.t()) : upright.clone();
  if (bottom) cv::flip(raw, raw, 0);
  if (right) cv::flip(raw, raw, 1);
  return raw;
}

}  // namespace

TEST_SUITE_BEGIN("decode");

TEST_CASE("a format is recognised by its first bytes, and named in the error") {
  const std::pair<std::string, const char*> cases[] = {
      {"\xFF\xD8\xFF\xE0", "jpeg"},
      {"\xFF\xD8", "jpeg"},
      {"\x89PNG\r\n\x1A\n", "png"},
      {"RIFF....WEBPVP8 ", "webp"},
      {media("ftypavif"), "avif"},
      {media("ftypavis"), "avif"},
      {media("ftypheic"), "heic"},
      {media("ftypheix"), "heic"},
      {media("ftyphevc"), "heic"},
      {media("ftypmif1"), "heic"},
      {media("ftypmsf1"), "heic"},
      {"GIF87a", "gif"},
      {"GIF89a and more", "gif"},
      {"BM\x36", "bmp"},
      {std::string("II*\0", 4), "tiff"},
      {std::string("MM\0*", 4), "tiff"},
      {"%PDF-1.7", "pdf"},
      {std::string("\0\0\0\x0CjP  \r\n\x87\n", 12), "jp2"},
      {"\xFF\x4F\xFF\x51", "jp2"},
      {std::string("\0\0\0\x0CJXL \r\n\x87\n", 12), "jxl"},
      {"\xFF\x0A", "jxl"},
      // Cut, shifted or only similar.
      {"", "unknown"},
      {"\xFF", "unknown"},
      {"\xD8\xFF", "unknown"},
      {" \xFF\xD8\xFF", "unknown"},
      {"\x89PNG\r\n\x1A", "unknown"},
      {"\x89PNG\n\x1A\n\n", "unknown"},
      {"RIFF....WEB", "unknown"},
      {"RIFF....WAVEfmt ", "unknown"},
      {"RIFX....WEBPVP8 ", "unknown"},
      {media("ftypmp42"), "unknown"},
      {media("moovavif"), "unknown"},
      {"<svg xmlns='http://www.w3.org/2000/svg'/>", "unknown"},
      {"hello, I am a photo.jpg", "unknown"},
      {"GIF", "unknown"},
      {std::string("II+\0", 4), "unknown"},
      {"\xFF\x4F\xFF\x52", "unknown"},
      {std::string("\0\0\0\x0CjP \n\n\x87\n", 11), "unknown"},
  };
  for (const auto& [text, format] : cases) {
    const ByteVector bytes(text.begin(), text.end());
    CAPTURE(text);
    CHECK(std::string(sniff(bytes)) == format);
    const auto error = refusal([&] { decode(bytes, {}, 0); });
    REQUIRE(error);
    const bool taken = std::string("jpeg png webp").find(format) != std::string::npos;
    CHECK(error->code ==
          (taken ? ErrorCode::kImageDecodeFailed : ErrorCode::kUnsupportedImageFormat));
    CHECK(error->detected == (taken ? "" : format));
  }
}

TEST_CASE(
    "an image with as many pixels as the limit is decoded, one more is rejected with the "
    "figures") {
  for (const ByteVector& file : in_each_format(gradient(40, 25))) {
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
  for (const cv::Size size : {cv::Size(40, 16), cv::Size(16, 40)}) {
    for (const ByteVector& file : in_each_format(gradient(size.width, size.height))) {
      CHECK(decode(file, {.max_pixels = 10000, .min_side = 16}, 0).width == size.width);
      CHECK(refuses_with(ErrorCode::kImageDimensions,
                         [&] { decode(file, {.max_pixels = 10000, .min_side = 17}, 0); }));
    }
  }
}

TEST_CASE("a huge image is rejected by its header, before its pixels are read") {
  const cv::Mat drawn = gradient(32, 32);
  ByteVector jpeg = encode_jpeg(drawn), png = encode_png(drawn);
  ByteVector webp = encode_webp(drawn, {.lossless = false});
  size_t frame = 0;
  while (!(jpeg[frame] == 0xFF && jpeg[frame + 1] == 0xC0)) ++frame;
  for (const size_t side : {0, 1}) {
    claim(jpeg, frame + 5 + 2 * side, 65'500);
    // IHDR (PNG 11.2.1).
    claim(png, 16 + 4 * side, 0x7FFF);
    claim(png, 18 + 4 * side, 0xFFFF);
    // After "VP8 ", size, 3 bytes of frame tag and 3 of start code (RFC 6386, 9.1).
    claim(webp, 26 + 2 * side, 16'383, true);
  }
  repair_png_checksums(png);
  for (const auto& [file, most] :
       {std::pair{jpeg, 65'500}, std::pair{png, 0x7FFFFFFF}, std::pair{webp, 16'383}}) {
    const auto error = refusal([&] { decode(file, {}, 0); });
    REQUIRE(error);
    CHECK(error->code == ErrorCode::kImageDimensions);
    CHECK(error->width == most);
    CHECK(error->height == most);
  }
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

TEST_CASE("an image of any format is rotated upright from every orientation") {
  const cv::Mat upright = gradient(kUprightWidth, kUprightHeight);
  for (uint16_t orientation = 1; orientation <= 8; ++orientation) {
    const cv::Mat raw = stored(upright, orientation);
    const ByteVector exif = ExifBlock{.orientation = orientation}.bytes();
    const ByteVector prefixed = ExifBlock{.orientation = orientation, .jpeg_prefix = true}.bytes();
    const ByteVector files[] = {encode_jpeg(raw, {.app1 = prefixed}),
                                encode_png(raw, {.exif = exif}), encode_webp(raw, {.exif = exif}),
                                encode_webp(raw, {.exif = prefixed})};
    for (const ByteVector& file : files) {
      const auto image = decode(file, kAnySize, 0);
      CAPTURE(orientation);
      CAPTURE(static_cast<int>(image.format));
      CHECK(image.orientation == orientation);
      CHECK(image.width == kUprightWidth);
      CHECK(image.height == kUprightHeight);
      CHECK(mean_difference(image.bgr, upright) <= (image.format == Format::kJpeg ? 1.5 : 0));
    }
  }
}

TEST_CASE("pixels of a reduced decode lie where they were, whatever the size and the orientation") {
  // libjpeg rounds the reduced size up: with these sizes up to seven eighths of a pixel lie outside
  // the image, on a side that the orientation chooses.
  for (const cv::Size size : {cv::Size(401, 203), cv::Size(403, 206), cv::Size(407, 200)}) {
    // A dark spot on white, away from the middle.
    cv::Mat drawn(size, CV_8UC3, cv::Scalar::all(255));
    const cv::Point spot(size.width * 4 / 5, size.height * 3 / 4);
    cv::circle(drawn, spot, 12, cv::Scalar::all(0), cv::FILLED);
    for (int orientation = 1; orientation <= 8; ++orientation) {
      const ByteVector app1 =
          ExifBlock{.orientation = static_cast<uint16_t>(orientation), .jpeg_prefix = true}.bytes();
      const ByteVector file = encode_jpeg(drawn, {.app1 = app1});
      const auto middle = [](const DecodedImage& image) {
        cv::Mat grey;
        cv::cvtColor(image.bgr, grey, cv::COLOR_BGR2GRAY);
        const cv::Moments moments = cv::moments(255 - grey);
        return image.to_image.apply({static_cast<float>(moments.m10 / moments.m00),
                                     static_cast<float>(moments.m01 / moments.m00)});
      };
      const Point full = middle(decode(file, kAnySize, 0));
      for (const int wanted : {200, 100}) {
        CAPTURE(size.width);
        CAPTURE(orientation);
        CAPTURE(wanted);
        const auto reduced = decode(file, kAnySize, wanted);
        CHECK(reduced.scale() == doctest::Approx(wanted / 400.0));
        CHECK(reduced.width == (orientation < 5 ? size.width : size.height));
        CHECK(reduced.height == (orientation < 5 ? size.height : size.width));
        CHECK(cv::norm(middle(reduced) - full) < 0.4);
      }
    }
  }
}

TEST_CASE("an APP1 marker that is not EXIF or is damaged does not rotate the image") {
  const ByteVector xmp = {'h', 't', 't', 'p', ':', '/', '/', 'n', 's', 0};
  const ByteVector cut = {'E', 'x', 'i', 'f', 0, 0, 'I', 'I'};
  const ByteVector tiny = {'E', 'x', 'i', 'f'};
  for (const ByteVector& app1 : {xmp, cut, tiny}) {
    const auto image =
        decode(encode_jpeg(gradient(kUprightWidth, kUprightHeight), {.app1 = app1}), kAnySize, 0);
    CHECK(image.orientation == 1);
    CHECK(image.width == kUprightWidth);
  }
}

TEST_SUITE_END();

}  // namespace facematch::testing
