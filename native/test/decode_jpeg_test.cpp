#include <doctest/doctest.h>

#include <opencv2/imgproc.hpp>
#include <string>

#include "../core/image/decode.h"
#include "drawing.h"

namespace facematch::testing {
namespace {

// The printed colour of four inks; 255 is full ink.
cv::Mat printed(const cv::Mat& inks) {
  cv::Mat bgr(inks.size(), CV_8UC3);
  for (int y = 0; y < inks.rows; ++y) {
    for (int x = 0; x < inks.cols; ++x) {
      const auto& ink = inks.at<cv::Vec4b>(y, x);
      for (int c = 0; c < 3; ++c) {
        const double light = (255.0 - ink[c]) * (255.0 - ink[3]) / 255.0;
        bgr.at<cv::Vec3b>(y, x)[2 - c] = cv::saturate_cast<uint8_t>(light);
      }
    }
  }
  return bgr;
}

cv::Mat draw_inks(int width, int height) {
  cv::Mat inks(height, width, CV_8UC4);
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      inks.at<cv::Vec4b>(y, x) = {static_cast<uint8_t>(3 * x), static_cast<uint8_t>(4 * y),
                                  static_cast<uint8_t>(2 * (x + y)), static_cast<uint8_t>(40 + x)};
    }
  }
  return inks;
}

cv::Mat inverted(const cv::Mat& inks) { return cv::Scalar::all(255) - inks; }

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

struct ScanFile {
  std::string what;
  ByteVector file;
};

// The complete file is decoded, one that lacks a scan is rejected.
std::vector<ScanFile> scan_files() {
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

// `file` without the bytes of `gone`.
ByteVector without(const ByteVector& file, ScanRange gone) {
  ByteVector rest = file;
  const auto at = [&](size_t i) { return rest.begin() + static_cast<std::ptrdiff_t>(i); };
  rest.erase(at(gone.from), at(gone.to));
  return rest;
}

bool is_rejected(const ByteVector& file, int min_side = 0) {
  return refuses_with(ErrorCode::kImageDecodeFailed, [&] { decode(file, kAnySize, min_side); });
}

}  // namespace

TEST_SUITE_BEGIN("decode_jpeg");

TEST_CASE("colour images are decoded as drawn, in every encoding") {
  struct Case {
    const char* what;
    JpegOptions options;
    double tolerance;
  };
  const Case cases[] = {
      {"baseline", {}, 1.5},
      {"progressive", {.progressive = true}, 1.5},
      {"4:2:0", {.subsample = true}, 2.5},
      {"progressive 4:2:0", {.progressive = true, .subsample = true}, 2.5},
      {"restart markers", {.restart_rows = 1}, 1.5},
  };
  for (const Case& c : cases) {
    for (const cv::Size size : {cv::Size(64, 48), cv::Size(63, 47), cv::Size(17, 90)}) {
      CAPTURE(c.what);
      const cv::Mat drawn = gradient(size.width, size.height);
      const auto image = decode(encode_jpeg(drawn, c.options), kAnySize, 0);
      CHECK(image.format == Format::kJpeg);
      CHECK(image.width == size.width);
      CHECK(image.height == size.height);
      CHECK(image.scale() == 1);
      CHECK(image.orientation == 1);
      CHECK(mean_difference(image.bgr, drawn) < c.tolerance);
    }
  }
}

TEST_CASE("a grey image is decoded into three equal channels") {
  cv::Mat grey, expected;
  cv::cvtColor(gradient(50, 40), grey, cv::COLOR_BGR2GRAY);
  cv::cvtColor(grey, expected, cv::COLOR_GRAY2BGR);
  const auto image = decode(encode_jpeg(grey), kAnySize, 0);
  CHECK(mean_difference(image.bgr, expected) < 1);
  std::vector<cv::Mat> channels;
  cv::split(image.bgr, channels);
  CHECK(largest_difference(channels[0], channels[1]) == 0);
  CHECK(largest_difference(channels[0], channels[2]) == 0);
}

TEST_CASE("CMYK and YCCK are decoded as printed, with Adobe's inverted inks and without") {
  struct Case {
    const char* what;
    J_COLOR_SPACE colours;
    bool adobe;
  };
  const Case cases[] = {
      {"CMYK by Adobe", JCS_CMYK, true},
      {"YCCK by Adobe", JCS_YCCK, true},
      {"plain CMYK", JCS_CMYK, false},
  };
  const cv::Mat inks = draw_inks(60, 50);
  for (const Case& c : cases) {
    CAPTURE(c.what);
    const ByteVector file = encode_jpeg_inks(c.adobe ? inverted(inks) : inks, c.colours, c.adobe);
    CHECK(mean_difference(decode(file, kAnySize, 0).bgr, printed(inks)) < 2.5);
  }
}

TEST_CASE("an image of one pixel is decoded") {
  const cv::Mat drawn(1, 1, CV_8UC3, cv::Scalar(30, 140, 220));
  for (const bool progressive : {false, true}) {
    const auto image = decode(encode_jpeg(drawn, {.progressive = progressive}), kAnySize, 0);
    CHECK(largest_difference(image.bgr, drawn) <= 3);
  }
}

TEST_CASE("a reduced decode has at least the wanted side and reports its scale") {
  const cv::Mat drawn = gradient(400, 240);
  const ByteVector file = encode_jpeg(drawn);
  struct Case {
    int wanted;
    int width;
    int height;
  };
  const Case cases[] = {{0, 400, 240},   {401, 400, 240}, {400, 400, 240},
                        {201, 400, 240}, {200, 200, 120}, {101, 200, 120},
                        {100, 100, 60},  {51, 100, 60},   {1, 100, 60}};
  for (const Case& c : cases) {
    CAPTURE(c.wanted);
    const auto image = decode(file, kAnySize, c.wanted);
    CHECK(image.bgr.size() == cv::Size(c.width, c.height));
    CHECK(image.width == 400);
    CHECK(image.height == 240);
    CHECK(image.scale() == doctest::Approx(c.width / 400.0));
    cv::Mat reduced;
    cv::resize(drawn, reduced, image.bgr.size(), 0, 0, cv::INTER_AREA);
    CHECK(mean_difference(image.bgr, reduced) < 2);
  }
}

TEST_CASE("an eighth is taken where it leaves 750 pixels") {
  for (const int width : {6000, 5999}) {
    const auto image = decode(encode_jpeg(gradient(width, 16)), kAnySize, 480);
    CHECK(image.longer_side() == (width == 6000 ? 750 : 1500));
  }
}

TEST_CASE("bytes after the end of the image are ignored") {
  const cv::Mat drawn = gradient(40, 30);
  ByteVector file = encode_jpeg(drawn);
  file.insert(file.end(), 1000, 0x5A);
  CHECK(mean_difference(decode(file, kAnySize, 0).bgr, drawn) < 1.5);
}

TEST_CASE("a JPEG with all its scans is decoded, in whichever order they come") {
  for (const ScanFile& specimen : scan_files()) {
    CAPTURE(specimen.what);
    REQUIRE(scans_of(specimen.file).size() >= 3);
    CHECK(decode(specimen.file, kAnySize, 0).width == 48);
  }
}

TEST_CASE("a JPEG that ends after some of its scans is rejected, at every scale") {
  for (const ScanFile& specimen : scan_files()) {
    const std::vector<ScanRange> scans = scans_of(specimen.file);
    for (size_t kept = 1; kept < scans.size(); ++kept) {
      CAPTURE(specimen.what);
      CAPTURE(kept);
      const ScanRange later = {scans[kept - 1].to, specimen.file.size() - 2};
      CHECK(is_rejected(without(specimen.file, later)));
      CHECK(is_rejected(without(specimen.file, later), 1));
    }
  }
}

TEST_CASE("a JPEG that lacks one of its scans is rejected, whichever it is") {
  for (const ScanFile& specimen : scan_files()) {
    for (const ScanRange& scan : scans_of(specimen.file)) {
      CAPTURE(specimen.what);
      CAPTURE(scan.from);
      CHECK(is_rejected(without(specimen.file, scan)));
    }
  }
}

TEST_SUITE_END();

}  // namespace facematch::testing
