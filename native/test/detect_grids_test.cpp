// SCRFD and RetinaFace: families whose manifest says strides and anchors.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "../core/find/detect.h"
#include "support.h"
#include "tiny_net.h"

namespace facematch::testing {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

// Not square, so that swapped axes would show.
const cv::Size kInput(96, 64);

DetectorSpec scrfd_spec(cv::Size input = kInput, std::vector<int> strides = {8, 16, 32}) {
  DetectorSpec spec;
  spec.file = "detect.onnx";
  spec.family = "scrfd";
  spec.input = "input";
  spec.width = input.width;
  spec.height = input.height;
  spec.strides = std::move(strides);
  spec.anchors = 2;
  return spec;
}

DetectorSpec retinaface_spec(cv::Size input = kInput) {
  DetectorSpec spec = scrfd_spec(input);
  spec.family = "retinaface";
  spec.anchors = 0;
  spec.priors = {{16, 32}, {64, 128}, {256, 512}};
  spec.variances = {0.1f, 0.2f};
  return spec;
}

// Of SCRFD at 96 x 64: 12 x 8, 6 x 4 and 3 x 2 cells of two anchors.
const std::vector<size_t> kScrfdSizes = {192, 48, 12, 768, 192, 48};
// Of RetinaFace the same, in one.
const std::vector<size_t> kRetinafaceSizes = {2 * 252, 4 * 252};

using Buffers = std::vector<std::vector<float>>;

Buffers buffers_of(std::span<const size_t> sizes) {
  Buffers buffers;
  for (const size_t size : sizes) buffers.emplace_back(size);
  return buffers;
}

std::vector<Detection> decoded(const DetectorFamily& family, const DetectorSpec& spec,
                               Buffers& buffers, float min_score = 0.5f) {
  const std::vector<std::span<float>> outputs(buffers.begin(), buffers.end());
  std::vector<Detection> found;
  family.decode(spec, {spec.width, spec.height}, outputs, min_score, found);
  return found;
}

void check_box(const Box& box, const Box& expected) {
  CHECK(box.x == doctest::Approx(expected.x).epsilon(0.001));
  CHECK(box.y == doctest::Approx(expected.y).epsilon(0.001));
  CHECK(box.width == doctest::Approx(expected.width).epsilon(0.001));
  CHECK(box.height == doctest::Approx(expected.height).epsilon(0.001));
}

size_t possible(const std::vector<Detection>& found) {
  return static_cast<size_t>(std::count_if(
      found.begin(), found.end(), [](const Detection& d) { return is_possible(d, kInput); }));
}

using Shape = std::vector<int64_t>;

struct Named {
  const char* name;
  Shape shape;
};

std::vector<std::string> chosen(const DetectorFamily& family, const DetectorSpec& spec,
                                const std::vector<Named>& outputs) {
  std::vector<std::string> names;
  std::vector<Shape> shapes;
  for (const auto& [name, shape] : outputs) {
    names.emplace_back(name);
    shapes.push_back(shape);
  }
  return outputs_by_shape(family, spec, names, shapes);
}

// A net of a file of its own.
class TinyDetector {
 public:
  TinyDetector(const TinyNet& net, const DetectorSpec& spec) {
    write_file(folder_.path() / spec.file, net.file());
    detector_.emplace(folder_.path().string(), spec);
  }
  const Detector& operator*() const { return *detector_; }

 private:
  TemporaryFolder folder_;
  std::optional<Detector> detector_;
};

// A net of one stride that takes bright cells for faces of three cells. `named` puts its outputs
// in an order and under names that tell nothing.
TinyNet bright(Shape input, bool with_batch) {
  constexpr int kStride = 32;
  const auto shape = [&](int64_t columns) {
    return with_batch ? Shape{1, -1, columns} : Shape{-1, columns};
  };
  return {.shape = std::move(input),
          .outputs = {{.name = "460",
                       .numbers = {1.5f, 1.5f, 1.5f, 1.5f},
                       .kind = TinyKind::kCells,
                       .shape = shape(4),
                       .stride = kStride},
                      {.name = "443",
                       .numbers = {1},
                       .kind = TinyKind::kCells,
                       .shape = shape(1),
                       .stride = kStride},
                      {.name = "points",
                       .numbers = std::vector<float>(10, 1),
                       .kind = TinyKind::kCells,
                       .shape = shape(10),
                       .stride = kStride}}};
}

DetectorSpec bright_spec() {
  DetectorSpec spec = scrfd_spec({256, 192}, {32});
  spec.anchors = 1;
  spec.normalisation = {Channels::kRgb, {}, 1.0f / 255};
  return spec;
}

}  // namespace

TEST_SUITE_BEGIN("detect_grids");

TEST_CASE("SCRFD: anchors are the corners of cells, ordered by row, column and anchor") {
  struct Case {
    const char* what;
    size_t grid, anchor;
    std::array<float, 4> sides;  // left, top, right, bottom, in cells
    Box expected;
  };
  const Case cases[] = {
      {"the first", 0, 0, {1, 2, 3, 4}, {-8, -16, 32, 48}},
      {"the second of a cell", 0, 1, {1, 1, 1, 1}, {-8, -8, 16, 16}},
      {"the next cell", 0, 2, {1, 1, 1, 1}, {0, -8, 16, 16}},
      {"the next row", 0, 2 * 12, {1, 1, 1, 1}, {-8, 0, 16, 16}},
      {"the last of the first grid", 0, 191, {1, 1, 1, 1}, {80, 48, 16, 16}},
      {"the second grid", 1, 2 * 7, {1, 1, 2, 2}, {0, 0, 48, 48}},
      {"the last of the last", 2, 11, {0.5f, 0.5f, 1, 0.25f}, {48, 16, 48, 24}},
  };
  for (const Case& c : cases) {
    CAPTURE(c.what);
    Buffers buffers = buffers_of(kScrfdSizes);
    buffers[c.grid][c.anchor] = 0.75f;
    std::copy(c.sides.begin(), c.sides.end(),
              buffers[3 + c.grid].begin() + static_cast<std::ptrdiff_t>(4 * c.anchor));
    const auto found = decoded(kScrfd, scrfd_spec(), buffers);
    REQUIRE(found.size() == 1);
    CHECK(found[0].score == 0.75f);
    check_box(found[0].box, c.expected);
  }
}

TEST_CASE("SCRFD: a score is taken as it is, and the limit is inclusive") {
  for (const float score : {0.49f, 0.5f, 1.0f, kNan, -kInfinity}) {
    CAPTURE(score);
    Buffers buffers = buffers_of(kScrfdSizes);
    buffers[1][0] = score;
    CHECK(decoded(kScrfd, scrfd_spec(), buffers).size() == (score >= 0.5f ? 1 : 0));
  }
}

TEST_CASE("RetinaFace: square priors are in the middle of cells, the second score is the face's") {
  struct Case {
    const char* what;
    size_t prior;
    std::array<float, 4> t;
    Box expected;
  };
  const Case cases[] = {
      {"the first", 0, {0, 0, 0, 0}, {-4, -4, 16, 16}},
      {"the second of a cell", 1, {0, 0, 0, 0}, {-12, -12, 32, 32}},
      {"the next cell", 2, {0, 0, 0, 0}, {4, -4, 16, 16}},
      {"the next row", 2 * 12, {0, 0, 0, 0}, {-4, 4, 16, 16}},
      {"the second grid", 192, {0, 0, 0, 0}, {-24, -24, 64, 64}},
      {"the last one", 251, {0, 0, 0, 0}, {-176, -208, 512, 512}},
      {"moved by tenths of its side", 0, {10, -5, 0, 0}, {12, -12, 16, 16}},
      {"grown by fifths of a logarithm", 0, {0, 0, 5, -5}, {-17.75f, 1.057f, 43.49f, 5.886f}},
  };
  for (const Case& c : cases) {
    CAPTURE(c.what);
    Buffers buffers = buffers_of(kRetinafaceSizes);
    for (size_t i = 0; i < buffers[0].size(); i += 2) buffers[0][i] = 1;
    buffers[0][2 * c.prior + 1] = 0.9f;
    std::copy(c.t.begin(), c.t.end(),
              buffers[1].begin() + static_cast<std::ptrdiff_t>(4 * c.prior));
    const auto found = decoded(kRetinaface, retinaface_spec(), buffers);
    REQUIRE(found.size() == 1);
    CHECK(found[0].score == 0.9f);
    check_box(found[0].box, c.expected);
  }
}

TEST_CASE("RetinaFace: cells that extend beyond the input count") {
  const DetectorSpec spec = retinaface_spec({90, 60});
  CHECK_FALSE(kRetinaface.mismatch(spec, {90, 60}, kRetinafaceSizes));
  Buffers buffers = buffers_of(kRetinafaceSizes);
  buffers[0][2 * (2 * 12) + 1] = 1;
  const auto found = decoded(kRetinaface, spec, buffers);
  REQUIRE(found.size() == 1);
  check_box(found[0].box, {-4, 4, 16, 16});
}

TEST_CASE("impossible numbers give no face") {
  // 449: the least whole number whose exponential, by its variance, overflows a float.
  constexpr std::array kHostile = {kNan, kInfinity, -kInfinity, 1e38f, -1e38f, 449.0f, -449.0f};
  const auto scrfd = [](size_t place, float value) {
    Buffers buffers = buffers_of(kScrfdSizes);
    buffers[1][2 * 7] = 0.9f;
    for (size_t i = 0; i < 4; ++i) buffers[4][4 * 2 * 7 + i] = i == place ? value : 1;
    return possible(decoded(kScrfd, scrfd_spec(), buffers));
  };
  const auto retinaface = [](size_t place, float value) {
    Buffers buffers = buffers_of(kRetinafaceSizes);
    buffers[0][1] = 0.9f;
    buffers[1][place] = value;
    return possible(decoded(kRetinaface, retinaface_spec(), buffers));
  };
  CHECK(scrfd(0, 1) == 1);
  CHECK(retinaface(0, 0) == 1);
  for (size_t place = 0; place < 4; ++place) {
    for (const float value : kHostile) {
      CAPTURE(place);
      CAPTURE(value);
      CHECK(scrfd(place, value) == 0);
      CHECK(retinaface(place, value) == 0);
    }
  }
}

TEST_CASE("a mismatch names the output or the input that does not fit") {
  CHECK_FALSE(kScrfd.mismatch(scrfd_spec(), kInput, kScrfdSizes));
  CHECK_FALSE(kRetinaface.mismatch(retinaface_spec(), kInput, kRetinafaceSizes));
  struct Case {
    const char* what;
    cv::Size input;
    size_t place, size;
    const char* said;
  };
  const Case cases[] = {
      {"a width that is no multiple", {100, 64}, 0, 192, "multiples of 32"},
      {"a height that is no multiple", {96, 80}, 0, 192, "multiples of 32"},
      {"another input", {96, 96}, 0, 192, "\"scores\" for stride 8 has 192 numbers instead of 288"},
      {"one anchor in place of two", kInput, 1, 24, "stride 16 has 24 numbers instead of 48"},
      {"boxes of five numbers", kInput, 5, 60, "\"boxes\" for stride 32 has 60 numbers"},
      {"nothing", kInput, 2, 0, "\"scores\" for stride 32 has 0 numbers instead of 12"},
  };
  for (const Case& c : cases) {
    CAPTURE(c.what);
    auto sizes = kScrfdSizes;
    sizes[c.place] = c.size;
    const auto reason = kScrfd.mismatch(scrfd_spec(), c.input, sizes);
    REQUIRE(reason);
    CHECK(reason->find(c.said) != std::string::npos);
  }
  const auto reason = kRetinaface.mismatch(retinaface_spec(), {96, 96}, kRetinafaceSizes);
  REQUIRE(reason);
  CHECK(reason->find("\"scores\" has 504 numbers instead of 756") != std::string::npos);
}

TEST_CASE("outputs are found by their shapes, of two or three sides, whatever their order") {
  const std::vector<std::string> expected = {"443", "468", "493", "446", "471", "496"};
  for (const bool batch : {false, true}) {
    const auto shape = [&](int64_t rows, int64_t columns) {
      return batch ? Shape{1, rows, columns} : Shape{rows, columns};
    };
    CHECK(chosen(kScrfd, scrfd_spec(),
                 {{"449", shape(192, 10)},
                  {"446", shape(192, 4)},
                  {"443", shape(192, 1)},
                  {"499", shape(12, 10)},
                  {"496", shape(12, 4)},
                  {"493", shape(12, 1)},
                  {"471", shape(48, 4)},
                  {"468", shape(48, 1)},
                  {"474", shape(48, 10)}}) == expected);
  }
  CHECK(chosen(kRetinaface, retinaface_spec(),
               {{"output0", {1, 252, 4}}, {"593", {1, 252, 2}}, {"592", {1, 252, 10}}}) ==
        std::vector<std::string>{"593", "output0"});
}

TEST_CASE("an output that is missing, or that is there twice, is told with what there is") {
  struct Case {
    const char* what;
    std::vector<Named> outputs;
    const char* said;
  };
  const Case cases[] = {
      {"none", {}, "no output of the shape 252×2, for \"scores\""},
      {"all in one", {{"output0", {1, 252, 16}}}, "there are \"output0\" 1×252×16"},
      {"boxes on their side",
       {{"a", {1, 252, 2}}, {"b", {1, 4, 252}}},
       "no output of the shape 252×4, for \"boxes\""},
      {"scores twice",
       {{"a", {252, 2}}, {"b", {252, 4}}, {"c", {252, 2}}},
       "several outputs of the shape 252×2"},
      {"a number alone", {{"a", {}}, {"b", {252, 4}}}, "no output of the shape 252×2"},
      {"another input", {{"a", {1, 300, 2}}, {"b", {1, 300, 4}}}, "\"a\" 1×300×2"},
  };
  for (const Case& c : cases) {
    CAPTURE(c.what);
    const auto error = refusal([&] { chosen(kRetinaface, retinaface_spec(), c.outputs); });
    REQUIRE(error);
    CHECK(error->message.find(c.said) != std::string::npos);
    CHECK(error->message.find("name the outputs in the manifest") != std::string::npos);
  }
}

TEST_CASE("a detector whose outputs have no names in the manifest finds a bright square") {
  // The cell of 32 pixels in the sixth column and the third row, as the net sees it.
  cv::Mat picture(192, 256, CV_8UC3, cv::Scalar::all(20));
  picture(cv::Rect(160, 64, 32, 32)) = cv::Scalar::all(250);
  struct Case {
    const char* what;
    Shape input;
    bool with_batch;
  };
  const Case cases[] = {
      {"fixed sides, rank 3", {1, 3, 192, 256}, true},
      {"fixed sides, rank 2", {1, 3, 192, 256}, false},
      {"open sides, rank 3", {1, 3, -1, -1}, true},
      {"open batch and sides, rank 2", {-1, 3, -1, -1}, false},
  };
  for (const Case& c : cases) {
    CAPTURE(c.what);
    const TinyDetector tiny(bright(c.input, c.with_batch), bright_spec());
    CHECK((*tiny).spec().outputs == std::vector<std::string>{"443", "460"});
    const auto found = (*tiny).detect(picture, 0.7f);
    REQUIRE(found.size() == 1);
    const float side = 1.5f * 250 / 255 * 32;
    check_box(found[0].box, {160 - side, 64 - side, 2 * side, 2 * side});
    // Of an upright picture a net with open sides sees no more than it needs.
    const bool open = c.input.back() < 0;
    CHECK((*tiny).frame_for({100, 200}) == (open ? cv::Size(96, 192) : cv::Size(256, 192)));
    CHECK((*tiny).detect(cv::Mat(200, 100, CV_8UC3, cv::Scalar::all(20)), 0.7f).empty());
  }
}

TEST_CASE("a score just above 1 is 1, as quantised nets have them; anything more is no face") {
  cv::Mat picture(192, 256, CV_8UC3, cv::Scalar::all(20));
  picture(cv::Rect(160, 64, 32, 32)) = cv::Scalar::all(255);
  for (const float score : {1.0f, 1.008f, 1.2f}) {
    TinyNet net = bright({1, 3, 192, 256}, true);
    net.outputs[1].numbers = {score};
    const auto found = (*TinyDetector(net, bright_spec())).detect(picture, 0.7f);
    REQUIRE(found.size() == (score < 1.1f ? 1 : 0));
    if (!found.empty()) CHECK(found[0].score == 1);
  }
}

TEST_CASE("an output that holds no floats hinders only a detector whose outputs have no names") {
  TinyNet net = bright({1, 3, -1, -1}, true);
  net.outputs.push_back(
      {.name = "count", .numbers = {1}, .kind = TinyKind::kCast, .type = kInt64Type});
  DetectorSpec spec = bright_spec();
  const auto error = refusal([&] { const TinyDetector tiny(net, spec); });
  REQUIRE(error);
  CHECK(error->message.find("the output \"count\" of the net") != std::string::npos);
  spec.outputs = {"443", "460"};
  CHECK_FALSE(refusal([&] { const TinyDetector tiny(net, spec); }));
}

TEST_CASE("outputs that the manifest names are checked too") {
  struct Case {
    const char* what;
    std::vector<std::string> outputs;
    const char* said;
  };
  const Case cases[] = {
      {"in order", {"443", "460"}, nullptr},
      {"exchanged", {"460", "443"}, "\"scores\" for stride 32 has 192 numbers instead of 48"},
      {"another", {"443", "points"}, "\"boxes\" for stride 32 has 480 numbers instead of 192"},
      {"missing", {"443", "446"}, "no output \"446\"; there are \"460\", \"443\", \"points\""},
  };
  for (const Case& c : cases) {
    CAPTURE(c.what);
    DetectorSpec spec = bright_spec();
    spec.outputs = c.outputs;
    const auto error =
        refusal([&] { const TinyDetector tiny(bright({1, 3, -1, -1}, true), spec); });
    REQUIRE(error.has_value() == (c.said != nullptr));
    if (error) CHECK(error->message.find(c.said) != std::string::npos);
  }
  // As many numbers, in another order.
  TinyNet turned = bright({1, 3, -1, -1}, true);
  turned.outputs[0].shape = {1, 4, -1};
  DetectorSpec spec = bright_spec();
  spec.outputs = {"443", "460"};
  const auto error = refusal([&] { const TinyDetector tiny(turned, spec); });
  REQUIRE(error);
  CHECK(error->message.find("has the shape 1×4×48, whose last side should be 4") !=
        std::string::npos);
}

TEST_SUITE_END();

}  // namespace facematch::testing
