#include <doctest/doctest.h>

#include <algorithm>
#include <opencv2/imgproc.hpp>
#include <string>
#include <string_view>
#include <utility>

#include "../core/image/decode.h"
#include "drawing.h"

namespace facematch::testing {
namespace {

// Returns the inks (255: no ink) of an image with a little black, and sets `printed` to the printed
// colours.
cv::Mat draw_inks(const cv::Mat& bgr, cv::Mat& printed) {
  constexpr int kBlack = 40;
  std::vector<cv::Mat> planes;
  cv::split(cv::Scalar::all(255) - bgr, planes);
  std::swap(planes[0], planes[2]);
  planes.emplace_back(bgr.size(), CV_8U, cv::Scalar(kBlack));
  cv::Mat inks;
  cv::merge(planes, inks);
  bgr.convertTo(printed, -1, (255.0 - kBlack) / 255);
  return cv::Mat(cv::Scalar::all(255) - inks);
}

// Returns a scan of one component: coefficients `from` to `to`, successive approximation bits
// `high` and `low`.
jpeg_scan_info scan(int component, int from, int to, int high, int low) {
  return {.comps_in_scan = 1,
          .component_index = {component},
          .Ss = from,
          .Se = to,
          .Ah = high,
          .Al = low};
}

jpeg_scan_info all_dc(int high, int low) {
  return {
      .comps_in_scan = 3, .component_index = {0, 1, 2}, .Ss = 0, .Se = 0, .Ah = high, .Al = low};
}

// mozjpeg's order, which ends with the chroma.
std::vector<jpeg_scan_info> luma_first() {
  return {all_dc(0, 0),         scan(0, 1, 8, 0, 2),  scan(1, 1, 8, 0, 0),
          scan(2, 1, 8, 0, 0),  scan(0, 9, 63, 0, 2), scan(0, 1, 63, 2, 1),
          scan(0, 1, 63, 1, 0), scan(1, 9, 63, 0, 0), scan(2, 9, 63, 0, 0)};
}

std::vector<jpeg_scan_info> one_by_one() {
  return {scan(0, 0, 63, 0, 0), scan(1, 0, 63, 0, 0), scan(2, 0, 63, 0, 0)};
}

struct ScanFile {
  std::string what;
  ByteVector file;
};

// A complete file must be decoded, and a file without one of its scans rejected.
std::vector<ScanFile> scan_files() {
  const cv::Mat drawn = grain(48, 40, CV_8UC3);
  cv::Mat grey;
  cv::cvtColor(drawn, grey, cv::COLOR_BGR2GRAY);
  const cv::Mat inks = grain(48, 40, CV_8UC4);
  return {
      {"libjpeg's progression", encode_jpeg(drawn, {.progressive = true, .luma = {2, 2}})},
      {"with restart markers", encode_jpeg(drawn, {.progressive = true, .restart_rows = 1})},
      {"grey", encode_jpeg(grey, {.progressive = true})},
      {"four inks", encode_jpeg(inks, {.progressive = true, .of_inks = JCS_YCCK})},
      {"luma first", encode_jpeg(drawn, {.scans = luma_first()})},
      {"sequential, a component at a time", encode_jpeg(drawn, {.scans = one_by_one()})},
  };
}

// The bytes of a scan, from its SOS marker to the next marker that is not a restart.
struct ScanRange {
  size_t from;
  size_t to;
};

std::vector<ScanRange> scans_of(const ByteVector& file) {
  std::vector<ScanRange> scans;
  for (size_t at = 2; file[at + 1] != 0xD9;) {
    const size_t start = at;
    at += 2 + (size_t{file[at + 2]} << 8 | file[at + 3]);
    if (file[start + 1] != 0xDA) continue;
    const auto is_data = [&] {
      const uint8_t next = file[at + 1];
      return file[at] != 0xFF || next == 0 || (next >= 0xD0 && next <= 0xD7);
    };
    while (is_data()) ++at;
    scans.push_back({start, at});
  }
  return scans;
}

// Returns `file` without a range of bytes.
ByteVector without(const ByteVector& file, ScanRange gone) {
  ByteVector rest = file;
  const auto at = [&](size_t i) { return rest.begin() + static_cast<std::ptrdiff_t>(i); };
  rest.erase(at(gone.from), at(gone.to));
  return rest;
}

bool is_rejected(const ByteVector& file, int min_side = 0) {
  return fails_with(ErrorCode::kImageDecodeFailed, [&] { decode(file, kAnySize, min_side); });
}

}  // namespace

TEST_SUITE_BEGIN("decode_jpeg");

TEST_CASE("decodes images as drawn, in every encoding and size") {
  struct Case {
    const char* what;
    JpegOptions options;
    double tolerance;
  };
  const Case cases[] = {
      {"baseline", {}, 1.5},
      {"progressive", {.progressive = true}, 1.5},
      {"4:2:0", {.luma = {2, 2}}, 2.5},
      {"progressive 4:2:0", {.progressive = true, .luma = {2, 2}}, 2.5},
      {"restart markers", {.restart_rows = 1}, 1.5},
  };
  for (const Case& c : cases) {
    for (const cv::Size size :
         {cv::Size(64, 48), cv::Size(63, 47), cv::Size(17, 90), cv::Size(1, 1)}) {
      CAPTURE(c.what);
      CAPTURE(size);
      const cv::Mat drawn = gradient(size.width, size.height);
      ByteVector file = encode_jpeg(drawn, c.options);
      file.insert(file.end(), 1000, 0x5A);  // bytes after the end are ignored
      const auto image = decode(file, kAnySize, 0);
      CHECK(image.format == Format::kJpeg);
      CHECK(image.width == size.width);
      CHECK(image.height == size.height);
      CHECK(image.scale() == 1);
      CHECK(image.orientation == 1);
      CHECK(mean_difference(image.bgr, drawn) < c.tolerance);
      cv::Mat grey, expected;
      cv::cvtColor(drawn, grey, cv::COLOR_BGR2GRAY);
      cv::cvtColor(grey, expected, cv::COLOR_GRAY2BGR);
      CHECK(mean_difference(decode(encode_jpeg(grey, c.options), kAnySize, 0).bgr, expected) < 1);
    }
  }
}

TEST_CASE("decodes CMYK and YCCK as printed, with Adobe's marker and without") {
  cv::Mat printed;
  const cv::Mat inks = draw_inks(gradient(60, 50), printed);
  for (const ByteVector& file : {encode_jpeg(inks), encode_jpeg(inks, {.adobe_marker = false}),
                                 encode_jpeg(inks, {.of_inks = JCS_YCCK}),
                                 encode_jpeg(inks, {.luma = {2, 2}, .of_inks = JCS_YCCK})}) {
    CHECK(mean_difference(decode(file, kAnySize, 0).bgr, printed) < 2.5);
  }
}

TEST_CASE(
    "decodes parts with the pixels of the whole image, at every scale, sampling and orientation") {
  const cv::Mat drawn = grain(70, 50, CV_8UC3);
  cv::Mat large, inks;
  cv::resize(drawn, large, {803, 406}, 0, 0, cv::INTER_CUBIC);
  cv::cvtColor(large, inks, cv::COLOR_BGR2BGRA);
  // Rows after the first part are skipped, beginning in the last rows of a row of blocks.
  const cv::Rect parts[] = {{300, 3, 90, 83}, {250, 250, 153, 156}, {3, 380, 40, 20}};
  struct Case {
    cv::Size luma, colours = {1, 1};
  };
  const Case cases[] = {{{1, 1}}, {{2, 1}}, {{1, 2}}, {{2, 2}},        {{4, 1}},
                        {{1, 4}}, {{4, 2}}, {{2, 4}}, {{1, 4}, {1, 2}}};
  // Each sampling has a different orientation: 0 (with inks), then 8 to 1.
  for (uint16_t orientation = 0; const auto& [luma, colours] : cases) {
    const auto app1 = ExifBlock{.orientation = orientation, .jpeg_prefix = true}.bytes();
    for (const bool progressive : {false, true}) {
      const ByteVector file =
          encode_jpeg(orientation == 0 ? inks : large, {.progressive = progressive,
                                                        .luma = luma,
                                                        .colours = colours,
                                                        .of_inks = JCS_YCCK,
                                                        .app1 = app1});
      for (const int side : {803, 401, 200}) {
        CAPTURE(luma);
        CAPTURE(side);
        const auto whole = decode(file, kAnySize, side);
        const auto views = decode_parts(file, whole, side, parts);
        REQUIRE(views.size() == std::size(parts));
        for (size_t i = 0; i < views.size(); ++i) {
          CHECK(is_part_of(views[i], whole, parts[i]));
          // A part alone needs fewer columns.
          CHECK(is_part_of(decode_parts(file, whole, side, {&parts[i], 1})[0], whole, parts[i]));
        }
      }
    }
    orientation = orientation == 0 ? 8 : static_cast<uint16_t>(orientation - 1);
  }
}

TEST_CASE("rejects a part outside the image instead of returning an empty one") {
  const ByteVector file = encode_jpeg(gradient(400, 300));
  const DecodedImage whole = decode(file, kAnySize, 400);
  const cv::Rect inside(10, 10, 50, 50), outside(10, 900, 50, 50);
  const cv::Rect both[] = {inside, outside};
  CHECK(fails_with(ErrorCode::kInternalError, [&] { decode_parts(file, whole, 400, both); }));
  CHECK(decode_parts(file, whole, 400, {&inside, 1}).size() == 1);
  CHECK(decode_parts(file, whole, 400, {}).empty());
}

TEST_CASE("decodes at a reduced scale with at least the requested side, and returns the scale") {
  const cv::Mat drawn = gradient(400, 240);
  const ByteVector file = encode_jpeg(drawn);
  for (const auto& [wanted, width] : {std::pair{0, 400},
                                      {401, 400},
                                      {400, 400},
                                      {201, 400},
                                      {200, 200},
                                      {101, 200},
                                      {100, 100},
                                      {51, 100},
                                      {1, 100}}) {
    CAPTURE(wanted);
    const auto image = decode(file, kAnySize, wanted);
    CHECK(image.bgr.size() == cv::Size(width, width * 3 / 5));
    CHECK(image.width == 400);
    CHECK(image.height == 240);
    CHECK(image.scale() == doctest::Approx(width / 400.0));
    cv::Mat reduced;
    cv::resize(drawn, reduced, image.bgr.size(), 0, 0, cv::INTER_AREA);
    CHECK(mean_difference(image.bgr, reduced) < 2);
  }
}

TEST_CASE("decodes at 1/8 if that leaves 750 pixels") {
  for (const int width : {6000, 5999}) {
    const auto image = decode(encode_jpeg(gradient(width, 16)), kAnySize, 480);
    CHECK(image.longer_side() == (width == 6000 ? 750 : 1500));
  }
}

TEST_CASE("decodes a JPEG with all its scans, in any order, and rejects one with a missing scan") {
  for (const ScanFile& specimen : scan_files()) {
    const std::vector<ScanRange> scans = scans_of(specimen.file);
    CAPTURE(specimen.what);
    REQUIRE(scans.size() >= 3);
    CHECK(decode(specimen.file, kAnySize, 0).width == 48);
    for (size_t kept = 0; kept < scans.size(); ++kept) {
      CAPTURE(kept);
      CHECK(is_rejected(without(specimen.file, scans[kept])));
      if (kept == 0) continue;
      const ScanRange later = {scans[kept - 1].to, specimen.file.size() - 2};
      CHECK(is_rejected(without(specimen.file, later)));
      CHECK(is_rejected(without(specimen.file, later), 1));
    }
  }
}

TEST_SUITE_END();

}  // namespace facematch::testing
