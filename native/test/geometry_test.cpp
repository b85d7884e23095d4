#include "../core/image/geometry.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "drawing.h"
#include "support.h"

namespace facematch::testing {
namespace {

Similarity similarity(float degrees, float scale, float tx, float ty) {
  const float radians = degrees * std::numbers::pi_v<float> / 180;
  return {scale * std::cos(radians), scale * std::sin(radians), tx, ty};
}

double distance(Point a, Point b) { return cv::norm(a - b); }

const std::array<Point, 5> kFive = {Point(38, 52), Point(74, 51), Point(56, 72), Point(42, 92),
                                    Point(71, 92)};

bool is_finite(const Similarity& t) {
  return std::isfinite(t.a) && std::isfinite(t.b) && std::isfinite(t.tx) && std::isfinite(t.ty) &&
         t.scale() > 0;
}

}  // namespace

TEST_SUITE_BEGIN("geometry");

TEST_CASE("recovers a known transform from five points, and inverts it") {
  for (const float degrees : {-179.0f, -90.0f, -30.0f, 0.0f, 1.0f, 45.0f, 120.0f, 180.0f}) {
    for (const float scale : {0.05f, 1.0f, 7.5f}) {
      for (const Point shift : {Point(0, 0), Point(-300, 17), Point(5000, 4000)}) {
        const Similarity known = similarity(degrees, scale, shift.x, shift.y);
        std::array<Point, 5> moved;
        for (size_t i = 0; i < 5; ++i) moved[i] = known.apply(kFive[i]);
        const Similarity found = fit_similarity(kFive, moved);
        CAPTURE(degrees);
        CAPTURE(scale);
        CHECK(found.scale() == doctest::Approx(scale).epsilon(1e-3));
        CHECK(std::remainder(found.degrees() - degrees, 360) == doctest::Approx(0).epsilon(0.05));
        for (size_t i = 0; i < 5; ++i) {
          CHECK(distance(found.apply(kFive[i]), moved[i]) < 0.01);
          CHECK(distance(known.inverse().apply(moved[i]), kFive[i]) < 0.1);
        }
      }
    }
  }
}

TEST_CASE("fits noisy points better than every nearby transform") {
  Random random(7);
  std::array<Point, 5> noisy;
  for (size_t i = 0; i < 5; ++i) {
    noisy[i] = similarity(20, 2, 10, -5).apply(kFive[i]) +
               Point(random.between(-3, 3), random.between(-3, 3));
  }
  const auto cost = [&](const Similarity& t) {
    double sum = 0;
    for (size_t i = 0; i < 5; ++i) sum += std::pow(distance(t.apply(kFive[i]), noisy[i]), 2);
    return sum;
  };
  const Similarity best = fit_similarity(kFive, noisy);
  for (const float step : {-0.01f, 0.01f}) {
    CHECK(cost(best) < cost({best.a + step, best.b, best.tx, best.ty}));
    CHECK(cost(best) < cost({best.a, best.b + step, best.tx, best.ty}));
    CHECK(cost(best) < cost({best.a, best.b, best.tx + 10 * step, best.ty}));
    CHECK(cost(best) < cost({best.a, best.b, best.tx, best.ty + 10 * step}));
  }
}

TEST_CASE("returns a finite transform for degenerate points") {
  using Five = std::array<Point, 5>;
  const auto same = [](Point p) { return Five{p, p, p, p, p}; };
  const Five line = {Point(0, 0), Point(1, 1), Point(2, 2), Point(3, 3), Point(4, 4)};
  // The sums of the dot and of the cross products of these two are both 0.
  const Five cross = {Point(-1, 0), Point(1, 0), Point(0, 0), Point(0, -1), Point(0, 1)};
  const Five balanced = {Point(-1, 0), Point(1, 0), Point(0, 0), Point(0, 1), Point(0, -1)};
  const std::pair<Five, Five> cases[] = {
      {same({10, 20}), kFive}, {kFive, same({10, 20})}, {same({10, 20}), same({10, 20})},
      {line, kFive},           {cross, balanced},       {same({1e6f, 1e6f}), kFive}};
  for (const auto& [from, to] : cases) CHECK(is_finite(fit_similarity(from, to)));
}

TEST_CASE("centres the box in a square crop, scales its side to the size and removes the roll") {
  const Point centre(200, 100);
  for (const float roll : {-40.0f, 0.0f, 25.0f}) {
    const Similarity crop = square_crop(centre, 80, roll, 64);
    CAPTURE(roll);
    CHECK(distance(crop.apply(centre), {32, 32}) < 1e-3);
    CHECK(crop.scale() == doctest::Approx(64.0 / 80));
    // A line at that angle in the image must be horizontal in the crop.
    const float radians = roll * std::numbers::pi_v<float> / 180;
    const Point along = centre + Point(std::cos(radians), std::sin(radians)) * 40.0f;
    CHECK(distance(crop.apply(along), {64, 32}) < 1e-3);
  }
}

TEST_CASE("leaves pixels unchanged on a shift by whole pixels, from any corner of a larger image") {
  const cv::Mat drawn = gradient(300, 200);
  for (const cv::Point at : {cv::Point(0, 0), cv::Point(57, 31), cv::Point(188, 88)}) {
    cv::Mat out;
    warp(drawn, {1, 0, static_cast<float>(-at.x), static_cast<float>(-at.y)}, 112, out);
    CHECK(largest_difference(out, drawn(cv::Rect(at.x, at.y, 112, 112))) == 0);
  }
}

TEST_CASE(
    "draws black outside the image, even into a used buffer, and for a transform that is not "
    "finite") {
  const cv::Mat white(50, 50, CV_8UC3, cv::Scalar::all(255));
  cv::Mat out;
  warp(white, {1, 0, 30, 30}, 112, out);
  CHECK(out.at<cv::Vec3b>(10, 10) == cv::Vec3b(0, 0, 0));
  CHECK(out.at<cv::Vec3b>(40, 40) == cv::Vec3b(255, 255, 255));
  CHECK(out.at<cv::Vec3b>(100, 100) == cv::Vec3b(0, 0, 0));
  const float nothing = std::nanf("");
  const float infinite = std::numeric_limits<float>::infinity();
  for (const Similarity& t :
       {Similarity{1, 0, 500, 500}, Similarity{1, 0, -500, 0}, Similarity{0.001f, 0, 200, 0},
        Similarity{5, 0, -3000, -3000}, Similarity{nothing, 0, 0, 0}, Similarity{1, nothing, 0, 0},
        Similarity{1, 0, nothing, 0}, Similarity{1, 0, 0, infinite}, Similarity{0, 0, 0, 0},
        Similarity{infinite, 0, 0, 0}, Similarity{nothing, nothing, nothing, nothing}}) {
    cv::Mat used(112, 112, CV_8UC3, cv::Scalar::all(77));
    warp(white, t, 112, used);
    CHECK(used.size() == cv::Size(112, 112));
    CHECK(cv::norm(used) == 0);
  }
}

TEST_CASE("averages pixels instead of skipping them when it shrinks") {
  // A chessboard of single pixels: its average is grey, while samples are 0 or 255.
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
    // A block with odd sides has one more pixel of one colour than of the other.
    CHECK(largest_difference(out, cv::Mat(64, 64, CV_8UC3, cv::Scalar::all(128))) <= 16);
  }
}

TEST_CASE("does not blend the edge of a crop inside the image with the outside colour") {
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

TEST_CASE("moves every point as the transform defines when it shrinks") {
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

TEST_CASE("warps images beyond 16-bit coordinates like others") {
  for (const bool wide : {true, false}) {
    cv::Mat strip = cv::Mat::zeros(120, 40000, CV_8UC3);
    strip(cv::Rect(39050, 50, 20, 20)).setTo(cv::Scalar::all(255));
    if (!wide) strip = strip.t();
    const Similarity t = {1, 0, wide ? -39000.0f : 0.0f, wide ? 0.0f : -39000.0f};
    cv::Mat out;
    warp(strip, t, 112, out);
    CHECK(out.at<cv::Vec3b>(60, 60) == cv::Vec3b(255, 255, 255));
    CHECK(out.at<cv::Vec3b>(30, 30) == cv::Vec3b(0, 0, 0));
  }
}

TEST_CASE("warps an image 200,000 times as wide as high like others") {
  // A black rectangle on white must appear where the transform places it.
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

TEST_CASE("returns an image of the requested size for extreme transforms of tiny images") {
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
}

TEST_SUITE_END();

}  // namespace facematch::testing
