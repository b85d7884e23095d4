#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <opencv2/imgproc.hpp>

#include "../core/find/detection_passes.h"
#include "../core/find/same_face.h"
#include "../core/image/decode.h"
#include "../core/pipeline.h"
#include "drawing.h"
#include "support.h"

namespace facematch::testing {
namespace {

// Side of a portrait in sides of its face.
constexpr float kSides = 2.5f;

// A portrait in a photo: number of the sample, place, height of the face's box, and clockwise
// quarter turns.
struct Placed {
  int sample;
  cv::Point corner;
  int face;
  int quarters = 0;
};

cv::Mat photo(cv::Size size, const std::vector<Placed>& people) {
  cv::Mat image = gradient(size.width, size.height);
  for (const auto& [number, corner, face, quarters] : people) {
    const int side = static_cast<int>(kSides * static_cast<float>(face));
    const cv::Mat upright = portrait(number, side, kSides);
    rotated(View(upright), quarters).bgr.copyTo(image(cv::Rect(corner, cv::Size(side, side))));
  }
  return image;
}

Box box_of(const Placed& person) {
  const auto face = static_cast<float>(person.face);
  return {static_cast<float>(person.corner.x) + (kSides - 1) / 2 * face,
          static_cast<float>(person.corner.y) + (kSides - 1) / 2 * face, face, face};
}

long found(const Analysis& analysis, const std::vector<Placed>& people) {
  return std::count_if(people.begin(), people.end(), [&](const Placed& person) {
    return std::any_of(analysis.faces.begin(), analysis.faces.end(), [&](const Face& face) {
      return intersection_over_union(face.box, box_of(person)) > 0.3f;
    });
  });
}

// Returns the maximum cosine.
float best_similarity(const Face& wanted, const std::vector<Face>& faces) {
  float best = -1;
  for (const Face& face : faces) {
    best = std::max(best, std::inner_product(wanted.embedding.begin(), wanted.embedding.end(),
                                             face.embedding.begin(), 0.0f));
  }
  return best;
}

Analysis analysed(const cv::Mat& image, const AnalyseOptions& options = options_of()) {
  return analyse(default_engine(), encode_jpeg(image), options);
}

}  // namespace

TEST_SUITE_BEGIN("first_pass");

TEST_CASE("finds every person on a page of 49") {
  // A page of a video call.
  constexpr int kStep = 170;
  std::vector<Placed> people;
  for (int i = 0; i < 49; ++i) {
    people.push_back({i % 6 + 1, {i % 7 * kStep, i / 7 * kStep}, 66});
  }
  const Analysis all =
      analysed(photo({7 * kStep, 7 * kStep}, people), options_of(AccuracyMode::kFast));
  CHECK(found(all, people) == 49);
  CHECK(all.faces_omitted == 0);
  CHECK_FALSE(all.coverage.timed_out);
}

TEST_CASE("finds small faces behind a large one, and rotated ones next to an upright one") {
  const std::vector<Placed> front = {
      {3, {100, 300}, 700}, {1, {2300, 300}, 150}, {4, {3000, 300}, 130}, {6, {2000, 1000}, 160}};
  const std::vector<Placed> beside = {
      {1, {300, 300}, 300}, {5, {2600, 1300}, 330, 1}, {6, {1400, 1400}, 200, 2}};
  AnalyseOptions options = options_of();
  for (const auto& people : {front, beside}) {
    const cv::Mat image = photo({4000, 2400}, people);
    options.use_heuristic_fallback = true;
    const Analysis all = analysed(image, options);
    CHECK(found(all, people) == std::ssize(people));
    CHECK(all.min_detectable_face_px() <= 200);
    options.use_heuristic_fallback = false;
    const Analysis first = analysed(image, options);
    CHECK(first.min_detectable_face_px() > all.min_detectable_face_px());
    for (const Face& face : first.faces) CHECK(face.found_by == FoundBy::kPrimary);
  }
}

TEST_CASE("counts each omitted face once, and does not count fewer at a lower minimum score") {
  constexpr int kAcross = 15, kDown = 10, kStep = 110;
  std::vector<Placed> people;
  for (int i = 0; i < kAcross * kDown; ++i) {
    people.push_back({i % 6 + 1, {i % kAcross * kStep, i / kAcross * kStep}, 42});
  }
  cv::Mat page = photo({kAcross * kStep, kDown * kStep}, people);
  for (int i = 0; i < kAcross * kDown; i += 4) {
    const cv::Rect square(people.at(static_cast<size_t>(i)).corner, cv::Size(kStep - 5, kStep - 5));
    cv::GaussianBlur(page(square), page(square), {}, 3 + 0.5 * (i % 5));
  }
  AnalyseOptions options = options_of(AccuracyMode::kFast);
  const Analysis confident = analysed(page, options);
  options.min_det_score = 0.05f;
  const Analysis all = analysed(page, options);
  CHECK(confident.faces.size() == kMaxFaces);
  CHECK(confident.faces_omitted > 0);
  CHECK(confident.faces_omitted < kAcross * kDown - kMaxFaces + 1);
  CHECK(all.faces_omitted >= confident.faces_omitted);
}

TEST_CASE("finds rotated faces next to an upright one in a further search, and no known face") {
  const AnalyseOptions options = options_of(AccuracyMode::kFast);
  int missed = 0, added = 0;
  for (const int rotated : {2, 4, 6}) {
    for (const int quarters : {1, 2, 3}) {
      CAPTURE(rotated);
      CAPTURE(quarters);
      const std::vector<Placed> people = {{1, {20, 20}, 200}, {rotated, {700, 500}, 110, quarters}};
      const ByteVector file = encode_jpeg(photo({1000, 800}, people));
      const Analysis first = analyse(default_engine(), file, options);
      if (first.faces.size() != 1) continue;
      ++missed;
      CHECK(first.coverage.min_side[1] == Coverage::kNotSearched);
      CHECK(first.candidates.size() <= 6);
      const Analysis further =
          analyse_further(default_engine(), file, options,
                          {.faces = {first.faces[0].box}, .candidates = first.candidates});
      for (const Face& face : further.faces) {
        CHECK_FALSE(overlap(face.box, first.faces[0].box));
        if (face.found_by == FoundBy::kRotated) ++added;
      }
    }
  }
  CHECK(missed >= 6);
  CHECK(added >= 0.6 * missed);
}

TEST_CASE("returns no candidates without the fallback or for a plain image") {
  AnalyseOptions options = options_of(AccuracyMode::kFast);
  CHECK(analysed(gradient(640, 480), options).candidates.empty());
  options.use_heuristic_fallback = false;
  CHECK(analyse(default_engine(), sample(1), options).candidates.empty());
}

TEST_CASE(
    "continues the search in a rotated image after finding a tilted head that looks upright") {
  const View view(decode(sample(1), {}, 0).bgr);
  for (const int quarters : {1, 2, 3}) {
    CAPTURE(quarters);
    CHECK(analysed(rotated(view, quarters).bgr, options_of(AccuracyMode::kFast)).faces.size() == 3);
  }
}

TEST_CASE("returns similar embeddings for the same faces in a large and in a rotated image") {
  const View alone(decode(sample(2), {}, 0).bgr);
  const Analysis upright = analysed(alone.bgr, options_of(AccuracyMode::kFast));
  REQUIRE(upright.faces.size() == 3);
  cv::Mat small;
  cv::resize(alone.bgr, small, {}, 0.55, 0.55, cv::INTER_AREA);
  cv::Mat large = gradient(4032, 3024);
  small.copyTo(large(cv::Rect({1600, 250}, small.size())));
  for (const cv::Mat& image : {large, rotated(alone, 1).bgr, rotated(alone, 2).bgr}) {
    const Analysis other = analysed(image, options_of(AccuracyMode::kFast));
    for (const Face& face : upright.faces) CHECK(best_similarity(face, other.faces) > 0.6f);
  }
}

TEST_CASE("scales the minimum face size with the image, and reports at least 14 pixels") {
  const auto smallest = [](int width, int height) {
    return analysed(gradient(width, height), options_of(AccuracyMode::kFast))
        .min_detectable_face_px();
  };
  CHECK(smallest(16, 16) == 14);
  CHECK(smallest(320, 240) == 24);  // rotated, the image fills less of the frame
  CHECK(smallest(640, 480) > smallest(320, 240));
  CHECK(smallest(480, 640) >= smallest(640, 480));
}

TEST_SUITE_END();

}  // namespace facematch::testing
