#include <doctest/doctest.h>

#include <algorithm>
#include <string_view>

#include "../core/image/decode.h"
#include "drawing.h"

namespace facematch::testing {
namespace {

constexpr int kWidth = 37;
constexpr int kHeight = 29;

// A drawn image and its PNG rows.
struct Drawn {
  std::vector<uint8_t> rows;
  cv::Mat bgr = cv::Mat(kHeight, kWidth, CV_8UC3);
};

template <typename Pixel>
Drawn draw(Pixel pixel) {
  Drawn drawn;
  for (int y = 0; y < kHeight; ++y) {
    for (int x = 0; x < kWidth; ++x) drawn.bgr.at<cv::Vec3b>(y, x) = pixel(x, y, drawn.rows);
  }
  return drawn;
}

uint8_t on_white(int value, int alpha) {
  return static_cast<uint8_t>((value * alpha + 255 * (255 - alpha) + 127) / 255);
}

void check_exact(const char* what, const Drawn& drawn, PngOptions options) {
  options.width = kWidth;
  options.height = kHeight;
  for (const bool interlaced : {false, true}) {
    CAPTURE(what);
    CAPTURE(interlaced);
    options.interlaced = interlaced;
    const auto image = decode(encode_png(drawn.rows, options), kAnySize, 0);
    CHECK(image.format == Format::kPng);
    CHECK(image.width == kWidth);
    CHECK(image.height == kHeight);
    CHECK(largest_difference(image.bgr, drawn.bgr) == 0);
  }
}

}  // namespace

TEST_SUITE_BEGIN("decode_png");

TEST_CASE("decodes 8-bit colour and grey exactly, rounds 16 bits, and expands fewer bits") {
  for (const int depth : {8, 16}) {
    // In 16 bits, v / 255 is exactly v * 257 / 65535, that is, the byte twice.
    const auto add = [depth](auto& rows, std::initializer_list<uint8_t> samples) {
      for (const uint8_t sample : samples)
        rows.insert(rows.end(), static_cast<size_t>(depth / 8), sample);
    };
    check_exact("rgb", draw([&](int x, int y, auto& rows) {
                  const cv::Vec3b bgr(static_cast<uint8_t>(6 * x), static_cast<uint8_t>(8 * y),
                                      static_cast<uint8_t>(x * y));
                  add(rows, {bgr[2], bgr[1], bgr[0]});
                  return bgr;
                }),
                {.colour_type = PNG_COLOR_TYPE_RGB, .bit_depth = depth});
    check_exact("grey", draw([&](int x, int y, auto& rows) {
                  const auto value = static_cast<uint8_t>(3 * x + 4 * y);
                  add(rows, {value});
                  return cv::Vec3b::all(value);
                }),
                {.colour_type = PNG_COLOR_TYPE_GRAY, .bit_depth = depth});
  }
  for (const int depth : {1, 2, 4}) {
    const int max = (1 << depth) - 1;
    check_exact("packed grey", draw([&](int x, int y, auto& rows) {
                  const int value = (x + 3 * y) & max, at = x * depth % 8;
                  if (at == 0) rows.push_back(0);
                  rows.back() |= static_cast<uint8_t>(value << (8 - depth - at));
                  return cv::Vec3b::all(static_cast<uint8_t>(value * 255 / max));
                }),
                {.colour_type = PNG_COLOR_TYPE_GRAY, .bit_depth = depth});
  }
}

TEST_CASE(
    "decodes palette images with their palette's colours, and blends transparent ones onto white") {
  const std::vector<png_color> palette = {{255, 0, 0}, {0, 255, 0}, {0, 0, 255}, {12, 34, 56}};
  const std::vector<uint8_t> alpha = {255, 128, 0};  // the fourth is opaque by default
  for (const bool transparent : {false, true}) {
    check_exact("palette", draw([&](int x, int y, auto& rows) {
                  const auto index = static_cast<size_t>((x + y) % 4);
                  rows.push_back(static_cast<uint8_t>(index));
                  const png_color& c = palette[index];
                  const int a = transparent && index < alpha.size() ? alpha[index] : 255;
                  return cv::Vec3b(on_white(c.blue, a), on_white(c.green, a), on_white(c.red, a));
                }),
                {.colour_type = PNG_COLOR_TYPE_PALETTE,
                 .palette = palette,
                 .palette_alpha = transparent ? alpha : std::vector<uint8_t>{}});
  }
}

TEST_CASE("blends transparency onto white, as a browser shows it") {
  check_exact("rgba", draw([](int x, int y, auto& rows) {
                const auto alpha = static_cast<uint8_t>(7 * x);
                const auto value = static_cast<uint8_t>(8 * y);
                rows.insert(rows.end(), {value, 20, 200, alpha});
                return cv::Vec3b(on_white(200, alpha), on_white(20, alpha), on_white(value, alpha));
              }),
              {.colour_type = PNG_COLOR_TYPE_RGB_ALPHA});
  check_exact("grey with alpha, 16 bits", draw([](int x, int y, auto& rows) {
                const auto alpha = static_cast<uint8_t>(7 * x);
                const auto value = static_cast<uint8_t>(8 * y);
                rows.insert(rows.end(), {value, value, alpha, alpha});
                const uint8_t grey = on_white(value, alpha);
                return cv::Vec3b::all(grey);
              }),
              {.colour_type = PNG_COLOR_TYPE_GRAY_ALPHA, .bit_depth = 16});
}

TEST_CASE("treats the colour in tRNS as transparent") {
  png_color_16 key = {};
  key.red = 10;
  key.green = 20;
  key.blue = 30;
  check_exact("tRNS", draw([](int x, int y, auto& rows) {
                const bool hole = (x + y) % 3 == 0;
                rows.insert(rows.end(), {static_cast<uint8_t>(hole ? 10 : 11), 20, 30});
                return hole ? cv::Vec3b(255, 255, 255) : cv::Vec3b(30, 20, 11);
              }),
              {.colour_type = PNG_COLOR_TYPE_RGB, .transparent = key});
}

TEST_CASE("decodes an image of one pixel, interlaced or not") {
  for (const bool interlaced : {false, true}) {
    const auto image =
        decode(encode_png(ByteVector{9, 8, 7}, {.width = 1, .height = 1, .interlaced = interlaced}),
               kAnySize, 0);
    CHECK(image.bgr.at<cv::Vec3b>(0, 0) == cv::Vec3b(7, 8, 9));
  }
}

TEST_CASE("reads eXIf before the pixels and after them") {
  const std::vector<uint8_t> rows(size_t{3} * 20 * 10, 99);
  for (const bool after : {false, true}) {
    const PngOptions options = {.width = 20,
                                .height = 10,
                                .exif = ExifBlock{.orientation = 6}.bytes(),
                                .exif_after_pixels = after};
    const auto image = decode(encode_png(rows, options), kAnySize, 0);
    CAPTURE(after);
    CHECK(image.orientation == 6);
    CHECK(image.width == 10);
  }
}

TEST_CASE("decodes the first frame of an animation that does not include the first image") {
  const cv::Mat hidden = gradient(60, 40), white(40, 60, CV_8UC3, cv::Scalar::all(255));
  for (const cv::Rect place : {cv::Rect(0, 0, 60, 40), cv::Rect(30, 20, 20, 10)}) {
    const cv::Mat frame = grain(place.width, place.height, CV_8UC3);
    cv::Mat expected = white.clone();
    frame.copyTo(expected(place));
    const ByteVector file = encode_apng(hidden, frame, place.tl());
    const ImageLimits exact = {.max_pixels = 2400, .min_side = 40};
    CHECK(largest_difference(decode(file, exact, 0).bgr, expected) == 0);
    CHECK(fails_with(ErrorCode::kImageDimensions,
                     [&] { decode(file, {.max_pixels = 2399, .min_side = 1}, 0); }));
    const auto changed = [&](std::string_view name, std::ptrdiff_t at, uint8_t value) {
      ByteVector other = file;
      std::search(other.begin(), other.end(), name.begin(), name.end())[at] = value;
      repair_png_checksums(other);
      return other;
    };
    // PNG specification, third edition, section 13.1: if the animation cannot begin, the static
    // image is shown.
    const ByteVector stills[] = {
        changed("acTL", 0, 'x'),
        changed("acTL", 7, 0),                                        // no frames
        changed("acTL", 4, 0x80),                                     // more than 31 bits of frames
        changed("acTL", 8, 0x80),                                     // repetitions
        changed("fcTL", 7, 1),                                        // sequence number
        changed("fdAT", 7, 2),                                        // sequence number
        changed("fcTL", 11, 0),                                       // no width
        changed("fcTL", 11, 61),                                      // wider than the canvas
        changed("fcTL", 19, static_cast<uint8_t>(61 - place.width)),  // beyond the right side
        changed("fcTL", 23, static_cast<uint8_t>(41 - place.height)),  // beyond the bottom
        changed("fcTL", 16, 0x7F),
        changed("fcTL", 16, 0xFF),  // far beyond
        changed("fcTL", 28, 3),     // disposal
        changed("fcTL", 29, 2),     // blending
        changed("fcTL", 0, 'x'),
        changed("fdAT", 0, 'x'),
        changed("fdAT", 8, 'x'),  // nothing can be inflated
    };
    for (const ByteVector& still : stills) {
      CAPTURE(&still - std::begin(stills));
      CHECK(largest_difference(decode(still, kAnySize, 0).bgr, hidden) == 0);
    }
  }
}

TEST_CASE("rejects a damaged first frame instead of showing the static image") {
  const ByteVector file = encode_apng(gradient(60, 40), grain(60, 40, CV_8UC3), {0, 0});
  const auto where = [&](std::string_view name) {
    return std::search(file.begin(), file.end(), name.begin(), name.end()) - file.begin();
  };
  const auto is_damage = [](const ByteVector& bad) {
    return fails_with(ErrorCode::kImageDecodeFailed, [&] { decode(bad, kAnySize, 0); });
  };
  for (const std::string_view name : {"fcTL", "fdAT"}) {
    ByteVector wrong = file;
    const auto chunk = where(name) - 4;
    const auto length = static_cast<std::ptrdiff_t>(png_get_uint_32(&file.begin()[chunk]));
    ++wrong.begin()[chunk + 8 + length];  // the checksum
    CAPTURE(std::string(name));
    CHECK(is_damage(wrong));
  }
  ByteVector cut = file;
  const auto data = where("fdAT");
  cut.resize(static_cast<size_t>(data) - 4);
  CHECK(is_damage(cut));
  cut = file;
  cut.resize(cut.size() - 200);
  CHECK(is_damage(cut));
  // Chromium skips an empty first frame and shows the second.
  ByteVector second(file.begin() + where("fcTL") - 4, file.begin() + data - 4);
  second[11] = 1;  // its sequence number
  ByteVector empty = file;
  empty.insert(empty.begin() + data - 4, second.begin(), second.end());
  empty.begin()[data + static_cast<std::ptrdiff_t>(second.size()) + 7] = 2;
  repair_png_checksums(empty);
  CHECK(is_damage(empty));
}

TEST_CASE("considers a PNG animated if any of several acTL chunks has frames") {
  const cv::Mat frame = grain(60, 40, CV_8UC3);
  ByteVector file = encode_apng(gradient(60, 40), frame, {0, 0});
  const ByteVector none = png_chunk("acTL", ByteVector(8));
  for (const std::ptrdiff_t at : {33, 33 + 20}) {
    ByteVector two = file;
    two.insert(two.begin() + at, none.begin(), none.end());
    CHECK(largest_difference(decode(two, kAnySize, 0).bgr, frame) == 0);
  }
}

TEST_CASE(
    "reads an eXIf chunk of several megabytes, and rejects one longer than the file as damaged") {
  ByteVector exif = ExifBlock{.orientation = 6}.bytes();
  exif.resize(size_t{2} << 20);
  const std::vector<uint8_t> rows(size_t{3} * kWidth * kHeight, 99);
  ByteVector file = encode_png(
      rows, {.width = kWidth, .height = kHeight, .exif = exif, .comment_bytes = 3 << 20});
  REQUIRE(file.size() > 5 << 20);
  const auto image = decode(file, kAnySize, 0);
  CHECK(image.orientation == 6);
  CHECK(image.bgr.at<cv::Vec3b>(kWidth - 1, kHeight - 1) == cv::Vec3b(99, 99, 99));
  constexpr std::string_view kName = "eXIf";
  const auto name = std::search(file.begin(), file.end(), kName.begin(), kName.end());
  REQUIRE(name != file.end());
  *(name - 4) = 0x50;  // the highest byte of its length
  CHECK(fails_with(ErrorCode::kImageDecodeFailed, [&] { decode(file, kAnySize, 0); }));
}

TEST_SUITE_END();

}  // namespace facematch::testing
