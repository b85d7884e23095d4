#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <limits>

#include "../core/detect.h"
#include "support.h"

namespace facematch::testing {
namespace {

// Neither square nor the same number of cells either way: swapped axes would show.
const cv::Size kInput(96, 64);

constexpr std::array<int, 3> kStrides = {8, 16, 32};

// Outputs of a YuNet that saw nothing: cls, obj and bbox, each for the three strides.
class MadeOutputs {
 public:
  MadeOutputs() {
    for (size_t i = 0; i < values_.size(); ++i) {
      const int stride = kStrides[i % 3];
      const size_t cells = static_cast<size_t>(kInput.area() / (stride * stride));
      values_[i].assign(i < 6 ? cells : 4 * cells, 0.0f);
    }
  }

  void light(size_t grid, size_t column, size_t row, float cls, float obj,
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
    kYunet.decode(kInput, kInput, outputs, min_score, found);
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

TEST_SUITE_BEGIN("detect_yunet");

TEST_CASE("outputs that saw nothing give nothing") { CHECK(MadeOutputs().decode(0.01f).empty()); }

TEST_CASE("a lit cell gives one box, where the cell lies in the grid of its stride") {
  for (size_t grid = 0; grid < 3; ++grid) {
    CAPTURE(grid);
    const float stride = static_cast<float>(kStrides[grid]);
    MadeOutputs outputs;
    outputs.light(grid, 2, 1, 0.9f, 0.9f, {0.25f, -0.5f, std::log(1.5f), std::log(2.0f)});
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

TEST_CASE("the first and the last cell of each grid lie in its corners") {
  for (size_t grid = 0; grid < 3; ++grid) {
    CAPTURE(grid);
    const size_t columns = static_cast<size_t>(kInput.width / kStrides[grid]);
    const size_t rows = static_cast<size_t>(kInput.height / kStrides[grid]);
    MadeOutputs outputs;
    outputs.light(grid, 0, 0, 1, 1, {0, 0, 0, 0});
    outputs.light(grid, columns - 1, rows - 1, 1, 1, {1, 1, 0, 0});
    const auto found = outputs.decode(0.5f);
    REQUIRE(found.size() == 2);
    CHECK(found[0].box.centre() == Point(0, 0));
    CHECK(found[1].box.centre() == Point(cv::Point(kInput)));
  }
}

TEST_CASE("a score is the geometric mean of class and objectness, and the limit belongs to it") {
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
    MadeOutputs outputs;
    outputs.light(0, 3, 3, c.cls, c.obj, {0, 0, 1, 1});
    CHECK(outputs.decode(c.min_score).size() == c.found);
  }
}

TEST_CASE("numbers that make no sense give no face") {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  constexpr float kLargest = std::numeric_limits<float>::max();
  const auto faces = [](size_t place, float value) {
    std::array<float, 6> numbers = {0.9f, 0.9f, 0, 0, 0.5f, 0.5f};
    numbers[place] = value;
    const auto [cls, obj, x, y, width, height] = numbers;
    MadeOutputs outputs;
    outputs.light(1, 2, 2, cls, obj, {x, y, width, height});
    auto found = outputs.decode(0.5f);
    std::erase_if(found, [](const Detection& d) { return !is_possible(d, kInput); });
    return found.size();
  };
  CHECK(faces(0, 0.9f) == 1);
  for (size_t place = 0; place < 6; ++place) {
    // 89: the least whole number whose exponential is no float any more.
    for (const float value : {kNan, kInfinity, -kInfinity, kLargest, -kLargest, 89.0f, -89.0f}) {
      CAPTURE(place);
      CAPTURE(value);
      CHECK(faces(place, value) == 0);
    }
  }
}

TEST_CASE("an input or outputs of another shape are told apart by what does not fit") {
  const auto fits = MadeOutputs().sizes();
  CHECK_FALSE(kYunet.mismatch(kInput, fits));
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
    const auto reason = kYunet.mismatch(c.input, sizes);
    REQUIRE(reason);
    CHECK(reason->find(c.said) != std::string::npos);
  }
}

TEST_SUITE_END();

}  // namespace facematch::testing
