#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "../core/image/geometry.h"
#include "drawing.h"

namespace facematch::testing {

TEST_SUITE_BEGIN("warp");

TEST_CASE("the identity changes no pixel") {
  const cv::Mat drawn = gradient(112, 112);
  cv::Mat out;
  warp(drawn, {}, 112, out);
  CHECK(largest_difference(out, drawn) == 0);
}

TEST_CASE("a shift by whole pixels leaves pixels unchanged, from any corner of a larger picture") {
  const cv::Mat drawn = gradient(300, 200);
  for (const cv::Point at : {cv::Point(0, 0), cv::Point(57, 31), cv::Point(188, 88)}) {
    cv::Mat out;
    warp(drawn, {1, 0, static_cast<float>(-at.x), static_cast<float>(-at.y)}, 112, out);
    CHECK(largest_difference(out, drawn(cv::Rect(at.x, at.y, 112, 112)).clone()) == 0);
  }
}

TEST_CASE("outside the picture it is black") {
  const cv::Mat white(50, 50, CV_8UC3, cv::Scalar::all(255));
  cv::Mat out;
  warp(white, {1, 0, 30, 30}, 112, out);
  CHECK(out.at<cv::Vec3b>(10, 10) == cv::Vec3b(0, 0, 0));
  CHECK(out.at<cv::Vec3b>(40, 40) == cv::Vec3b(255, 255, 255));
  CHECK(out.at<cv::Vec3b>(100, 100) == cv::Vec3b(0, 0, 0));
}

TEST_CASE("a crop outside the picture is black, even into a used buffer") {
  const cv::Mat white(50, 50, CV_8UC3, cv::Scalar::all(255));
  for (const Similarity& t : {Similarity{1, 0, 500, 500}, Similarity{1, 0, -500, 0},
                              Similarity{0.001f, 0, 200, 0}, Similarity{5, 0, -3000, -3000}}) {
    cv::Mat out(112, 112, CV_8UC3, cv::Scalar::all(77));
    warp(white, t, 112, out);
    CHECK(out.size() == cv::Size(112, 112));
    CHECK(cv::norm(out) == 0);
  }
}

TEST_CASE("shrinking averages instead of skipping pixels") {
  // A chessboard of single pixels: sampled it flickers between 0 and 255, averaged it is grey.
  cv::Mat board(800, 800, CV_8UC3);
  for (int y = 0; y < board.rows; ++y) {
    for (int x = 0; x < board.cols; ++x) {
      board.at<cv::Vec3b>(y, x) = cv::Vec3b::all((x + y) % 2 == 0 ? 0 : 255);
    }
  }
  for (const float scale : {0.5f, 0.3f, 0.25f, 0.15f}) {
    cv::Mat out;
    warp(board, {scale, 0, -20, -20}, 64, out);
    CAPTURE(scale);
    // A block with odd sides has one pixel more of one colour than of the other.
    CHECK(largest_difference(out, cv::Mat(64, 64, CV_8UC3, cv::Scalar::all(128))) <= 16);
  }
}

TEST_CASE("the edge of a crop inside the picture is not blended with the outside colour") {
  const cv::Mat white(2000, 2000, CV_8UC3, cv::Scalar::all(255));
  for (const float scale : {1.0f, 0.5f, 0.34f, 0.2f, 0.07f}) {
    for (const float roll : {0.0f, 0.3f, 0.7f}) {
      const float a = scale * std::cos(roll);
      const float b = scale * std::sin(roll);
      cv::Mat out;
      warp(white, {a, b, 32.3f - 1000 * a + 1000 * b, 32.7f - 1000 * b - 1000 * a}, 64, out);
      CAPTURE(scale);
      CAPTURE(roll);
      CHECK(largest_difference(out, cv::Mat(64, 64, CV_8UC3, cv::Scalar::all(255))) == 0);
    }
  }
}

TEST_CASE("shrinking keeps every point where the transform says") {
  const cv::Mat drawn = gradient(1000, 700);
  for (const float scale : {0.5f, 0.3f, 0.2f, 0.101f}) {
    for (const float roll : {0.0f, 0.2f, -0.5f}) {
      const Similarity t = {scale * std::cos(roll), scale * std::sin(roll), 56 - 500 * scale,
                            56 - 350 * scale};
      cv::Mat out;
      warp(drawn, t, 112, out);
      const Similarity back = t.inverse();
      for (const cv::Point at : {cv::Point(20, 30), cv::Point(56, 56), cv::Point(90, 70)}) {
        const Point source = back.apply(at);
        if (source.x < 30 || source.y < 30 || source.x > 970 || source.y > 670) continue;
        const auto& seen = out.at<cv::Vec3b>(at);
        CAPTURE(scale);
        CHECK(std::abs(seen[0] - (20 + 200 * source.x / 999)) < 1.6);
        CHECK(std::abs(seen[1] - (20 + 200 * source.y / 699)) < 1.6);
      }
    }
  }
}

TEST_CASE("pictures beyond 16-bit coordinates are warped like others") {
  for (const bool wide : {true, false}) {
    cv::Mat strip =
        wide ? cv::Mat::zeros(120, 40000, CV_8UC3) : cv::Mat::zeros(40000, 120, CV_8UC3);
    const cv::Rect spot = wide ? cv::Rect(39050, 50, 20, 20) : cv::Rect(50, 39050, 20, 20);
    strip(spot).setTo(cv::Scalar::all(255));
    const Similarity t = {1, 0, wide ? -39000.0f : 0.0f, wide ? 0.0f : -39000.0f};
    cv::Mat out;
    warp(strip, t, 112, out);
    CHECK(out.at<cv::Vec3b>(60, 60) == cv::Vec3b(255, 255, 255));
    CHECK(out.at<cv::Vec3b>(30, 30) == cv::Vec3b(0, 0, 0));
  }
}

TEST_CASE("a picture a hundred thousand times as wide as high is warped like others") {
  // White with one black stretch: it must come out where the transform says.
  cv::Mat strip(1, 200'000, CV_8UC3, cv::Scalar::all(255));
  strip.colRange(100'000, 101'000).setTo(cv::Scalar::all(0));
  const float scale = 64.0f / 200'000;
  cv::Mat out;
  warp(strip, {.a = scale, .b = 0, .tx = 0, .ty = 20}, 64, out, Outside::kMean);
  int darkest = 0;
  for (int x = 0; x < 64; ++x) {
    if (out.at<cv::Vec3b>(20, x)[0] < out.at<cv::Vec3b>(20, darkest)[0]) darkest = x;
  }
  CHECK(std::abs(darkest - 32) <= 1);
}

TEST_CASE("a transform that is not finite gives a black picture") {
  const cv::Mat white(50, 50, CV_8UC3, cv::Scalar::all(255));
  const float nothing = std::nanf("");
  const float infinite = std::numeric_limits<float>::infinity();
  for (const Similarity& t :
       {Similarity{nothing, 0, 0, 0}, Similarity{1, nothing, 0, 0}, Similarity{1, 0, nothing, 0},
        Similarity{1, 0, 0, infinite}, Similarity{0, 0, 0, 0}, Similarity{infinite, 0, 0, 0}}) {
    cv::Mat out;
    warp(white, t, 64, out);
    CHECK(out.size() == cv::Size(64, 64));
    CHECK(cv::norm(out) == 0);
  }
}

TEST_CASE("extreme transforms of tiny pictures do not crash") {
  const float values[] = {1e-6f, 1e-3f, 0.5f, 1, 100, 1e6f};
  for (const cv::Size size : {cv::Size(1, 1), cv::Size(1, 500), cv::Size(500, 1), cv::Size(3, 2)}) {
    const cv::Mat drawn = gradient(size.width, size.height);
    for (const float scale : values) {
      for (const float shift : {-1e6f, 0.0f, 50.0f, 1e9f}) {
        cv::Mat out;
        warp(drawn, {scale, 0, shift, shift}, 64, out);
        warp(drawn, {0, scale, shift, shift}, 64, out);
        CHECK(out.size() == cv::Size(64, 64));
      }
    }
  }
  cv::Mat out;
  const float nan = std::nanf("");
  warp(gradient(9, 9), {nan, nan, nan, nan}, 64, out);
  CHECK(cv::norm(out) == 0);
}

TEST_SUITE_END();

}  // namespace facematch::testing
