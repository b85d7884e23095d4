// JPEGs of several scans: the complete file is decoded, one that lacks a scan is rejected.
#include <doctest/doctest.h>

#include <opencv2/imgproc.hpp>
#include <string>

#include "../core/image/decode.h"
#include "drawing.h"

namespace facematch::testing {
namespace {

// A scan of one component: coefficients `from` to `to`, bits `high` to `low`.
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

std::vector<jpeg_scan_info> whole_bands() {
  return {
      scan(0, 0, 0, 0, 0),  scan(1, 0, 0, 0, 0),   scan(2, 0, 0, 0, 0),  scan(0, 1, 9, 0, 0),
      scan(1, 1, 63, 0, 0), scan(0, 10, 63, 0, 0), scan(2, 1, 63, 0, 0),
  };
}

std::vector<jpeg_scan_info> one_by_one() {
  return {scan(0, 0, 63, 0, 0), scan(1, 0, 63, 0, 0), scan(2, 0, 63, 0, 0)};
}

struct Specimen {
  std::string what;
  ByteVector file;
};

std::vector<Specimen> specimens() {
  const cv::Mat drawn = grain(48, 40, CV_8UC3);
  cv::Mat grey;
  cv::cvtColor(drawn, grey, cv::COLOR_BGR2GRAY);
  const cv::Mat inks = grain(48, 40, CV_8UC4);
  return {
      {"libjpeg's progression", encode_jpeg(drawn, {.progressive = true, .subsample = true})},
      {"with restart markers", encode_jpeg(drawn, {.progressive = true, .restart_rows = 1})},
      {"grey", encode_jpeg(grey, {.progressive = true})},
      {"four inks", encode_jpeg_inks(inks, JCS_YCCK, true, true)},
      {"luma first", encode_jpeg(drawn, {.scans = luma_first()})},
      {"whole bands", encode_jpeg(drawn, {.scans = whole_bands()})},
      {"sequential, a component at a time", encode_jpeg(drawn, {.scans = one_by_one()})},
  };
}

// From the SOS marker to the next marker that is not a restart.
struct Range {
  size_t from;
  size_t to;
};

std::vector<Range> scans_of(const ByteVector& file) {
  std::vector<Range> scans;
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

// `file` without the bytes of `gone`.
ByteVector without(const ByteVector& file, Range gone) {
  ByteVector rest = file;
  const auto at = [&](size_t i) { return rest.begin() + static_cast<std::ptrdiff_t>(i); };
  rest.erase(at(gone.from), at(gone.to));
  return rest;
}

bool is_rejected(const ByteVector& file, int min_side = 0) {
  return refuses_with(ErrorCode::kImageDecodeFailed, [&] { decode(file, kAnySize, min_side); });
}

}  // namespace

TEST_SUITE_BEGIN("scans");

TEST_CASE("a JPEG with all its scans is decoded, in whichever order they come") {
  for (const Specimen& specimen : specimens()) {
    CAPTURE(specimen.what);
    REQUIRE(scans_of(specimen.file).size() >= 3);
    CHECK(decode(specimen.file, kAnySize, 0).width == 48);
  }
}

TEST_CASE("a JPEG that ends after some of its scans is rejected, at every scale") {
  for (const Specimen& specimen : specimens()) {
    const std::vector<Range> scans = scans_of(specimen.file);
    for (size_t kept = 1; kept < scans.size(); ++kept) {
      CAPTURE(specimen.what);
      CAPTURE(kept);
      const Range later = {scans[kept - 1].to, specimen.file.size() - 2};
      CHECK(is_rejected(without(specimen.file, later)));
      CHECK(is_rejected(without(specimen.file, later), 1));
    }
  }
}

TEST_CASE("a JPEG that lacks one of its scans is rejected, whichever it is") {
  for (const Specimen& specimen : specimens()) {
    for (const Range& scan : scans_of(specimen.file)) {
      CAPTURE(specimen.what);
      CAPTURE(scan.from);
      CHECK(is_rejected(without(specimen.file, scan)));
    }
  }
}

TEST_SUITE_END();

}  // namespace facematch::testing
