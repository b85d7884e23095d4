#include "../core/pipeline.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "../core/decode.h"
#include "../core/view.h"
#include "drawing.h"
#include "results.h"

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

// The default pack with a check of its own: the score of a face is its cosine with `human`, more or
// less, plus the bias.
class CheckedPack {
 public:
  CheckedPack(const Embedding& human, float bias, float bar) {
    copy_default_pack(folder_);
    float longest = 1e-6f;
    for (const float number : human) longest = std::max(longest, std::abs(number));
    const float scale = longest / 127;
    ByteVector bytes;
    for (const float number : human) {
      bytes.push_back(static_cast<uint8_t>(static_cast<int8_t>(std::lround(number / scale))));
    }
    write_file(folder_.path() / "human.i8", bytes);
    const ByteVector manifest = read_file(folder_.path() / "manifest.json");
    auto json = nlohmann::json::parse(manifest.begin(), manifest.end());
    json["human"] = {{"file", "human.i8"}, {"scale", scale}, {"bias", bias}, {"bar", bar}};
    const std::string text = json.dump();
    write_file(folder_.path() / "manifest.json", {text.begin(), text.end()});
    engine_ = std::make_unique<const Engine>(folder_.path().string());
  }

  const Engine& engine() const { return *engine_; }

 private:
  TemporaryFolder folder_;
  std::unique_ptr<const Engine> engine_;
};

const Embedding kNobody(512, 0.0f);

// The largest face of a sample with as much around it as a portrait has.
cv::Mat portrait(int number, int size) {
  const cv::Mat photo = decode(sample(number), {}, 0).bgr;
  const Box box = default_engine().detector.detect(photo, 0.9f).front().box;
  return cut({.bgr = photo, .to_picture = {}}, box.center(), 2.5f * box.height, 0, size).bgr;
}

}  // namespace

TEST_SUITE_BEGIN("pipeline");

TEST_CASE("faces that no human has are dropped before it is told that there is none") {
  const CheckedPack pack(kNobody, -100, -1);
  const ByteVector photo = sample(1);
  for (const bool use_heuristic_fallback : {false, true}) {
    MatchOptions options = options_of(AccuracyMode::kFast);
    options.use_heuristic_fallback = use_heuristic_fallback;
    CAPTURE(use_heuristic_fallback);
    const auto error = refusal([&] { match(pack.engine(), photo, photo, options); });
    REQUIRE(error);
    CHECK(error->code == ErrorCode::kNoFaceFound);
    CHECK(error->missing == std::array<bool, 2>{true, true});
    const DetectResult found = detect(pack.engine(), photo, options, true);
    CHECK(found.image.faces.empty());
    CHECK(found.embedded.empty());
    CHECK(found.image.width > 0);
  }
}

TEST_CASE("a check that all pass changes nothing but the score that is told") {
  const CheckedPack pack(kNobody, 100, -1);
  for (const AccuracyMode mode : {AccuracyMode::kFast, AccuracyMode::kBalance}) {
    const MatchResult checked = match(pack.engine(), sample(1), sample(3), options_of(mode));
    const MatchResult plain = match(default_engine(), sample(1), sample(3), options_of(mode));
    for (const Face& face : checked.image1.faces) CHECK(face.human_score == 100.0f);
    CHECK(checked.pairs.size() == 9);
    CHECK(numbers(checked) == numbers(plain));
  }
}

TEST_CASE("those who pass keep their order and their embeddings, and indices count them alone") {
  const MatchOptions options = options_of(AccuracyMode::kFast);
  const DetectResult all = detect(default_engine(), sample(1), options, true);
  REQUIRE(all.embedded.size() == 3);
  const Embedding& second = all.embedded[1].embedding;
  const CheckedPack pack(second, 0, 0.9f);
  const DetectResult left = detect(pack.engine(), sample(1), options, true);
  REQUIRE(left.image.faces.size() == 1);
  CHECK(left.image.faces[0].box.x == all.image.faces[1].box.x);
  CHECK(*left.image.faces[0].human_score == doctest::Approx(1).epsilon(0.02));
  CHECK(left.embedded[0].embedding == second);
  MatchOptions beyond = options;
  beyond.image1_face_index = 1;
  const auto error = refusal([&] { match(pack.engine(), sample(1), sample(1), beyond); });
  REQUIRE(error);
  CHECK(error->code == ErrorCode::kFaceIndexOutOfRange);
  CHECK(error->faces_found == 1);
}

TEST_CASE("where all that the first look found is dropped, the ladder is climbed") {
  const View lying{.bgr = portrait(3, 500), .to_picture = {}};
  cv::Mat both;
  cv::hconcat(portrait(1, 500), turned(lying, 2).bgr, both);
  const ByteVector picture = encode_png(both);
  MatchOptions options = options_of(AccuracyMode::kBalance);
  const DetectResult human = detect(default_engine(), encode_png(portrait(3, 500)), options, true);
  REQUIRE(human.embedded.size() == 1);
  const DetectResult unchecked = detect(default_engine(), picture, options, false);
  REQUIRE(!unchecked.image.faces.empty());
  CHECK(unchecked.image.faces[0].found_by == FoundBy::kPrimary);
  CHECK(unchecked.image.faces[0].box.x < 500);
  const CheckedPack pack(human.embedded[0].embedding, 0, 0.6f);
  const DetectResult found = detect(pack.engine(), picture, options, true);
  REQUIRE(found.image.faces.size() == 1);
  CHECK(found.image.faces[0].found_by == FoundBy::kRotated);
  CHECK(found.image.faces[0].box.x > 500);
  options.use_heuristic_fallback = false;
  CHECK(detect(pack.engine(), picture, options, false).image.faces.empty());
}

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
