#include "../core/pipeline.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <opencv2/imgproc.hpp>
#include <tuple>

#include "../core/image/decode.h"
#include "../core/image/halftone.h"
#include "../core/image/view.h"
#include "drawing.h"
#include "support.h"

namespace facematch::testing {
namespace {

// Similarity that separates the mated from the non-mated pairs of these photos.
constexpr float kSamePerson = 0.45f;

// The default pack with another human check: the score of a face is about its cosine with `human`,
// plus the bias.
class CheckedPack {
 public:
  CheckedPack(const Embedding& human, float bias, float min_score) {
    float max = 1e-6f;
    for (const float number : human) max = std::max(max, std::abs(number));
    const float scale = max / 127;
    ByteVector bytes;
    for (const float number : human) {
      bytes.push_back(static_cast<uint8_t>(static_cast<int8_t>(std::lround(number / scale))));
    }
    write_file(folder_.path() / "human.i8", bytes);
    // A manifest may not contain this path, because it is outside the pack's directory.
    Pack pack = read_pack(default_pack());
    pack.human = {
        .score = {.file = std::filesystem::relative(folder_.path(), default_pack()) / "human.i8",
                  .scale = scale,
                  .bias = bias},
        .min_score = min_score};
    engine_ = std::make_unique<const Engine>(pack);
  }

  const Engine& engine() const { return *engine_; }

 private:
  TemporaryFolder folder_;
  std::unique_ptr<const Engine> engine_;
};

const Embedding kNobody(512, 0.0f);

}  // namespace

TEST_SUITE_BEGIN("pipeline");

TEST_CASE(
    "drops the faces of every pass that fail the human check, and only adds a score to others") {
  const CheckedPack none(kNobody, -100, -1), all(kNobody, 100, -1);
  for (const AccuracyMode mode : {AccuracyMode::kFast, AccuracyMode::kBalance}) {
    const Analysis checked = analyse(all.engine(), sample(1), options_of(mode));
    CHECK(checked.faces.size() == 3);
    for (const Face& face : checked.faces) CHECK(face.human_score == 100.0f);
    CHECK(numbers(checked) == numbers(analyse(default_engine(), sample(1), options_of(mode))));
    CHECK(analyse(none.engine(), sample(1), options_of(mode)).faces.empty());
  }
}

TEST_CASE("keeps the order (largest first) and the embeddings of the faces that pass") {
  const AnalyseOptions options = options_of(AccuracyMode::kFast);
  const Analysis all = analyse(default_engine(), sample(1), options);
  REQUIRE(all.faces.size() == 3);
  const auto weight = [](const Face& face) { return face.box.area() * face.detection_score; };
  CHECK(weight(all.faces[0]) > weight(all.faces[1]));
  CHECK(weight(all.faces[1]) > weight(all.faces[2]));
  const CheckedPack pack(all.faces[1].embedding, 0, 0.9f);
  const Analysis left = analyse(pack.engine(), sample(1), options);
  REQUIRE(left.faces.size() == 1);
  CHECK(left.faces[0].box.x == all.faces[1].box.x);
  CHECK(*left.faces[0].human_score == doctest::Approx(1).epsilon(0.02));
  CHECK(left.faces[0].embedding == all.faces[1].embedding);
}

TEST_CASE("runs the fallback if every face of the first pass is dropped") {
  const View lying(portrait(3, 500));
  cv::Mat both;
  cv::hconcat(portrait(1, 500), rotated(lying, 2).bgr, both);
  const ByteVector image = encode_png(both);
  AnalyseOptions options = options_of(AccuracyMode::kBalance);
  const Analysis human = analyse(default_engine(), encode_png(portrait(3, 500)), options);
  REQUIRE(human.faces.size() == 1);
  const Analysis unchecked = analyse(default_engine(), image, options);
  REQUIRE(!unchecked.faces.empty());
  CHECK(unchecked.faces[0].found_by == FoundBy::kPrimary);
  CHECK(unchecked.faces[0].box.x < 500);
  const CheckedPack pack(human.faces[0].embedding, 0, 0.6f);
  const Analysis found = analyse(pack.engine(), image, options);
  REQUIRE(found.faces.size() == 1);
  CHECK(found.faces[0].found_by == FoundBy::kRotated);
  CHECK(found.faces[0].box.x > 500);
  options.use_heuristic_fallback = false;
  CHECK(analyse(pack.engine(), image, options).faces.empty());
}

TEST_CASE(
    "finds and matches a face printed with coarse dots, and does not mistake stripes for dots") {
  const cv::Mat photo = portrait(1, 600);
  const auto reference = analyse(default_engine(), encode_png(photo), options_of());
  REQUIRE(reference.faces.size() == 1);
  const float side = reference.faces[0].box.height;
  for (const float dots : {24.0f, 32.0f}) {
    CAPTURE(dots);
    const float turn = 2 * static_cast<float>(CV_PI) * dots / side;
    cv::Mat print, striped;
    cv::cvtColor(photo, print, cv::COLOR_BGR2GRAY);
    striped = print.clone();
    for (int y = 0; y < print.rows; ++y) {
      for (int x = 0; x < print.cols; ++x) {
        const float across = std::cos(turn * static_cast<float>(x));
        const float down = std::cos(turn * static_cast<float>(y));
        auto& grey = print.at<uint8_t>(y, x);
        grey = static_cast<float>(grey) > 128 + 63 * (across + down) ? 255 : 0;
        auto& stripe = striped.at<uint8_t>(y, x);
        stripe = static_cast<float>(stripe) > 128 + 126 * across ? 255 : 0;
      }
    }
    cv::cvtColor(print, print, cv::COLOR_GRAY2BGR);
    cv::cvtColor(striped, striped, cv::COLOR_GRAY2BGR);
    CHECK(dot_pitch(print) == doctest::Approx(side / dots).epsilon(0.08));
    CHECK(dot_pitch(striped) == 0);
    CHECK(dot_pitch(photo) == 0);
    const auto seen = analyse(default_engine(), encode_png(print), options_of());
    REQUIRE(seen.faces.size() == 1);
    CHECK(seen.faces[0].found_by == FoundBy::kEnhanced);
    CHECK(intersection_over_union(seen.faces[0].box, reference.faces[0].box) > 0.7f);
    CHECK(seen.faces[0].quality.dot_pitch == doctest::Approx(side / dots).epsilon(0.08));
    const Embedding &a = seen.faces[0].embedding, &b = reference.faces[0].embedding;
    CHECK(std::inner_product(a.begin(), a.end(), b.begin(), 0.0f) > kSamePerson);
  }
}

namespace {

// Makes each pixel black or white and diffuses its error to the following pixels (Floyd and
// Steinberg 1976).
cv::Mat dithered(const cv::Mat& bgr) {
  cv::Mat grey, out(bgr.size(), CV_8UC3);
  cv::cvtColor(bgr, grey, cv::COLOR_BGR2GRAY);
  cv::normalize(grey, grey, 0, 255, cv::NORM_MINMAX);
  cv::copyMakeBorder(grey, grey, 0, 1, 1, 1, cv::BORDER_REPLICATE);
  grey.convertTo(grey, CV_32F);
  for (int y = 0; y < out.rows; ++y) {
    auto *row = grey.ptr<float>(y), *below = grey.ptr<float>(y + 1);
    for (int x = 1; x <= out.cols; ++x) {
      const float tone = row[x] < 128 ? 0 : 255, error = row[x] - tone;
      out.at<cv::Vec3b>(y, x - 1) = cv::Vec3b::all(static_cast<uint8_t>(tone));
      row[x + 1] += error * 7 / 16;
      below[x - 1] += error * 3 / 16;
      below[x] += error * 5 / 16;
      below[x + 1] += error / 16;
    }
  }
  return out;
}

}  // namespace

TEST_CASE("finds and matches a face in a two-tone print, also a faint, large-dotted or JPEG one") {
  const cv::Mat photo = portrait(1, 300);
  const auto reference = analyse(default_engine(), encode_png(photo), options_of());
  REQUIRE(reference.faces.size() == 1);
  CHECK(reference.faces[0].quality.dot_pitch == 0);
  cv::Mat light, large;
  const cv::Mat fax = dithered(photo);
  fax.convertTo(light, -1, 0.5, 110);
  cv::resize(fax, large, {}, 2, 2, cv::INTER_NEAREST);
  for (const ByteVector& file :
       {encode_png(fax), encode_png(light), encode_png(large), encode_jpeg(fax, {.quality = 75})}) {
    const auto seen = analyse(default_engine(), file, options_of());
    REQUIRE(seen.faces.size() == 1);
    CHECK(seen.faces[0].quality.dot_pitch > 2);
    const Embedding &a = seen.faces[0].embedding, &b = reference.faces[0].embedding;
    CHECK(std::inner_product(a.begin(), a.end(), b.begin(), 0.0f) > kSamePerson);
  }
  // Two tones without changes from pixel to pixel are not dots.
  cv::Mat outline;
  cv::GaussianBlur(photo, outline, {}, 3);
  cv::threshold(outline, outline, 128, 255, cv::THRESH_BINARY);
  CHECK(two_tone_pitch(outline) == 0);
  CHECK(two_tone_pitch(cv::Mat(40, 40, CV_8UC3, cv::Scalar())) == 0);
  CHECK(two_tone_pitch(cv::Mat(1, 1, CV_8UC3, cv::Scalar())) == 0);
}

TEST_CASE("detects from the face that an image was stretched, in either direction") {
  const cv::Mat photo = portrait(1, 400);
  for (const auto& [size, min, max] :
       {std::tuple{cv::Size(400, 400), 1.0f, 1.15f}, std::tuple{cv::Size(700, 400), 1.3f, 2.0f},
        std::tuple{cv::Size(400, 720), 1.3f, 2.0f}}) {
    cv::Mat stretched;
    cv::resize(photo, stretched, size);
    const auto seen = analyse(default_engine(), encode_png(stretched), options_of());
    REQUIRE(seen.faces.size() == 1);
    CHECK(seen.faces[0].quality.stretch >= min);
    CHECK(seen.faces[0].quality.stretch <= max);
  }
}

TEST_SUITE_END();

}  // namespace facematch::testing
