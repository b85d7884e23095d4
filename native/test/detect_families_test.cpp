#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "../core/find/detect.h"
#include "support.h"

namespace facematch::testing {
namespace {

// Not square, so that swapped axes would show.
const cv::Size kInput(96, 64);

// What these families read of a manifest.
DetectorSpec spec_of(cv::Size whole) {
  DetectorSpec spec;
  spec.width = whole.width;
  spec.height = whole.height;
  return spec;
}
const DetectorSpec kSpec = spec_of(kInput);

constexpr std::array<int, 3> kStrides = {8, 16, 32};

// Outputs of a YuNet without a detection: cls, obj and bbox, each for the three strides.
class YunetOutputs {
 public:
  YunetOutputs() {
    for (size_t i = 0; i < values_.size(); ++i) {
      const int stride = kStrides[i % 3];
      const size_t cells = static_cast<size_t>(kInput.area() / (stride * stride));
      values_[i].assign(i < 6 ? cells : 4 * cells, 0.0f);
    }
  }

  void set_cell(size_t grid, size_t column, size_t row, float cls, float obj,
                const std::array<float, 4>& t) {
    const size_t columns = static_cast<size_t>(kInput.width / kStrides[grid]);
    const size_t cell = row * columns + column;
    values_[grid][cell] = cls;
    values_[3 + grid][cell] = obj;
    for (size_t i = 0; i < 4; ++i) values_[6 + grid][4 * cell + i] = t[i];
  }

  std::vector<Detection> decode(float min_score) {
    const std::vector<std::span<float>> outputs(values_.begin(), values_.end());
    std::vector<Detection> found;
    kYunet.decode(kSpec, kInput, outputs, min_score, found);
    return found;
  }

  std::vector<size_t> sizes() const {
    std::vector<size_t> sizes;
    for (const auto& values : values_) sizes.push_back(values.size());
    return sizes;
  }

 private:
  std::array<std::vector<float>, 9> values_;
};

}  // namespace

TEST_SUITE_BEGIN("detect_families");

TEST_CASE("an unknown family is rejected with the list of names") {
  for (const DetectorFamily* family : {&kRfb, &kYunet, &kBlazeface, &kScrfd, &kRetinaface}) {
    CHECK(&detector_family(family->name) == family);
  }
  for (const char* name : {"", "haar", "RFB", "rfb ", "yunet2"}) {
    CAPTURE(name);
    const auto error = refusal([&] { detector_family(name); });
    REQUIRE(error);
    CHECK(error->message.find("\"" + std::string(name) + "\"") != std::string::npos);
    CHECK(error->message.find("rfb, yunet, blazeface, scrfd, retinaface") != std::string::npos);
  }
}

TEST_CASE("RFB: priors are centred in the cells of its grids, and the second score is the face's") {
  const cv::Size whole(320, 240);
  struct Case {
    const char* what;
    cv::Size input;
    size_t prior;  // in the order of the outputs
    std::array<float, 4> offsets;
    Box expected;
  };
  // At 320 x 240 the first grid has 40 x 30 cells of three priors, the second 20 x 15 of two, the
  // third 10 x 8 of two, the last 5 x 4 of three.
  const Case cases[] = {
      {"the first", whole, 0, {0, 0, 0, 0}, {-1, -1, 10, 10}},
      {"the second of a cell", whole, 1, {0, 0, 0, 0}, {-4, -4, 16, 16}},
      {"the next cell", whole, 3, {0, 0, 0, 0}, {7, -1, 10, 10}},
      {"the next row", whole, 3 * 40, {0, 0, 0, 0}, {-1, 7, 10, 10}},
      {"the second grid", whole, 3600, {0, 0, 0, 0}, {-8, -8, 32, 32}},
      {"the third, whose rows share the height", whole, 4200 + 20, {0, 0, 0, 0}, {-16, 13, 64, 64}},
      {"the last one, no higher than the input", whole, 4419, {0, 0, 0, 0}, {160, 90, 256, 240}},
      {"moved by tenths of itself", whole, 0, {10, -5, 0, 0}, {9, -6, 10, 10}},
      {"grown by fifths of a logarithm", whole, 0, {0, 0, 5, -5}, {-9.59f, 2.16f, 27.18f, 3.68f}},
      {"a narrower input has fewer columns", {240, 240}, 3 * 30, {0, 0, 0, 0}, {-1, 7, 10, 10}},
      {"and in a lower one cells keep their pixels",
       {320, 184},
       3 * 40 * 23 + 2 * 20 * 12 + 20,
       {0, 0, 0, 0},
       {-16, 13, 64, 64}},
  };
  for (const Case& c : cases) {
    CAPTURE(c.what);
    const size_t priors = 4420;
    std::vector<float> scores(2 * priors), offsets(4 * priors);
    for (size_t i = 0; i < priors; ++i) scores[2 * i] = 1;
    scores[2 * c.prior + 1] = 0.9f;
    std::copy(c.offsets.begin(), c.offsets.end(), offsets.begin() + 4 * c.prior);
    const std::vector<std::span<float>> outputs = {scores, offsets};
    std::vector<Detection> found;
    kRfb.decode(spec_of(whole), c.input, outputs, 0.6f, found);
    REQUIRE(found.size() == 1);
    CHECK(found[0].score == 0.9f);
    CHECK(found[0].box.x == doctest::Approx(c.expected.x).epsilon(0.001));
    CHECK(found[0].box.y == doctest::Approx(c.expected.y).epsilon(0.001));
    CHECK(found[0].box.width == doctest::Approx(c.expected.width).epsilon(0.001));
    CHECK(found[0].box.height == doctest::Approx(c.expected.height).epsilon(0.001));
  }
}

TEST_CASE("RFB: outputs have two and four numbers for each prior of the input") {
  const std::vector<size_t> whole = {8840, 17680}, square = {6652, 13304}, apart = {8840, 17684};
  CHECK_FALSE(kRfb.mismatch(kSpec, {320, 240}, whole));
  CHECK_FALSE(kRfb.mismatch(kSpec, {240, 240}, square));
  CHECK(kRfb.mismatch(kSpec, {320, 240}, square));
  CHECK(kRfb.mismatch(kSpec, {240, 240}, whole));
  CHECK(kRfb.mismatch(kSpec, {320, 240}, apart));
}

TEST_CASE("YuNet: outputs without a detection give no box") {
  CHECK(YunetOutputs().decode(0.01f).empty());
}

TEST_CASE("YuNet: one cell gives one box, at its place in the grid") {
  for (size_t grid = 0; grid < 3; ++grid) {
    CAPTURE(grid);
    const float stride = static_cast<float>(kStrides[grid]);
    YunetOutputs outputs;
    outputs.set_cell(grid, 2, 1, 0.9f, 0.9f, {0.25f, -0.5f, std::log(1.5f), std::log(2.0f)});
    const auto found = outputs.decode(0.5f);
    REQUIRE(found.size() == 1);
    CHECK(found[0].box.centre().x == doctest::Approx(2.25f * stride));
    CHECK(found[0].box.centre().y == doctest::Approx(0.5f * stride));
    CHECK(found[0].box.width == doctest::Approx(1.5f * stride));
    CHECK(found[0].box.height == doctest::Approx(2.0f * stride));
    CHECK(found[0].score == doctest::Approx(0.9f));
    CHECK(found[0].found_by == FoundBy::kPrimary);
  }
}

TEST_CASE("YuNet: the first and the last cell of each grid are in its corners") {
  for (size_t grid = 0; grid < 3; ++grid) {
    CAPTURE(grid);
    const size_t columns = static_cast<size_t>(kInput.width / kStrides[grid]);
    const size_t rows = static_cast<size_t>(kInput.height / kStrides[grid]);
    YunetOutputs outputs;
    outputs.set_cell(grid, 0, 0, 1, 1, {0, 0, 0, 0});
    outputs.set_cell(grid, columns - 1, rows - 1, 1, 1, {1, 1, 0, 0});
    const auto found = outputs.decode(0.5f);
    REQUIRE(found.size() == 2);
    CHECK(found[0].box.centre() == Point(0, 0));
    CHECK(found[1].box.centre() == Point(cv::Point(kInput)));
  }
}

TEST_CASE(
    "YuNet: the score is the geometric mean of class and objectness, and the limit is inclusive") {
  struct Case {
    const char* what;
    float cls, obj, min_score;
    size_t found;
  };
  const Case cases[] = {
      {"both high", 1, 1, 0.99f, 1},
      {"a face but no object", 1, 0, 0.01f, 0},
      {"an object but no face", 0, 1, 0.01f, 0},
      {"at the limit", 0.25f, 1, 0.5f, 1},
      {"just below it", 0.2499f, 1, 0.5f, 0},
      {"the product alone is below", 0.5f, 0.5f, 0.5f, 1},
  };
  for (const Case& c : cases) {
    CAPTURE(c.what);
    YunetOutputs outputs;
    outputs.set_cell(0, 3, 3, c.cls, c.obj, {0, 0, 1, 1});
    CHECK(outputs.decode(c.min_score).size() == c.found);
  }
}

TEST_CASE("YuNet: impossible numbers give no face") {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  constexpr float kLargest = std::numeric_limits<float>::max();
  const auto faces = [](size_t place, float value) {
    std::array<float, 6> numbers = {0.9f, 0.9f, 0, 0, 0.5f, 0.5f};
    numbers[place] = value;
    const auto [cls, obj, x, y, width, height] = numbers;
    YunetOutputs outputs;
    outputs.set_cell(1, 2, 2, cls, obj, {x, y, width, height});
    auto found = outputs.decode(0.5f);
    std::erase_if(found, [](const Detection& d) { return !is_possible(d, kInput); });
    return found.size();
  };
  CHECK(faces(0, 0.9f) == 1);
  for (size_t place = 0; place < 6; ++place) {
    // 89: the least whole number whose exponential overflows a float.
    for (const float value : {kNan, kInfinity, -kInfinity, kLargest, -kLargest, 89.0f, -89.0f}) {
      CAPTURE(place);
      CAPTURE(value);
      CHECK(faces(place, value) == 0);
    }
  }
}

TEST_CASE("YuNet: a mismatch names the output or the input that does not fit") {
  const auto fits = YunetOutputs().sizes();
  CHECK_FALSE(kYunet.mismatch(kSpec, kInput, fits));
  struct Case {
    const char* what;
    cv::Size input;
    size_t place, size;
    const char* said;
  };
  const Case cases[] = {
      {"a width that is no multiple", {100, 64}, 0, fits[0], "multiples of 32"},
      {"a height that is no multiple", {96, 63}, 0, fits[0], "multiples of 32"},
      {"another input", {96, 96}, 0, fits[0], "cls for stride 8 has 96 numbers instead of 144"},
      {"a cell too few", kInput, 4, 23, "obj for stride 16 has 23 numbers instead of 24"},
      {"boxes of five numbers", kInput, 8, 30, "bbox for stride 32 has 30 numbers instead of 24"},
      {"nothing", kInput, 2, 0, "cls for stride 32 has 0 numbers instead of 6"},
  };
  for (const Case& c : cases) {
    CAPTURE(c.what);
    auto sizes = fits;
    sizes[c.place] = c.size;
    const auto reason = kYunet.mismatch(kSpec, c.input, sizes);
    REQUIRE(reason);
    CHECK(reason->find(c.said) != std::string::npos);
  }
}

TEST_CASE("BlazeFace: anchors are the middles of cells, two of stride 8 and six of stride 16") {
  struct Case {
    const char* what;
    size_t anchor;  // in the order of the outputs
    std::array<float, 4> numbers;
    Point centre;  // of the numbers' box
  };
  // At 96 x 64 the first grid has 12 x 8 cells, the second 6 x 4.
  const Case cases[] = {
      {"the first", 0, {0, 0, 10, 20}, {4, 4}},
      {"the second of a cell", 1, {0, 0, 10, 20}, {4, 4}},
      {"the next cell", 2, {0, 0, 10, 20}, {12, 4}},
      {"the next row", 2 * 12, {0, 0, 10, 20}, {4, 12}},
      {"the last of the first grid", 191, {0, 0, 10, 20}, {92, 60}},
      {"the second grid", 192, {0, 0, 10, 20}, {8, 8}},
      {"its next cell", 192 + 6, {0, 0, 10, 20}, {24, 8}},
      {"its next row", 192 + 6 * 6, {0, 0, 10, 20}, {8, 24}},
      {"the last one", 335, {0, 0, 10, 20}, {88, 56}},
      {"moved by pixels", 0, {30, 20, 10, 20}, {34, 24}},
  };
  for (const Case& c : cases) {
    CAPTURE(c.what);
    std::vector<float> boxes(336 * 16), scores(336, -5.0f);
    scores[c.anchor] = std::log(3.0f);
    std::copy(c.numbers.begin(), c.numbers.end(),
              boxes.begin() + static_cast<std::ptrdiff_t>(16 * c.anchor));
    const std::vector<std::span<float>> outputs = {boxes, scores};
    std::vector<Detection> found;
    kBlazeface.decode(kSpec, kInput, outputs, 0.5f, found);
    REQUIRE(found.size() == 1);
    // Its 0.5 is 0.7 here: odds of 3 become odds of 7.
    CHECK(found[0].score == doctest::Approx(7.0 / 8));
    // A square of the longer side, enlarged and moved up to take in the forehead.
    const Box& box = found[0].box;
    CHECK(box.centre().x == doctest::Approx(c.centre.x));
    CHECK(box.centre().y == doctest::Approx(c.centre.y - 0.03 * 20));
    CHECK(box.width == doctest::Approx(1.16 * 20));
    CHECK(box.height == box.width);
  }
}

TEST_CASE("BlazeFace: the score is a sigmoid of a logit of any size, 0.7 at 0") {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  struct Case {
    float logit, min_score;
    size_t found;
  };
  const Case cases[] = {
      {0, 0.69f, 1},         {0, 0.71f, 0},          {100, 0.99f, 1},
      {-100, 0.01f, 0},      {1000, 0.99f, 1},       {-1000, 0.01f, 0},
      {kInfinity, 0.99f, 1}, {-kInfinity, 0.01f, 0}, {kNan, 0.01f, 0},
  };
  for (const Case& c : cases) {
    CAPTURE(c.logit);
    std::vector<float> boxes(336 * 16), scores(336, -kInfinity);
    boxes[16 * 7 + 2] = boxes[16 * 7 + 3] = 30;
    scores[7] = c.logit;
    const std::vector<std::span<float>> outputs = {boxes, scores};
    std::vector<Detection> found;
    kBlazeface.decode(kSpec, kInput, outputs, c.min_score, found);
    CHECK(found.size() == c.found);
    for (const Detection& detection : found) CHECK(detection.score <= 1);
  }
}

TEST_CASE("BlazeFace: impossible boxes give no face") {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const auto faces = [](size_t place, float value) {
    std::vector<float> boxes(336 * 16), scores(336, -5.0f);
    scores[100] = 5;
    boxes[1602] = boxes[1603] = 30;
    boxes[1600 + place] = value;
    const std::vector<std::span<float>> outputs = {boxes, scores};
    std::vector<Detection> found;
    kBlazeface.decode(kSpec, kInput, outputs, 0.5f, found);
    std::erase_if(found, [](const Detection& d) { return !is_possible(d, kInput); });
    return found.size();
  };
  CHECK(faces(2, 30) == 1);
  for (size_t place = 0; place < 4; ++place) {
    for (const float value : {kNan, kInfinity, -kInfinity, 1e30f, -1e30f}) {
      CAPTURE(place);
      CAPTURE(value);
      CHECK(faces(place, value) == 0);
    }
  }
}

TEST_CASE("BlazeFace: outputs have sixteen numbers and one for each anchor of the input") {
  const std::vector<size_t> fits = {336 * 16, 336}, whole = {896 * 16, 896},
                            apart = {896 * 16, 897};
  CHECK_FALSE(kBlazeface.mismatch(kSpec, kInput, fits));
  CHECK_FALSE(kBlazeface.mismatch(kSpec, {128, 128}, whole));
  struct Case {
    const char* what;
    cv::Size input;
    std::span<const size_t> sizes;
    const char* said;
  };
  const Case cases[] = {
      {"a width that is no multiple", {100, 64}, fits, "multiples of 16"},
      {"a height that is no multiple", {96, 72}, fits, "multiples of 16"},
      {"another input",
       {128, 128},
       fits,
       "should have 14336 and 896 numbers and have 5376 and 336"},
      {"a score too many", {128, 128}, apart, "14336 and 896 numbers and have 14336 and 897"},
  };
  for (const Case& c : cases) {
    CAPTURE(c.what);
    const auto reason = kBlazeface.mismatch(kSpec, c.input, c.sizes);
    REQUIRE(reason);
    CHECK(reason->find(c.said) != std::string::npos);
  }
}

TEST_CASE("BlazeFace: the default pack's net finds the face that fills a picture") {
  const Detector& detector = *default_engine().close_detector;
  constexpr float kSide = 300;
  for (const int number : {1, 2, 3, 4, 5, 6}) {
    CAPTURE(number);
    const auto found = detector.detect(portrait(number, static_cast<int>(kSide), 1.5f), 0.5f);
    REQUIRE(found.size() == 1);
    const Box& box = found[0].box;
    CHECK(std::abs(box.centre().x - kSide / 2) < 0.15f * kSide);
    CHECK(std::abs(box.centre().y - kSide / 2) < 0.15f * kSide);
    CHECK(box.width > 0.4f * kSide);
    CHECK(box.width < 0.9f * kSide);
  }
}

TEST_SUITE_END();

}  // namespace facematch::testing
