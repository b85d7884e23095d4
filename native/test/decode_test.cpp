#include "../core/image/decode.h"

#include <doctest/doctest.h>

#include <opencv2/imgproc.hpp>
#include <string>
#include <string_view>

#include "../core/image/codec.h"
#include "drawing.h"
#include "support.h"

namespace facematch::testing {
namespace {

using std::string_view_literals::operator""sv;

ByteVector bytes_of(std::string_view text) { return {text.begin(), text.end()}; }

struct Encoding {
  const char* name;
  ByteVector (*encode)(const cv::Mat&);
};

const Encoding kEncodings[] = {
    {"jpeg", [](const cv::Mat& bgr) { return encode_jpeg(bgr); }},
    {"png", [](const cv::Mat& bgr) { return encode_png(bgr); }},
    {"webp", [](const cv::Mat& bgr) { return encode_webp(bgr); }},
};

// An image of 32 x 32 whose header states another size; only the header is ever read.
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

constexpr int kUprightWidth = 45;  // of the upright image
constexpr int kUprightHeight = 31;

// EXIF 2.32, 4.6.4: which side of the upright image the stored image's row 0 and column 0 are.
enum class Side { kTop, kBottom, kLeft, kRight };
struct Orientation {
  uint16_t value;
  Side row0;
  Side column0;
};
constexpr Orientation kOrientations[] = {
    {1, Side::kTop, Side::kLeft},     {2, Side::kTop, Side::kRight},
    {3, Side::kBottom, Side::kRight}, {4, Side::kBottom, Side::kLeft},
    {5, Side::kLeft, Side::kTop},     {6, Side::kRight, Side::kTop},
    {7, Side::kRight, Side::kBottom}, {8, Side::kLeft, Side::kBottom}};

// Distance of a pixel of the upright image from one of its sides.
int distance(Side side, int x, int y) {
  switch (side) {
    case Side::kTop:
      return y;
    case Side::kBottom:
      return kUprightHeight - 1 - y;
    case Side::kLeft:
      return x;
    default:
      return kUprightWidth - 1 - x;
  }
}

// The image as a camera in that orientation stores it.
cv::Mat stored(const cv::Mat& upright, const Orientation& orientation) {
  cv::Mat raw = orientation.value >= 5 ? cv::Mat(kUprightWidth, kUprightHeight, CV_8UC3)
                                       : cv::Mat(kUprightHeight, kUprightWidth, CV_8UC3);
  for (int y = 0; y < kUprightHeight; ++y) {
    for (int x = 0; x < kUprightWidth; ++x) {
      raw.at<cv::Vec3b>(distance(orientation.row0, x, y), distance(orientation.column0, x, y)) =
          upright.at<cv::Vec3b>(y, x);
    }
  }
  return raw;
}

}  // namespace

TEST_SUITE_BEGIN("decode");

TEST_CASE("a format is recognised by its first bytes") {
  struct Case {
    std::string_view bytes;
    const char* format;
  };
  const Case cases[] = {
      {"\xFF\xD8\xFF\xE0"sv, "jpeg"},
      {"\xFF\xD8"sv, "jpeg"},
      {"\x89PNG\r\n\x1A\n"sv, "png"},
      {"RIFF\0\0\0\0WEBPVP8 "sv, "webp"},
      {"\0\0\0\x20"
       "ftypavif"sv,
       "avif"},
      {"\0\0\0\x20"
       "ftypavis"sv,
       "avif"},
      {"\0\0\0\x20"
       "ftypheic"sv,
       "heic"},
      {"\0\0\0\x20"
       "ftypheix"sv,
       "heic"},
      {"\0\0\0\x20"
       "ftyphevc"sv,
       "heic"},
      {"\0\0\0\x20"
       "ftypmif1"sv,
       "heic"},
      {"\0\0\0\x20"
       "ftypmsf1"sv,
       "heic"},
      {"GIF87a"sv, "gif"},
      {"GIF89a"sv, "gif"},
      {"BM\x36\0"sv, "bmp"},
      {"II*\0\x08\0\0\0"sv, "tiff"},
      {"MM\0*\0\0\0\x08"sv, "tiff"},
      {"%PDF-1.7"sv, "pdf"},
      {"\0\0\0\x0CjP  \r\n\x87\n"sv, "jp2"},
      {"\xFF\x4F\xFF\x51\0\x2F"sv, "jp2"},
      {"\0\0\0\x0CJXL \r\n\x87\n"sv, "jxl"},
      {"\xFF\x0A"sv, "jxl"},
  };
  for (const Case& c : cases) {
    CAPTURE(c.format);
    CHECK(std::string_view(sniff(bytes_of(c.bytes))) == c.format);
  }
}

TEST_CASE("a signature that is cut, shifted or only similar is unknown") {
  const std::string_view cases[] = {
      ""sv,
      "\xFF"sv,
      "\xD8\xFF"sv,
      " \xFF\xD8\xFF"sv,
      "\x89PNG\r\n\x1A"sv,
      "\x89PNG\n\x1A\n\n"sv,
      "RIFF\0\0\0\0WEB"sv,
      "RIFF\0\0\0\0WAVEfmt "sv,
      "RIFX\0\0\0\0WEBPVP8 "sv,
      "\0\0\0\x20"
      "ftypmp42"sv,
      "\0\0\0\x20"
      "moovavif"sv,
      "<svg xmlns='http://www.w3.org/2000/svg'/>"sv,
      "hello, I am a photo.jpg"sv,
      "GIF"sv,
      "II+\0"sv,
      "\xFF\x4F\xFF\x52"sv,
      "\0\0\0\x0CjP \n\n\x87\n"sv,
  };
  for (const auto bytes : cases) {
    CAPTURE(std::string(bytes));
    CHECK(std::string_view(sniff(bytes_of(bytes))) == "unknown");
  }
}

TEST_CASE("the error names an unsupported format") {
  const auto error = refusal([] { decode(bytes_of("GIF89a and more"), {}, 0); });
  REQUIRE(error);
  CHECK(error->code == ErrorCode::kUnsupportedImageFormat);
  CHECK(error->detected == "gif");
}

TEST_CASE("an empty input is an unknown format") {
  const auto error = refusal([] { decode({}, {}, 0); });
  REQUIRE(error);
  CHECK(error->code == ErrorCode::kUnsupportedImageFormat);
  CHECK(error->detected == "unknown");
}

TEST_CASE(
    "an image with as many pixels as the limit is decoded, one more is rejected with the "
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

TEST_CASE("a huge image is rejected by its header, before its pixels are read") {
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

TEST_CASE("an image of any format is rotated upright from every orientation") {
  const cv::Mat upright = gradient(kUprightWidth, kUprightHeight);
  for (const Orientation& orientation : kOrientations) {
    const cv::Mat raw = stored(upright, orientation);
    const ByteVector exif = ExifBlock{.orientation = orientation.value}.bytes();
    const ByteVector prefixed =
        ExifBlock{.orientation = orientation.value, .jpeg_prefix = true}.bytes();
    const ByteVector files[] = {encode_jpeg(raw, {.app1 = prefixed}),
                                encode_png(raw, {.exif = exif}), encode_webp(raw, {.exif = exif}),
                                encode_webp(raw, {.exif = prefixed})};
    for (const ByteVector& file : files) {
      const auto image = decode(file, kAnySize, 0);
      CAPTURE(orientation.value);
      CAPTURE(static_cast<int>(image.format));
      CHECK(image.orientation == orientation.value);
      CHECK(image.width == kUprightWidth);
      CHECK(image.height == kUprightHeight);
      CHECK(mean_difference(image.bgr, upright) <= (image.format == Format::kJpeg ? 1.5 : 0));
    }
  }
}

TEST_CASE("a reduced decode is rotated too, and reports the size of the full image") {
  const cv::Mat wide = gradient(320, 160);
  const ByteVector app1 = ExifBlock{.orientation = 6, .jpeg_prefix = true}.bytes();
  const auto image = decode(encode_jpeg(wide, {.app1 = app1}), kAnySize, 80);
  CHECK(image.bgr.size() == cv::Size(40, 80));
  CHECK(image.width == 160);
  CHECK(image.height == 320);
  CHECK(image.scale() == doctest::Approx(0.25));
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
