#include "../core/image/view.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "drawing.h"

namespace facematch::testing {
namespace {

// Every pixel encodes its position: blue is its column, green its row.
cv::Mat map_of(int width, int height) {
  cv::Mat map(height, width, CV_8UC3);
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      map.at<cv::Vec3b>(y, x) = {static_cast<uint8_t>(x), static_cast<uint8_t>(y), 255};
    }
  }
  return map;
}

// Returns the maximum distance between the position that a pixel encodes and its position by the
// view's transform. Ignores pixels of a border or blended with it.
double largest_error(const View& view) {
  double largest = 0;
  int seen = 0;
  for (int y = 0; y < view.bgr.rows; ++y) {
    for (int x = 0; x < view.bgr.cols; ++x) {
      const cv::Vec3b encoded = view.bgr.at<cv::Vec3b>(y, x);
      if (encoded[2] != 255) continue;
      const Point place = view.to_image.apply({static_cast<float>(x), static_cast<float>(y)});
      const Point expected(encoded[0], encoded[1]);
      largest = std::max(largest, cv::norm(place - expected));
      ++seen;
    }
  }
  REQUIRE(seen > 0);
  return largest;
}

// Returns the absolute difference of two angles, 0 to 180 degrees.
float angle_between(float a, float b) { return std::abs(std::remainder(a - b, 360.0f)); }

void check_moved_box(const Box& box, const Box& expected) {
  CHECK(box.x == doctest::Approx(expected.x));
  CHECK(box.y == doctest::Approx(expected.y));
  CHECK(box.width == doctest::Approx(expected.width));
  CHECK(box.height == doctest::Approx(expected.height));
}

}  // namespace

TEST_SUITE_BEGIN("view");

TEST_CASE("maps every pixel and every box of a rotated view back to its position") {
  const Box box{10, 20, 30, 50};
  // Width and height are swapped, around the same pixels.
  const Box there[] = {box, {80, 10, 50, 30}, {160, 80, 30, 50}, {20, 160, 50, 30}};
  for (const cv::Size size : {cv::Size(200, 150), cv::Size(31, 250), cv::Size(1, 7)}) {
    for (int quarters = 0; quarters < 4; ++quarters) {
      CAPTURE(quarters);
      const View view = rotated(View(map_of(size.width, size.height)), quarters);
      CHECK(view.bgr.cols == (quarters % 2 == 0 ? size.width : size.height));
      CHECK(largest_error(view) < 1e-3);
      CHECK(angle_between(view.roll(), -90 * static_cast<float>(quarters)) < 0.01f);
      const Box seen = moved(box, view.to_image.inverse());
      if (size.width == 200) check_moved_box(seen, there[quarters]);
      check_moved_box(moved(seen, view.to_image), box);
    }
  }
}

TEST_CASE("maps every pixel of a padded view back, and pads the image to the requested share") {
  // In memory, the view is surrounded by a colour that its border must not have.
  cv::Mat larger(300, 400, CV_8UC3, cv::Scalar(255, 0, 254));
  View inner(larger(cv::Rect(100, 80, 160, 120)));
  map_of(160, 120).copyTo(inner.bgr);
  // Changes the mean colour, which the border gets: largest_error() skips pixels with another red.
  inner.bgr(cv::Rect(0, 0, 8, 8)).setTo(cv::Scalar::all(0));
  for (const float share : {0.3f, 0.5f, 0.8f}) {
    const View view = padded(inner, share, 640);
    CHECK(view.bgr.cols == doctest::Approx(160 / share).epsilon(0.02));
    CHECK(view.bgr.rows == doctest::Approx(120 / share).epsilon(0.02));
    CHECK(largest_error(view) < 1e-3);
    const cv::Vec3b border = view.bgr.at<cv::Vec3b>(0, 0);
    CHECK(view.bgr.at<cv::Vec3b>(view.bgr.rows - 1, view.bgr.cols / 2) == border);
    CHECK(border != cv::Vec3b(255, 0, 254));
  }
}

TEST_CASE("shrinks a padded view to the maximum side, and enlarges none") {
  const View inner(map_of(160, 120));
  for (const int max_side : {200, 320, 2048}) {
    const View view = padded(inner, 0.5f, max_side);
    CHECK(view.longer_side() == std::min(max_side, 320));
    CHECK(view.scale() == doctest::Approx(std::min(1.0, max_side / 320.0)));
  }
}

TEST_CASE("covers the image with tiles that overlap, and maps every pixel back") {
  for (const int across : {1, 2, 5}) {
    CAPTURE(across);
    const auto all = tiles(View(map_of(200, 150)), across);
    CHECK(all.size() == static_cast<size_t>(across * across));
    cv::Mat covered(150, 200, CV_8U, cv::Scalar(0));
    for (const View& tile : all) {
      CHECK(largest_error(tile) < 1e-3);
      const Point corner = tile.to_image.apply({0, 0});
      covered(cv::Rect(cvRound(corner.x), cvRound(corner.y), tile.bgr.cols, tile.bgr.rows)) += 1;
    }
    double min = 0, max = 0;
    cv::minMaxLoc(covered, &min, &max);
    CHECK(min == 1);
    CHECK(max == (across == 1 ? 1 : 4));
  }
}

TEST_CASE("maps tiles of a rotated view of a shrunk image back to the image") {
  const View small = shrunk(View(map_of(240, 180)), 120);
  CHECK(small.bgr.cols == 120);
  CHECK(largest_error(small) <= 1);
  for (const View& tile : tiles(rotated(small, 1), 2)) CHECK(largest_error(tile) <= 1);
}

TEST_CASE("neither copies nor enlarges an image that is small enough") {
  const cv::Mat map = map_of(64, 48);
  CHECK(shrunk(View(map), 64).bgr.data == map.data);
  CHECK(shrunk(View(map), 1000).bgr.size() == map.size());
}

TEST_CASE("keeps the centre and the sum of the sides of a rotated box") {
  for (const float degrees : {10.0f, 45.0f, 80.0f, 200.0f}) {
    const Similarity turn = square_crop({50, 50}, 200, degrees, 100);
    const Box box{40, 30, 40, 60};
    const Box there = moved(box, turn);
    // A box has edges, a point is the centre of a pixel.
    const Point half(0.5f, 0.5f);
    CHECK(cv::norm(there.centre() - half - turn.apply(box.centre() - half)) < 1e-3);
    CHECK(there.width + there.height == doctest::Approx((40 + 60) / 2.0));
  }
}

TEST_SUITE_END();

}  // namespace facematch::testing
