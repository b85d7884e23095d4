#include "../core/pipeline.h"

#include <doctest/doctest.h>

#include <cmath>
#include <numeric>

#include "drawing.h"

namespace facematch::testing {
namespace {

// Above any pair of strangers on these photos, and below any pair of the same person.
constexpr float kSamePerson = 0.45f;

MatchOptions options_of(AccuracyMode mode) {
  MatchOptions options;
  options.accuracy_mode = mode;
  options.min_det_score = 0.7f;
  return options;
}

void check_face(const Face& face, const ImageReport& image) {
  const auto inside = [&](Point p) {
    return p.x > 0 && p.y > 0 && p.x < static_cast<float>(image.width) &&
           p.y < static_cast<float>(image.height);
  };
  for (const Point p : face.landmarks.points()) CHECK(inside(p));
  CHECK(inside(face.box.center()));
  CHECK(face.landmarks.mouth_right.y > face.landmarks.right_eye.y);
  CHECK(face.landmarks.left_eye.x > face.landmarks.right_eye.x);
  CHECK(face.detection_score >= 0.7f);
  CHECK(face.detection_score <= 1);
  CHECK(face.quality.face_pixels > 50);
  CHECK(std::abs(face.pose.yaw) < 90);
}

}  // namespace

TEST_SUITE_BEGIN("pipeline");

TEST_CASE("every face of the sample photos is found, largest first, with a unit vector each") {
  constexpr size_t kFaces[] = {3, 3, 3, 4, 5, 4};  // counted by eye
  for (const AccuracyMode mode : {AccuracyMode::kFast, AccuracyMode::kBalance}) {
    for (int number = 1; number <= 6; ++number) {
      CAPTURE(number);
      const DetectResult result = detect(default_engine(), sample(number), options_of(mode), true);
      const auto& faces = result.image.faces;
      CHECK(faces.size() == kFaces[number - 1]);
      REQUIRE(result.embedded.size() == faces.size());
      for (size_t i = 0; i < faces.size(); ++i) {
        check_face(faces[i], result.image);
        const auto& vector = result.embedded[i].embedding;
        REQUIRE(vector.size() == 512);
        CHECK(std::inner_product(vector.begin(), vector.end(), vector.begin(), 0.0f) ==
              doctest::Approx(1));
        if (i == 0) continue;
        const auto weight = [](const Face& f) { return f.box.area() * f.detection_score; };
        CHECK(weight(faces[i - 1]) >= weight(faces[i]));
      }
    }
  }
}

TEST_CASE("the one woman who is in both photos is the best pair, and the only one") {
  for (const AccuracyMode mode : {AccuracyMode::kFast, AccuracyMode::kBalance}) {
    const MatchResult result = match(default_engine(), sample(1), sample(3), options_of(mode));
    CHECK(result.pairs.size() == 9);
    CHECK(result.pairs[0].similarity > kSamePerson);
    CHECK(result.pairs[1].similarity < kSamePerson);
  }
}

TEST_CASE("a picture matches itself, face by face") {
  const MatchResult result =
      match(default_engine(), sample(2), sample(2), options_of(AccuracyMode::kFast));
  for (size_t i = 0; i < 3; ++i) {
    CHECK(result.pairs[i].image1_face_index == result.pairs[i].image2_face_index);
    CHECK(result.pairs[i].similarity == doctest::Approx(1).epsilon(1e-4));
  }
}

TEST_CASE("an index chosen for one picture limits its side of the pairs only") {
  MatchOptions options = options_of(AccuracyMode::kFast);
  options.image1_face_index = 2;
  const MatchResult result = match(default_engine(), sample(1), sample(4), options);
  CHECK(result.pairs.size() == 4);
  for (const Pair& pair : result.pairs) CHECK(pair.image1_face_index == 2);
}

TEST_CASE("without auto_pair_best the largest faces are compared") {
  MatchOptions options = options_of(AccuracyMode::kFast);
  options.auto_pair_best = false;
  const MatchResult result = match(default_engine(), sample(1), sample(3), options);
  REQUIRE(result.pairs.size() == 1);
  CHECK(result.pairs[0].image1_face_index == 0);
  CHECK(result.pairs[0].image2_face_index == 0);
}

TEST_CASE("the last index is taken, one past it is refused with the number of faces") {
  for (const int image : {1, 2}) {
    MatchOptions options = options_of(AccuracyMode::kFast);
    (image == 1 ? options.image1_face_index : options.image2_face_index) = 2;
    CHECK_NOTHROW(match(default_engine(), sample(1), sample(3), options));
    (image == 1 ? options.image1_face_index : options.image2_face_index) = 3;
    const auto error = refusal([&] { match(default_engine(), sample(1), sample(3), options); });
    REQUIRE(error);
    CHECK(error->code == ErrorCode::kFaceIndexOutOfRange);
    CHECK(error->image == image);
    CHECK(error->faces_found == 3);
  }
}

TEST_CASE(
    "no face is an error of a match that lists each picture, and an empty list of a detection") {
  const ByteVector face = sample(1);
  const ByteVector empty = encode_jpeg(gradient(200, 150));
  const MatchOptions options = options_of(AccuracyMode::kFast);
  struct Case {
    const ByteVector& image1;
    const ByteVector& image2;
    std::array<bool, 2> missing;
  };
  const Case cases[] = {
      {empty, face, {true, false}}, {face, empty, {false, true}}, {empty, empty, {true, true}}};
  for (const Case& c : cases) {
    const auto error = refusal([&] { match(default_engine(), c.image1, c.image2, options); });
    REQUIRE(error);
    CHECK(error->code == ErrorCode::kNoFaceFound);
    CHECK(error->missing == c.missing);
  }
  CHECK(detect(default_engine(), empty, options, true).image.faces.empty());
}

TEST_CASE("a damaged second picture is named as the second") {
  const ByteVector cut(1000, 0xFF);
  ByteVector text = {'h', 'e', 'l', 'l', 'o'};
  const auto error =
      refusal([&] { match(default_engine(), sample(1), text, options_of(AccuracyMode::kFast)); });
  REQUIRE(error);
  CHECK(error->code == ErrorCode::kUnsupportedImageFormat);
  CHECK(error->image == 2);
}

TEST_CASE("min_det_score drops faces before anything else") {
  MatchOptions options = options_of(AccuracyMode::kFast);
  const auto& all = detect(default_engine(), sample(4), options, false).image.faces;
  float lowest = 1;
  for (const Face& face : all) lowest = std::min(lowest, face.detection_score);
  options.min_det_score = lowest;
  CHECK(detect(default_engine(), sample(4), options, false).image.faces.size() == all.size());
  options.min_det_score = std::nextafter(lowest, 1.0f);
  CHECK(detect(default_engine(), sample(4), options, false).image.faces.size() == all.size() - 1);
}

TEST_SUITE_END();

}  // namespace facematch::testing
