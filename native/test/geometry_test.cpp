#include "../core/image/geometry.h"

#include <doctest/doctest.h>

#include <cmath>
#include <numbers>

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

TEST_CASE("a known transform is recovered from five points") {
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
        for (size_t i = 0; i < 5; ++i) CHECK(distance(found.apply(kFive[i]), moved[i]) < 0.01);
      }
    }
  }
}

TEST_CASE("no nearby transform fits noisy points better") {
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

TEST_CASE("a mirror image is fitted by a rotation, never by a reflection") {
  std::array<Point, 5> mirrored;
  for (size_t i = 0; i < 5; ++i) mirrored[i] = {112 - kFive[i].x, kFive[i].y};
  const Similarity fit = fit_similarity(kFive, mirrored);
  CHECK(is_finite(fit));
  // The right eye stays on its side.
  CHECK(fit.a > 0);
}

TEST_CASE("degenerate points give a finite transform") {
  const Point p(10, 20);
  const std::array<Point, 5> one_spot = {p, p, p, p, p};
  const std::array<Point, 5> line = {Point(0, 0), Point(1, 1), Point(2, 2), Point(3, 3),
                                     Point(4, 4)};
  // Horizontal against vertical, so that dot and cross product are both 0.
  const std::array<Point, 5> cross = {Point(-1, 0), Point(1, 0), Point(0, 0), Point(0, -1),
                                      Point(0, 1)};
  const std::array<Point, 5> balanced = {Point(-1, 0), Point(1, 0), Point(0, 0), Point(0, 1),
                                         Point(0, -1)};
  const std::array<Point, 5> far = {Point(1e6f, 1e6f), Point(1e6f, 1e6f), Point(1e6f, 1e6f),
                                    Point(1e6f, 1e6f), Point(1e6f, 1e6f)};
  CHECK(is_finite(fit_similarity(one_spot, kFive)));
  CHECK(is_finite(fit_similarity(kFive, one_spot)));
  CHECK(is_finite(fit_similarity(one_spot, one_spot)));
  CHECK(is_finite(fit_similarity(line, kFive)));
  CHECK(is_finite(fit_similarity(cross, balanced)));
  CHECK(is_finite(fit_similarity(far, kFive)));
}

TEST_CASE("a transform and its inverse cancel out") {
  for (const float degrees : {-100.0f, 0.0f, 33.0f}) {
    const Similarity t = similarity(degrees, 0.3f, 40, -70);
    for (const Point p : kFive) {
      CHECK(distance(t.inverse().apply(t.apply(p)), p) < 1e-3);
      CHECK(distance(t.apply(t.inverse().apply(p)), p) < 1e-3);
    }
  }
}

TEST_CASE("a square crop centres the box, scales its side to the size and removes the roll") {
  const Point centre(200, 100);
  for (const float roll : {-40.0f, 0.0f, 25.0f}) {
    const Similarity crop = square_crop(centre, 80, roll, 64);
    CAPTURE(roll);
    CHECK(distance(crop.apply(centre), {32, 32}) < 1e-3);
    CHECK(crop.scale() == doctest::Approx(64.0 / 80));
    // A line at that angle in the picture is horizontal in the crop.
    const float radians = roll * std::numbers::pi_v<float> / 180;
    const Point along = centre + Point(std::cos(radians), std::sin(radians)) * 40.0f;
    CHECK(distance(crop.apply(along), {64, 32}) < 1e-3);
  }
}

TEST_SUITE_END();

}  // namespace facematch::testing
