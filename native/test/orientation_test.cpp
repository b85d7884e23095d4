#include <doctest/doctest.h>

#include <opencv2/imgproc.hpp>

#include "../core/image/decode.h"
#include "drawing.h"
#include "exif_block.h"

namespace facematch::testing {
namespace {

constexpr int kWidth = 45;  // of the upright picture
constexpr int kHeight = 31;

// EXIF 2.32, 4.6.4: which side of the upright picture the stored picture's row 0 and column 0 are.
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

// Distance of a pixel of the upright picture from one of its sides.
int distance(Side side, int x, int y) {
  switch (side) {
    case Side::kTop:
      return y;
    case Side::kBottom:
      return kHeight - 1 - y;
    case Side::kLeft:
      return x;
    default:
      return kWidth - 1 - x;
  }
}

// The picture as a camera in that orientation stores it.
cv::Mat stored(const cv::Mat& upright, const Orientation& orientation) {
  cv::Mat raw = orientation.value >= 5 ? cv::Mat(kWidth, kHeight, CV_8UC3)
                                       : cv::Mat(kHeight, kWidth, CV_8UC3);
  for (int y = 0; y < kHeight; ++y) {
    for (int x = 0; x < kWidth; ++x) {
      raw.at<cv::Vec3b>(distance(orientation.row0, x, y), distance(orientation.column0, x, y)) =
          upright.at<cv::Vec3b>(y, x);
    }
  }
  return raw;
}

void check_upright(const Image& image, const Orientation& orientation, const cv::Mat& upright,
                   double tolerance) {
  CAPTURE(orientation.value);
  CHECK(image.orientation == orientation.value);
  CHECK(image.width == kWidth);
  CHECK(image.height == kHeight);
  CHECK(mean_difference(image.bgr, upright) <= tolerance);
}

}  // namespace

TEST_SUITE_BEGIN("orientation");

TEST_CASE("a JPEG is rotated upright from every orientation") {
  const cv::Mat upright = gradient(kWidth, kHeight);
  for (const Orientation& orientation : kOrientations) {
    const ByteVector app1 =
        ExifBlock{.orientation = orientation.value, .jpeg_prefix = true}.bytes();
    const Image image =
        decode(encode_jpeg(stored(upright, orientation), {.app1 = app1}), kAnySize, 0);
    check_upright(image, orientation, upright, 1.5);
  }
}

TEST_CASE("a PNG is rotated upright from every orientation") {
  const cv::Mat upright = gradient(kWidth, kHeight);
  for (const Orientation& orientation : kOrientations) {
    const cv::Mat raw = stored(upright, orientation);
    std::vector<uint8_t> rows;
    for (int y = 0; y < raw.rows; ++y) {
      for (int x = 0; x < raw.cols; ++x) {
        const auto& pixel = raw.at<cv::Vec3b>(y, x);
        rows.insert(rows.end(), {pixel[2], pixel[1], pixel[0]});
      }
    }
    const PngOptions options = {.width = raw.cols,
                                .height = raw.rows,
                                .exif = ExifBlock{.orientation = orientation.value}.bytes()};
    check_upright(decode(encode_png(rows, options), kAnySize, 0), orientation, upright, 0);
  }
}

TEST_CASE("a WebP is rotated upright from every orientation, with JPEG's prefix or without") {
  const cv::Mat upright = gradient(kWidth, kHeight);
  for (const Orientation& orientation : kOrientations) {
    for (const bool prefix : {false, true}) {
      const ByteVector exif =
          ExifBlock{.orientation = orientation.value, .jpeg_prefix = prefix}.bytes();
      check_upright(decode(encode_webp(stored(upright, orientation), {.exif = exif}), kAnySize, 0),
                    orientation, upright, 0);
    }
  }
}

TEST_CASE("a reduced decode is rotated too, and reports the size of the full picture") {
  const cv::Mat wide = gradient(320, 160);
  const ByteVector app1 = ExifBlock{.orientation = 6, .jpeg_prefix = true}.bytes();
  const Image image = decode(encode_jpeg(wide, {.app1 = app1}), kAnySize, 80);
  CHECK(image.bgr.size() == cv::Size(40, 80));
  CHECK(image.width == 160);
  CHECK(image.height == 320);
  CHECK(image.scale() == doctest::Approx(0.25));
}

TEST_CASE("pixels of a reduced decode lie where they were, whatever the size and the orientation") {
  // libjpeg rounds the reduced size up: with these sizes up to seven eighths of a pixel lie outside
  // the picture, on a side that the orientation chooses.
  for (const cv::Size size : {cv::Size(401, 203), cv::Size(403, 206), cv::Size(407, 200)}) {
    // A dark spot on white, away from the middle.
    cv::Mat drawn(size, CV_8UC3, cv::Scalar::all(255));
    const cv::Point spot(size.width * 4 / 5, size.height * 3 / 4);
    cv::circle(drawn, spot, 12, cv::Scalar::all(0), cv::FILLED);
    for (int orientation = 1; orientation <= 8; ++orientation) {
      const ByteVector app1 =
          ExifBlock{.orientation = static_cast<uint16_t>(orientation), .jpeg_prefix = true}.bytes();
      const ByteVector file = encode_jpeg(drawn, {.app1 = app1});
      const auto middle = [](const Image& image) {
        cv::Mat grey;
        cv::cvtColor(image.bgr, grey, cv::COLOR_BGR2GRAY);
        const cv::Moments moments = cv::moments(255 - grey);
        return image.to_picture.apply({static_cast<float>(moments.m10 / moments.m00),
                                       static_cast<float>(moments.m01 / moments.m00)});
      };
      const Point full = middle(decode(file, kAnySize, 0));
      for (const int wanted : {200, 100}) {
        CAPTURE(size.width);
        CAPTURE(orientation);
        CAPTURE(wanted);
        const Image reduced = decode(file, kAnySize, wanted);
        CHECK(reduced.scale() == doctest::Approx(wanted / 400.0));
        CHECK(cv::norm(middle(reduced) - full) < 0.4);
      }
    }
  }
}

TEST_CASE("an APP1 marker that is not EXIF or is damaged does not rotate the picture") {
  const ByteVector xmp = {'h', 't', 't', 'p', ':', '/', '/', 'n', 's', 0};
  const ByteVector cut = {'E', 'x', 'i', 'f', 0, 0, 'I', 'I'};
  const ByteVector tiny = {'E', 'x', 'i', 'f'};
  for (const ByteVector& app1 : {xmp, cut, tiny}) {
    const Image image = decode(encode_jpeg(gradient(kWidth, kHeight), {.app1 = app1}), kAnySize, 0);
    CHECK(image.orientation == 1);
    CHECK(image.width == kWidth);
  }
}

TEST_SUITE_END();

}  // namespace facematch::testing
