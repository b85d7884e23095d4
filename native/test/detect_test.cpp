#include "../core/find/detect.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "drawing.h"
#include "support.h"

namespace facematch::testing {

TEST_SUITE_BEGIN("detect");

TEST_CASE("computes the intersection over union of boxes in every position") {
  struct Case {
    const char* what;
    Box a, b;
    double expected;
  };
  const Case cases[] = {
      {"the same box", {10, 10, 20, 20}, {10, 10, 20, 20}, 1},
      {"apart", {0, 0, 10, 10}, {50, 50, 10, 10}, 0},
      {"touching edges", {0, 0, 10, 10}, {10, 0, 10, 10}, 0},
      {"half shifted", {0, 0, 10, 10}, {5, 0, 10, 10}, 1.0 / 3},
      {"a quarter inside", {0, 0, 20, 20}, {5, 5, 10, 10}, 0.25},
      {"negative coordinates", {-10, -10, 20, 20}, {0, 0, 20, 20}, 100.0 / 700},
      {"an empty box", {5, 5, 0, 0}, {0, 0, 10, 10}, 0},
  };
  for (const Case& c : cases) {
    CAPTURE(c.what);
    CHECK(intersection_over_union(c.a, c.b) == doctest::Approx(c.expected));
    CHECK(intersection_over_union(c.b, c.a) == doctest::Approx(c.expected));
  }
}

TEST_CASE("keeps only the best of overlapping boxes, best first") {
  struct Case {
    const char* what;
    float iou;
    std::vector<Detection> found;
    std::vector<size_t> kept;
  };
  const Box middle{5, 5, 10, 10}, around{0, 0, 20, 20};  // intersection over union: 0.25
  const Case cases[] = {
      {"two pairs",
       0.4f,
       {{{0, 0, 10, 10}, 0.7f},
        {{100, 0, 10, 10}, 0.8f},
        {{1, 0, 10, 10}, 0.9f},
        {{101, 1, 10, 10}, 0.6f}},
       {2, 1}},
      {"overlap at the limit", 0.25f, {{around, 0.9f}, {middle, 0.8f}}, {0, 1}},
      {"overlap above the limit", 0.24f, {{around, 0.9f}, {middle, 0.8f}}, {0}},
      {"a suppressed box does not suppress the third",
       0.4f,
       {{{0, 0, 10, 10}, 0.9f}, {{4, 0, 10, 10}, 0.8f}, {{8, 0, 10, 10}, 0.7f}},
       {0, 2}},
      {"equal scores keep their order", 0.4f, {{middle, 0.5f}, {{6, 5, 10, 10}, 0.5f}}, {0}},
      {"nothing", 0.4f, {}, {}},
  };
  for (const Case& c : cases) {
    CAPTURE(c.what);
    auto kept = c.found;
    nms(kept, c.iou);
    REQUIRE(kept.size() == c.kept.size());
    for (size_t i = 0; i < kept.size(); ++i) CHECK(kept[i].box.x == c.found[c.kept[i]].box.x);
  }
}

TEST_CASE("compares only the best 512 of many candidates") {
  std::vector<Detection> many;
  for (int i = 0; i < 5000; ++i) {
    many.push_back({{static_cast<float>(20 * i), 0, 10, 10}, static_cast<float>(i % 1000) / 1000});
  }
  nms(many, 0.4f);
  CHECK(many.size() == 512);
  CHECK(many.front().score == 0.999f);
  CHECK(many.back().score >= 0.89f);
}

TEST_CASE("makes the net's input no larger than the shape of the image needs") {
  const Detector& detector = default_engine().detector;
  struct Case {
    cv::Size image, frame;
  };
  const Case cases[] = {
      {{640, 480}, {320, 240}},   {{320, 240}, {320, 240}},   {{250, 250}, {240, 240}},
      {{3000, 4000}, {184, 240}}, {{1080, 1920}, {136, 240}}, {{1920, 1080}, {320, 184}},
      {{4000, 1}, {320, 64}},     {{1, 4000}, {64, 240}},     {{1, 1}, {240, 240}}};
  for (const Case& c : cases) {
    CAPTURE(c.image);
    CHECK(detector.frame_for(c.image) == c.frame);
  }
}

TEST_CASE("accepts a face with a score of 0 to 1, a plausible size, and its centre in the image") {
  const cv::Size image(200, 100);
  struct Case {
    const char* what;
    Box box;
    float score;
    bool expected;
  };
  const Case cases[] = {
      {"an ordinary one", {50, 20, 40, 50}, 0.9f, true},
      {"score 1", {50, 20, 40, 50}, 1, true},
      {"score above 1", {50, 20, 40, 50}, 1.001f, false},
      {"score below 0", {50, 20, 40, 50}, -0.001f, false},
      {"cut by the left edge", {-19, 20, 40, 50}, 0.9f, true},
      {"more than half out at the left", {-21, 20, 40, 50}, 0.9f, false},
      {"more than half out at the bottom", {50, 76, 40, 50}, 0.9f, false},
      {"the minimum size", {50, 20, 4, 4}, 0.9f, true},
      {"too narrow", {50, 20, 3.9f, 50}, 0.9f, false},
      {"too flat", {50, 20, 40, 3.9f}, 0.9f, false},
      {"inside out", {90, 70, -40, -50}, 0.9f, false},
      {"twice the image, a close-up", {-100, -150, 400, 400}, 0.9f, true},
      {"more than twice the image", {-101, -150, 402, 400}, 0.9f, false},
  };
  for (const Case& c : cases) {
    CAPTURE(c.what);
    CHECK(is_possible({c.box, c.score}, image) == c.expected);
  }
}

TEST_SUITE_END();

}  // namespace facematch::testing
