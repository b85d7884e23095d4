// Pixels in colour spaces other than sRGB must have the values that Chromium 156 draws on a canvas
// for the same files.
#include "../core/image/colour.h"

#include <doctest/doctest.h>
#include <webp/mux_types.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "../core/image/decode.h"
#include "coloured.h"
#include "drawing.h"

namespace facematch::testing {
namespace {

using Rgb = std::array<int, 3>;

// A grey half and a red one.
constexpr Rgb kGrey = {64, 64, 64}, kRed = {200, 60, 40};
constexpr int kHalf = 16;

cv::Scalar bgr_of(const Rgb& rgb) { return {double(rgb[2]), double(rgb[1]), double(rgb[0])}; }

cv::Mat two_halves() {
  cv::Mat image(kHalf, 2 * kHalf, CV_8UC3, bgr_of(kGrey));
  image.colRange(kHalf, 2 * kHalf).setTo(bgr_of(kRed));
  return image;
}

ByteVector shortened(ByteVector profile) {
  profile.resize(200);
  return profile;
}

void check_halves(const ByteVector& file, const Rgb& grey, const Rgb& red, int tolerance = 2) {
  const cv::Mat bgr = decode(file, kAnySize, 0).bgr;
  const auto near = [&](int x, const Rgb& expected) {
    const auto pixel = bgr.at<cv::Vec3b>(kHalf / 2, x);
    for (int c = 0; c < 3; ++c) {
      CHECK(std::abs(pixel[2 - c] - expected[static_cast<size_t>(c)]) <= tolerance);
    }
  };
  near(kHalf / 2, grey);
  near(kHalf + kHalf / 2, red);
}

// Values that Chromium shows if stored numbers are linear light.
constexpr Rgb kLinearGrey = {137, 137, 137}, kLinearRed = {229, 133, 110};

}  // namespace

TEST_SUITE_BEGIN("colour");

TEST_CASE("converts a PNG whose chunks declare a colour space other than sRGB, as Chromium does") {
  struct Case {
    const char* what;
    std::vector<ByteVector> chunks;
    Rgb grey = kGrey;
    Rgb red = kRed;
  };
  const ByteVector linear = iccp(icc_profile());
  const Case cases[] = {
      {"gamma 1", {gama(1)}, kLinearGrey, kLinearRed},
      {"gamma 0.5556", {gama(0.5556)}, {81, 81, 81}, {210, 77, 53}},
      {"gamma 0.02", {gama(0.02)}, {0, 0, 0}, {0, 0, 0}},
      {"gamma 3", {gama(3)}, {208, 208, 208}, {246, 206, 194}},
      {"gamma within 5 percent", {gama(0.47)}},
      {"gamma 0", {gama(0)}},
      {"gamma and sRGB", {gama(1), srgb()}},
      {"gamma and primaries", {gama(0.45455), prophoto()}, {62, 62, 62}, {255, 0, 23}},
      {"primaries alone", {prophoto()}},
      {"a linear profile", {linear}, kLinearGrey, kLinearRed},
      {"a linear profile and sRGB", {srgb(), linear}, kLinearGrey, kLinearRed},
      {"a linear profile of functions",
       {iccp(icc_profile({.functions = true}))},
       kLinearGrey,
       kLinearRed},
      {"a wide gamut", {iccp(icc_profile({1.8, kWideColumns}))}, {81, 81, 81}, {255, 0, 43}},
      {"blue alone", {iccp(icc_profile({2.2, kBlueColumns}))}, {62, 62, 62}, {35, 35, 35}},
      {"a profile for grey images", {iccp(icc_profile({.grey = true}))}},
      {"a damaged profile", {iccp(shortened(icc_profile()))}},
      {"gamma and a damaged profile",
       {gama(1), iccp(shortened(icc_profile()))},
       kLinearGrey,
       kLinearRed},
      {"linear code points", {cicp(1, 8)}, kLinearGrey, kLinearRed},
      {"linear code points and sRGB", {cicp(1, 8), srgb()}, kLinearGrey, kLinearRed},
      {"code points of sRGB and a linear profile", {cicp(1, 13), linear}},
      {"code points of XYZ", {cicp(10, 8)}, {137, 137, 137}, {255, 0, 118}},
      {"unknown code points", {cicp(2, 2)}},
      // Near sRGB, so not converted.
      {"code points of Display P3", {cicp(12, 13)}},
      {"a profile of gamma 2.2", {iccp(icc_profile({2.2}))}},
  };
  for (const Case& c : cases) {
    CAPTURE(std::string(c.what));
    for (const bool interlaced : {false, true}) {
      const ByteVector png = encode_png(two_halves(), {.interlaced = interlaced});
      check_halves(with_chunks(png, c.chunks), c.grey, c.red);
    }
  }
}

TEST_CASE("converts before transparency is blended onto white") {
  cv::Mat clear(kHalf, 2 * kHalf, CV_8UC4, cv::Scalar(64, 64, 64, 51));
  const int grey = (137 * 51 + 255 * 204) / 255;
  const ByteVector png = with_chunks(encode_png(clear), {gama(1)});
  check_halves(png, {grey, grey, grey}, {grey, grey, grey});
  const ByteVector webp = with_iccp(encode_webp(clear), icc_profile());
  check_halves(webp, {grey, grey, grey}, {grey, grey, grey});
}

TEST_CASE("converts all 16 bits of a PNG's samples") {
  ByteVector rows;
  for (int i = 0; i < 3 * 2 * kHalf * kHalf; ++i) append_number(rows, 64'880, 2);
  const ByteVector png = encode_png(rows, {.width = 2 * kHalf, .height = kHalf, .bit_depth = 16});
  // 255 * (64,880 / 65,535)^50 as sRGB is 204. With the rounded byte, 252, it would be 196.
  check_halves(with_chunks(png, {gama(0.02)}), {204, 204, 204}, {204, 204, 204}, 1);
}

TEST_CASE("converts a JPEG and a WebP from their profile") {
  const ByteVector profile = icc_profile();
  const ByteVector jpeg = encode_jpeg(two_halves(), {.quality = 100});
  check_halves(with_profile(jpeg, profile, 1, {1}), kLinearGrey, kLinearRed, 4);
  check_halves(with_profile(jpeg, profile, 3, {3, 1, 2}), kLinearGrey, kLinearRed, 4);
  check_halves(with_profile(jpeg, profile, 3, {1, 3}), kGrey, kRed, 3);
  check_halves(with_profile(jpeg, icc_profile({.grey = true}), 1, {1}), kGrey, kRed, 3);
  check_halves(with_profile(jpeg, icc_profile({2.2, kBlueColumns}), 1, {1}), {62, 62, 62},
               {35, 35, 35}, 4);
  const ByteVector grey = encode_jpeg(cv::Mat(kHalf, 2 * kHalf, CV_8U, cv::Scalar(64)));
  check_halves(with_profile(grey, profile, 1, {1}), kLinearGrey, kLinearGrey);
  ByteVector webp = with_iccp(encode_webp(two_halves()), profile);
  check_halves(webp, kLinearGrey, kLinearRed);
  webp[20] = static_cast<uint8_t>(webp[20] & ~ICCP_FLAG);
  check_halves(webp, kGrey, kRed);
}

TEST_CASE("converts parts of a JPEG like the whole image") {
  const ByteVector jpeg = with_profile(encode_jpeg(gradient(400, 300)), icc_profile(), 1, {1});
  const DecodedImage whole = decode(jpeg, kAnySize, 400);
  const cv::Rect part(100, 100, 100, 100);
  const auto views = decode_parts(jpeg, whole, 400, {&part, 1});
  REQUIRE(views.size() == 1);
  CHECK(is_part_of(views[0], whole, part));
}

TEST_CASE("rejects colour spaces with lookup tables or HDR") {
  const auto detected = [](const ByteVector& file) {
    const auto error = error_of([&] { decode(file, kAnySize, 0); });
    return error ? error->detected : "";
  };
  const ByteVector tables = icc_profile({.tables = true}), png = encode_png(two_halves());
  const ByteVector files[] = {
      with_chunks(png, {iccp(tables)}),
      with_chunks(png, {cicp(9, 16)}),
      with_chunks(png, {cicp(9, 18)}),
      with_profile(encode_jpeg(two_halves()), tables, 1, {1}),
      with_iccp(encode_webp(two_halves()), tables),
  };
  for (const ByteVector& file : files) CHECK(detected(file) == "unsupported_colours");
}

TEST_CASE("treats common colour spaces as near sRGB, and others as far") {
  const auto levels = [](const ProfileOptions& options) {
    return read_icc_profile(icc_profile(options), false).space->levels_from_srgb();
  };
  const Columns adobe = {
      {{0.6097, 0.3111, 0.0195}, {0.2053, 0.6257, 0.0609}, {0.1492, 0.0632, 0.7446}}};
  const Columns p3 = {
      {{0.5151, 0.2412, -0.0011}, {0.292, 0.6922, 0.0419}, {0.1571, 0.0666, 0.7841}}};
  CHECK(levels({2.2}) < 10);
  CHECK(levels({2.2, p3}) < 15);
  CHECK(levels({2.2, adobe}) < kNearSrgb);
  CHECK(levels({1.8}) < kNearSrgb);
  CHECK(levels({1.8, kWideColumns}) > kNearSrgb);
  CHECK(levels({1.3}) > kNearSrgb);
  CHECK(levels({4}) > kNearSrgb);
}

TEST_CASE("reads a profile cut at any byte, or with any byte changed, without crashing") {
  const ByteVector profile = icc_profile();
  for (size_t size = 0; size < profile.size(); ++size) {
    const ByteVector cut(profile.begin(), profile.begin() + static_cast<long>(size));
    CHECK_FALSE(read_icc_profile(cut, true).space);
    for (const int value : {0, 0x7F, 0x80, 0xFF}) {
      ByteVector changed = profile;
      changed[size] = static_cast<uint8_t>(value);
      const auto space = read_icc_profile(changed, true).space;
      if (space) CHECK(space->levels_from_srgb() <= 255);
    }
  }
}

TEST_SUITE_END();

}  // namespace facematch::testing
