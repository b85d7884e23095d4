#include "../core/find/detection_passes.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <opencv2/imgproc.hpp>

#include "../core/find/same_face.h"
#include "../core/image/decode.h"
#include "drawing.h"
#include "support.h"

namespace facematch::testing {
namespace {

// A finder with its image.
struct Search {
  AnalyseOptions options = options_of();
  Image image;
  Finder finder;

  explicit Search(const cv::Mat& bgr, const AnalyseOptions& chosen = options_of(),
                  const Budget& budget = {})
      : options(chosen), image(bgr, budget), finder(default_engine(), image, options) {}

  std::vector<Detection> detect() { return default_engine().detector.detect(image.whole(), 0.7f); }

  // Runs the passes after the first, until one finds a face.
  std::vector<FoundFace> fall_back(std::vector<FoundFace> faces = {}) {
    StageTimings timings;
    for (const DetectionPass pass : detection_passes(true).subspan(1)) {
      run_pass(pass, finder, faces, timings);
      if (ends_search(pass, faces)) break;
    }
    return faces;
  }
};

// Returns the box of the face in a portrait() of this size.
Box middle_of(int size) {
  const float side = static_cast<float>(size) / 2.5f;
  const float start = (static_cast<float>(size) - side) / 2;
  return {start, start, side, side};
}

}  // namespace

TEST_SUITE_BEGIN("detection_passes");

TEST_CASE(
    "runs every pass of the fallback on an image without a face, and at most the maximum number of "
    "detector runs on noise") {
  struct Case {
    cv::Size size;
    int runs;
  };
  // 3 rotated + 8 enhanced + 1 padded (by the close detector) + 4 large tiles = 16. At 900 pixels
  // and more, 25 small tiles are added; above 1400, the large tiles are also rotated.
  const Case cases[] = {
      {{1, 1}, 16}, {{899, 20}, 16}, {{900, 20}, 41}, {{1, 40000}, 53}, {{1600, 1200}, 53}};
  for (const Case& c : cases) {
    CAPTURE(c.size.width);
    CAPTURE(c.size.height);
    const cv::Mat grey(c.size, CV_8UC3, cv::Scalar::all(128));
    Search search(grey);
    CHECK(search.fall_back().empty());
    CHECK(search.finder.detector_runs() == c.runs);
  }
  Search noise(grain(1000, 700, CV_8UC3), options_of(AccuracyMode::kBalance, 0));
  CHECK(noise.fall_back().empty());
  CHECK(noise.finder.detector_runs() <= kMaxDetectorRuns);
}

TEST_CASE("detects nothing after the maximum number of runs") {
  const cv::Mat image = portrait(1, 300);
  Search search(image);
  Finder& finder = search.finder;
  for (int i = 0; i < kMaxDetectorRuns; ++i)
    CHECK_FALSE(finder.detect(default_engine().detector, image, 0.7f).empty());
  CHECK(finder.detect(default_engine().detector, image, 0.7f).empty());
  CHECK(finder.is_incomplete());
  CHECK(search.fall_back().empty());
  CHECK_FALSE(finder.verify({.box = middle_of(300), .score = 1}, 0, false));
  CHECK(finder.detector_runs() == kMaxDetectorRuns);
}

TEST_CASE("drops a false detection next to an upright face after one detector run") {
  Search search(decode(sample(1), {}, 0).bgr);
  Finder& finder = search.finder;
  const auto detections = search.detect();
  REQUIRE_FALSE(detections.empty());
  const auto confirmed = finder.confirm(detections.front(), false);
  REQUIRE(confirmed);
  CHECK(confirmed->upright);
  const int before = finder.detector_runs();
  const Box empty{2, 2, 120, 120};
  CHECK_FALSE(finder.confirm({.box = empty, .score = 0.9f}, true));
  CHECK(finder.detector_runs() == before + 1);
}

TEST_CASE(
    "drops and reports a face that only the detector could confirm, after its maximum of runs") {
  const cv::Mat image = portrait(1, 500);
  Search search(image);
  Finder& finder = search.finder;
  const auto detections = search.detect();
  for (int i = 0; i < kMaxRunsToConfirm; ++i) finder.detect(default_engine().detector, image, 1);
  CHECK_FALSE(finder.is_incomplete());
  CHECK(finder.confirm(detections.front(), true));  // by its landmarks
  CHECK_FALSE(finder.is_incomplete());
  CHECK_FALSE(finder.confirm({.box = {2, 2, 120, 120}, .score = 0.9f}, true));
  CHECK(finder.is_incomplete());
}

TEST_CASE("confirms a face in the same way, whatever was confirmed before") {
  cv::Mat both;
  cv::hconcat(portrait(1, 500), rotated(View(portrait(3, 500)), 2).bgr, both);
  const Detection upright{.box = middle_of(500), .score = 0.99f};
  Detection turned = upright;
  turned.box.x += 500;
  Search first(both), second(both);
  REQUIRE(first.finder.confirm(upright, false));
  const auto after = first.finder.confirm(turned, false);
  const auto alone = second.finder.confirm(turned, false);
  REQUIRE(after);
  REQUIRE(alone);
  CHECK(after->face.detection.found_by == FoundBy::kRotated);
  CHECK(after->face.points == alone->face.points);
}

TEST_CASE("restores the first landmarks if the second ones are the neighbour's, in any order") {
  const auto face_at = [](float x) {
    FoundFace face;
    face.detection = {.box = {x, 0, 100, 120}, .score = 1};
    for (size_t i = 0; i < face.points.size(); ++i) {
      face.points.at(i) = {x + 30 + static_cast<float>(i % 8) * 5,
                           40 + static_cast<float>(i / 8) * 5};
    }
    return face;
  };
  const FoundFace correct = face_at(100);
  FoundFace misled = face_at(0);
  misled.first_points = misled.points;
  misled.points = correct.points;
  for (std::vector<FoundFace> faces :
       {std::vector{correct, misled}, std::vector{misled, correct}}) {
    restore_first_landmarks(faces);
    keep_one_of_each(faces, off_centre);
    REQUIRE(faces.size() == 2);
    CHECK(faces[0].points != faces[1].points);
  }
}

TEST_CASE("verify() rotates a face upright and returns it in pixels of the image") {
  for (int quarters = 0; quarters < 4; ++quarters) {
    CAPTURE(quarters);
    const cv::Mat image = rotated(View(portrait(1, 500)), quarters).bgr;
    Search search(image);
    const float roll = 90 * static_cast<float>(quarters);
    const auto candidate = search.finder.verify({.box = middle_of(500), .score = 1}, roll, false);
    REQUIRE(candidate);
    CHECK(search.finder.detector_runs() == 1);
    CHECK(intersection_over_union(candidate->detection.box, middle_of(500)) > 0.5f);
    const float seen = eye_line_degrees(five_points(candidate->points));
    CHECK(std::abs(std::remainder(seen - roll, 360.0f)) < 20);
    for (const Point point : candidate->points) CHECK(cv::norm(point - Point(250, 250)) < 200);
  }
}

TEST_CASE("verify() rejects a detection without a face, and a face with the wrong roll") {
  Search beside(portrait(1, 500));
  CHECK_FALSE(beside.finder.verify({.box = {0, 400, 60, 60}, .score = 1}, 0, false));
  CHECK_FALSE(beside.finder.verify({.box = middle_of(500), .score = 1}, 180, false));
  const cv::Mat grey(500, 500, CV_8UC3, cv::Scalar::all(90));
  Search nothing(grey);
  CHECK_FALSE(nothing.finder.verify({.box = middle_of(500), .score = 1}, 0, false));
}

TEST_CASE("lists no face twice if three people are cheek to cheek") {
  constexpr int kSide = 200, kStep = 110;
  for (int number = 1; number <= 6; ++number) {
    for (const float degrees : {0.0f, 15.0f}) {
      cv::Mat image(kSide + 60, kSide + 2 * kStep, CV_8UC3, cv::Scalar::all(110));
      for (int i = 0; i < 3; ++i) {
        const Similarity crop =
            square_crop({kSide, kSide}, kSide, i == 1 ? degrees : -degrees / 2, kSide);
        cv::Mat face;
        warp(portrait((number + i) % 6 + 1, 2 * kSide, 2.4f), crop, kSide, face);
        face.copyTo(image(cv::Rect(i * kStep, 30 * (i % 2), kSide, kSide)));
      }
      Search search(image);
      std::vector<FoundFace> faces;
      StageTimings timings;
      run_pass(DetectionPass::kWhole, search.finder, faces, timings);
      for (size_t a = 0; a < faces.size(); ++a) {
        for (size_t b = 0; b < a; ++b) {
          const float side = std::min(faces[a].detection.box.width, faces[b].detection.box.width);
          const Point apart = five_points(faces[a].points).nose - five_points(faces[b].points).nose;
          CAPTURE(number);
          CAPTURE(degrees);
          CHECK(cv::norm(apart) > 0.25 * side);
        }
      }
    }
  }
}

TEST_CASE("keeps rotated faces of the first pass, and ends the fallback after the rotated pass") {
  const cv::Mat grey(1000, 1000, CV_8UC3, cv::Scalar::all(128));
  Search search(grey);
  FoundFace known;
  known.detection = {.box = {100, 100, 50, 50}, .score = 0.8f, .found_by = FoundBy::kRotated};
  const auto found = search.fall_back({known});
  REQUIRE(found.size() == 1);
  CHECK(found[0].detection.box.x == 100);
  CHECK(search.finder.detector_runs() == 3);
}

TEST_CASE("stops the fallback at the pass that finds the face, and names it") {
  struct Case {
    FoundBy found_by;
    cv::Mat image;
  };
  const View view(portrait(1, 500));
  cv::Mat tiny(1200, 1600, CV_8UC3, cv::Scalar::all(128));
  cv::Mat small;
  cv::resize(view.bgr, small, {75, 75}, 0, 0, cv::INTER_AREA);
  small.copyTo(tiny(cv::Rect(1090, 310, 75, 75)));
  const Case cases[] = {{FoundBy::kRotated, rotated(view, 2).bgr},
                        {FoundBy::kPadded, view.bgr(cv::Rect(190, 190, 120, 120)).clone()},
                        {FoundBy::kEnhanced, view.bgr * 0.07},
                        {FoundBy::kTiled, tiny}};
  for (const Case& c : cases) {
    CAPTURE(std::string(kFoundBy[static_cast<size_t>(c.found_by)]));
    const auto found = Search(c.image).fall_back();
    REQUIRE(found.size() == 1);
    CHECK(found[0].detection.found_by == c.found_by);
    CHECK(found[0].detection.score >= (c.found_by == FoundBy::kPadded ? 0.7f : 0.9f));
  }
}

TEST_SUITE_END();

}  // namespace facematch::testing
