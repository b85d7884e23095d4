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

// Writes a side of 16 bits to a header.
void declare(ByteVector& file, size_t at, uint16_t side, bool little_endian = false) {
  const auto high = static_cast<uint8_t>(side >> 8), low = static_cast<uint8_t>(side & 0xFF);
  file[at] = little_endian ? low : high;
  file[at + 1] = little_endian ? high : low;
}

// Returns the start of an ISO base media file.
std::string media(const char* type) { return std::string("\0\0\0\x20", 4) + type; }

// Returns the first box of an ISO base media file, with its brands.
std::string brands(const std::string& major, const std::vector<std::string>& compatible) {
  std::string box = "ftyp" + major + std::string(4, '\0');
  for (const std::string& brand : compatible) box += brand;
  return std::string(3, '\0') + static_cast<char>(box.size() + 4) + box;
}

// Returns a TIFF with this tag, after `others` entries with tags that begin at 0x0100.
std::string tiff_with(uint16_t tag, int others = 0) {
  const ByteVector block = ExifBlock{.tag = tag, .entries_before = others}.bytes();
  return {block.begin(), block.end()};
}

constexpr int kUprightWidth = 45;
constexpr int kUprightHeight = 31;

// Returns the image as a camera stores it in this orientation. EXIF defines which sides of the
// upright image are the first row and the first column (EXIF 2.32, 4.6.4).
cv::Mat stored(const cv::Mat& upright, int orientation) {
  // True if row 0 is at the bottom, and if column 0 is on the right. For 5 to 8, this refers to the
  // transposed image.
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

TEST_CASE("recognises a format by its first bytes, and names it in the error") {
  const std::pair<std::string, const char*> cases[] = {
      {"\xFF\xD8", "jpeg"},
      {"\x89PNG\r\n\x1A\n", "png"},
      {"RIFF....WEBPVP8 ", "webp"},
      {media("ftypavif"), "avif"},
      {media("ftypheic"), "heic"},
      {media("ftypmif1"), "heic"},
      {brands("mif1", {"mif1", "avif", "miaf"}), "avif"},
      {brands("msf1", {"iso8", "avis"}), "avif"},
      {brands("mif1", {"miaf", "heix"}), "heic"},
      {brands("avif", {"mif1", "heic"}), "avif"},
      {brands("isom", {"mp42"}) + "avif", "video"},
      {brands("crx ", {"crx ", "isom"}), "raw"},
      {brands("mp42", {"isom", "avc1"}), "video"},
      {media("moovavif"), "video"},
      {media("wide"), "video"},
      {"\x1A\x45\xDF\xA3", "video"},
      {"RIFF....AVI LIST", "video"},
      {std::string("\0\0\1\xBA", 4), "video"},
      {"GIF89a and more", "gif"},
      {"BM\x36", "bmp"},
      {std::string("II*\0", 4), "tiff"},
      {std::string("MM\0*", 4), "tiff"},
      {tiff_with(0x010F), "tiff"},
      {tiff_with(0x014A, 15), "tiff"},
      {tiff_with(0x014A, 16), "raw"},  // includes the tag of the maker
      {tiff_with(0xC612), "raw"},
      {std::string("II*\0\x10\0\0\0CR\2\0", 12), "raw"},
      {"FUJIFILMCCD-RAW 0201", "raw"},
      {"8BPS", "psd"},
      {std::string("\0\5\x16\7\0\2\0\0", 8), "appledouble"},
      {"PK\3\4", "zip"},
      {"\x1F\x8B\x08", "gzip"},
      {std::string("\x89PNG\r\n\x1A\n\0\0\0\4CgBI", 16), "xcode_png"},
      {"%PDF-1.7", "pdf"},
      {std::string("\0\0\0\x0CjP  \r\n\x87\n", 12), "jp2"},
      {std::string("\0\0\0\x0CJXL \r\n\x87\n", 12), "jxl"},
      // Truncated, shifted or only similar.
      {"", "unknown"},
      {"\xD8\xFF", "unknown"},
      {" \xFF\xD8\xFF", "unknown"},
      {"\x89PNG\r\n\x1A", "unknown"},
      {"RIFF....WEB", "unknown"},
      {"RIFX....WEBPVP8 ", "unknown"},
      {std::string("\0\0\0\x20"
                   "ftypavi",
                   11),
       "unknown"},
      {media("free"), "unknown"},
      {"PK\3", "unknown"},
      {std::string("\0\5\x16\1", 4), "unknown"},
      {"The wide world", "unknown"},
      {std::string("\0\0\0\x0CjP \n\n\x87\n", 11), "unknown"},
  };
  for (const auto& [text, format] : cases) {
    const ByteVector bytes(text.begin(), text.end());
    CAPTURE(text);
    CHECK(std::string(sniff(bytes)) == format);
    const auto error = error_of([&] { decode(bytes, {}, 0); });
    REQUIRE(error);
    const bool supported = std::string("jpeg png webp").find(format) != std::string::npos;
    CHECK(error->code ==
          (supported ? ErrorCode::kImageDecodeFailed : ErrorCode::kUnsupportedImageFormat));
    CHECK(error->detected == (supported ? "" : format));
  }
}

TEST_CASE(
    "decodes an image with the maximum number of pixels, and rejects one more with the figures") {
  for (const ByteVector& file : in_each_format(gradient(40, 25))) {
    CHECK(decode(file, {.max_pixels = 1000, .min_side = 1}, 0).width == 40);
    const auto error = error_of([&] { decode(file, {.max_pixels = 999, .min_side = 1}, 0); });
    REQUIRE(error);
    CHECK(error->code == ErrorCode::kImageDimensions);
    CHECK(error->width == 40);
    CHECK(error->height == 25);
    CHECK(error->limit_pixels == 999);
  }
}

TEST_CASE("decodes a side of the minimum length, and rejects one pixel less") {
  for (const cv::Size size : {cv::Size(40, 16), cv::Size(16, 40)}) {
    for (const ByteVector& file : in_each_format(gradient(size.width, size.height))) {
      CHECK(decode(file, {.max_pixels = 10000, .min_side = 16}, 0).width == size.width);
      CHECK(fails_with(ErrorCode::kImageDimensions,
                       [&] { decode(file, {.max_pixels = 10000, .min_side = 17}, 0); }));
    }
  }
}

TEST_CASE("rejects a huge image by its header, before its pixels are read") {
  const cv::Mat drawn = gradient(32, 32);
  ByteVector jpeg = encode_jpeg(drawn), png = encode_png(drawn);
  ByteVector webp = encode_webp(drawn, {.lossless = false});
  size_t frame = 0;
  while (!(jpeg[frame] == 0xFF && jpeg[frame + 1] == 0xC0)) ++frame;
  for (const size_t side : {0, 1}) {
    declare(jpeg, frame + 5 + 2 * side, 65'500);
    // IHDR (PNG 11.2.1).
    declare(png, 16 + 4 * side, 0x7FFF);
    declare(png, 18 + 4 * side, 0xFFFF);
    // After "VP8 ", size, 3 bytes of frame tag and 3 of start code (RFC 6386, 9.1).
    declare(webp, 26 + 2 * side, 16'383, true);
  }
  repair_png_checksums(png);
  for (const auto& [file, side] :
       {std::pair{jpeg, 65'500}, std::pair{png, 0x7FFFFFFF}, std::pair{webp, 16'383}}) {
    const auto error = error_of([&] { decode(file, {}, 0); });
    REQUIRE(error);
    CHECK(error->code == ErrorCode::kImageDimensions);
    CHECK(error->width == side);
    CHECK(error->height == side);
  }
}

TEST_CASE("multiplies sizes in 64 bits, and limits each side to a JPEG's maximum") {
  const ImageLimits limits;
  CHECK(fails_with(ErrorCode::kImageDimensions, [&] { check_dimensions(65536, 65536, limits); }));
  CHECK(fails_with(ErrorCode::kImageDimensions, [&] { check_dimensions(0, 100, limits); }));
  CHECK(fails_with(ErrorCode::kImageDimensions, [&] { check_dimensions(100, -1, limits); }));
  CHECK_NOTHROW(check_dimensions(8192, 6144, limits));
  CHECK_NOTHROW(check_dimensions(10000, 6400, limits));
  CHECK(fails_with(ErrorCode::kImageDimensions, [&] { check_dimensions(10000, 6401, limits); }));
  CHECK_NOTHROW(check_dimensions(16, 65535, limits));
  CHECK(fails_with(ErrorCode::kImageDimensions, [&] { check_dimensions(16, 65536, limits); }));
  CHECK(fails_with(ErrorCode::kImageDimensions, [&] { check_dimensions(65536, 16, limits); }));
}

TEST_CASE("rotates an image of any format upright from every orientation") {
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

TEST_CASE("maps pixels of a reduced decode to their place, whatever the size and the orientation") {
  // libjpeg rounds the reduced size up. With these sizes, up to three quarters of a pixel are
  // outside the image; the orientation determines on which side.
  for (const cv::Size size : {cv::Size(401, 203), cv::Size(403, 206), cv::Size(407, 200)}) {
    // A dark spot on white, away from the centre.
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

TEST_CASE("uses the first EXIF block with an orientation, wherever it is in the file") {
  const auto block = [](uint16_t value) {
    return ExifBlock{.orientation = value, .jpeg_prefix = true}.bytes();
  };
  const ByteVector empty = {'E', 'x', 'i', 'f', 0, 0}, zeros(64);
  ByteVector garbage = empty;
  garbage.insert(garbage.end(), 40, 0x5A);
  const cv::Mat drawn = gradient(kUprightWidth, kUprightHeight);
  struct Case {
    std::vector<ByteVector> blocks;
    int expected;
  };
  const Case cases[] = {{{empty, block(6)}, 6},    {{garbage, block(6)}, 6},
                        {{zeros, block(6)}, 6},    {{block(0), block(6)}, 6},
                        {{block(1), block(6)}, 1}, {{block(3), block(6)}, 3},
                        {{block(6), empty}, 6}};
  for (const Case& c : cases) {
    for (const int fill : {0, 1, 3}) {
      ByteVector jpeg;
      for (const ByteVector& one : c.blocks) {
        jpeg.insert(jpeg.end(), static_cast<size_t>(fill), 0xFF);
        const size_t length = one.size() + 2;
        for (const size_t byte : {size_t{0xFF}, size_t{0xE1}, length >> 8, length & 0xFF}) {
          jpeg.push_back(static_cast<uint8_t>(byte));
        }
        jpeg.insert(jpeg.end(), one.begin(), one.end());
      }
      ByteVector file = encode_jpeg(drawn);
      file.insert(file.begin() + 2, jpeg.begin(), jpeg.end());
      CAPTURE(fill);
      CHECK(decode(file, kAnySize, 0).orientation == c.expected);
    }
    const auto chunks = [&](ByteVector& file, size_t at, const char* name, bool little_endian) {
      ByteVector all;
      for (const ByteVector& one : c.blocks) {
        for (size_t i = 0; i < 4; ++i) {
          all.push_back(static_cast<uint8_t>(one.size() >> 8 * (little_endian ? i : 3 - i)));
        }
        const auto own = all.end() - (little_endian ? 4 : 0);
        all.insert(own, name, name + 4);
        all.insert(all.end(), one.begin(), one.end());
        all.resize(all.size() + (little_endian ? one.size() % 2 : 4));
      }
      file.insert(file.begin() + static_cast<std::ptrdiff_t>(at), all.begin(), all.end());
    };
    ByteVector png = encode_png(drawn);
    chunks(png, 33, "eXIf", false);
    repair_png_checksums(png);
    CHECK(decode(png, kAnySize, 0).orientation == c.expected);
    ByteVector webp = encode_webp(drawn, {.exif = empty});
    chunks(webp, webp.size(), "EXIF", true);
    declare(webp, 4, static_cast<uint16_t>(webp.size() - 8), true);
    CHECK(decode(webp, kAnySize, 0).orientation == c.expected);
  }
}

TEST_CASE("ignores an EXIF chunk of a WebP whose header does not declare it") {
  ByteVector webp = encode_webp(gradient(kUprightWidth, kUprightHeight),
                                {.exif = ExifBlock{.orientation = 6}.bytes()});
  CHECK(decode(webp, kAnySize, 0).orientation == 6);
  webp[20] = static_cast<uint8_t>(webp[20] & ~0x08);  // VP8X, its first flags
  CHECK(decode(webp, kAnySize, 0).orientation == 1);
}

TEST_SUITE_END();

}  // namespace facematch::testing
