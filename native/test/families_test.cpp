// Tests of detector families: how outputs are decoded to boxes, and which outputs a net must have.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>

#include "../core/find/detect.h"
#include "support.h"
#include "tiny_net.h"

namespace facematch::testing {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

// Not square, so that swapped axes are detected.
const cv::Size kInput(96, 64);

DetectorSpec spec_of(const char* family, cv::Size whole = kInput) {
  DetectorSpec spec;
  spec.file = "detect.onnx";
  spec.family = family;
  spec.input = "input";
  spec.width = whole.width;
  spec.height = whole.height;
  spec.strides = {8, 16, 32};
  spec.anchors = 2;
  spec.priors = {{16, 32}, {64, 128}, {256, 512}};
  spec.variances = {0.1f, 0.2f};
  return spec;
}

using Numbers = std::vector<float>;

// Outputs of a net that finds nothing; a test writes faces into them.
class RawOutputs {
 public:
  explicit RawOutputs(DetectorSpec spec, cv::Size input = {})
      : spec_(std::move(spec)),
        family_(detector_family(spec_.family)),
        input_(input.empty() ? cv::Size(spec_.width, spec_.height) : input) {
    const std::string family = spec_.family;
    const bool logits = family == "blazeface" || family.ends_with("_face");
    for (const OutputShape& output : family_.outputs(spec_, input_)) {
      const size_t any = family == "yolov8_face" ? 80 * cells_along(input_.height, output.stride)
                         : family == "yolov8_decoded" ? 20
                                                      : 10;
      const size_t rows = output.rows == kAnyRows ? any : output.rows;
      values_.emplace_back(rows * output.columns, logits ? -kInfinity : 0.0f);
      columns_.push_back(output.columns);
    }
    // Makes the background certain, because two equal classes mean a probability of 0.5.
    const size_t other = family == "retinaface_joined" ? 4 : 0;
    if (family.starts_with("retinaface"))
      for (size_t at = other; at < values_[0].size(); at += columns_[0]) values_[0][at] = 1;
  }

  // Writes the first numbers of a row of one of the outputs.
  RawOutputs& row(size_t output, size_t row, const Numbers& numbers) {
    const size_t at = row * columns_[output];
    REQUIRE((numbers.size() <= columns_[output] && at < values_[output].size()));
    std::copy(numbers.begin(), numbers.end(),
              values_[output].begin() + static_cast<std::ptrdiff_t>(at));
    return *this;
  }

  RawOutputs& number(size_t output, size_t place, float number) {
    values_[output].at(place) = number;
    return *this;
  }

  std::vector<Detection> decoded(float min_score = 0.5f) {
    const std::vector<std::span<float>> outputs(values_.begin(), values_.end());
    std::vector<Detection> found;
    family_.decode(spec_, input_, outputs, min_score, found);
    return found;
  }

 private:
  DetectorSpec spec_;
  const DetectorFamily& family_;
  cv::Size input_;
  std::vector<std::vector<float>> values_;
  std::vector<size_t> columns_;
};

void check_box(const Box& box, const Box& expected) {
  CHECK(box.x == doctest::Approx(expected.x).epsilon(0.001));
  CHECK(box.y == doctest::Approx(expected.y).epsilon(0.001));
  CHECK(box.width == doctest::Approx(expected.width).epsilon(0.001));
  CHECK(box.height == doctest::Approx(expected.height).epsilon(0.001));
}

// Returns a net with one stride that detects a face of three cells at each bright cell. The order
// and the names of its outputs do not show their meaning.
TinyNet bright(std::vector<int64_t> input, bool with_batch = true) {
  constexpr int kStride = 32;
  const auto output = [&](const char* name, std::vector<float> numbers) {
    const auto columns = static_cast<int64_t>(numbers.size());
    return TinyOutput{.name = name,
                      .numbers = std::move(numbers),
                      .kind = TinyKind::kCells,
                      .shape = with_batch ? std::vector<int64_t>{1, -1, columns}
                                          : std::vector<int64_t>{-1, columns},
                      .stride = kStride};
  };
  return {.shape = std::move(input),
          .outputs = {output("460", {1.5f, 1.5f, 1.5f, 1.5f}), output("443", {1}),
                      output("points", std::vector<float>(10, 1))}};
}

DetectorSpec bright_spec() {
  DetectorSpec spec = spec_of("scrfd", {256, 192});
  spec.strides = {32};
  spec.anchors = 1;
  spec.outputs = {"443", "460"};
  spec.normalisation = {Channels::kRgb, {}, 1.0f / 255};
  return spec;
}

// Writes a net to a separate file.
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

}  // namespace

TEST_SUITE_BEGIN("families");

TEST_CASE("rejects an unknown family with the list of names") {
  for (const char* name : {"", "haar", "RFB", "rfb ", "yunet2"}) {
    CAPTURE(name);
    const auto error = error_of([&] { detector_family(name); });
    REQUIRE(error);
    CHECK(error->message.find(
              "\"" + std::string(name) +
              "\"; known families: blazeface, retinaface, retinaface_joined, rfb, scrfd, "
              "scrfd_maps, ssd_decoded, yolov5_decoded, yolov5_face, "
              "yolov8_decoded, yolov8_face, yunet") != std::string::npos);
  }
}

TEST_CASE("returns the outputs of a family for an input, in the order of the manifest's members") {
  struct Case {
    const char* family;
    cv::Size input;
    const char* expected;  // stride: rows x columns
  };
  const Case cases[] = {
      {"rfb", {320, 240}, "scores 0: 4420x2, offsets 0: 4420x4, "},
      {"rfb", {240, 240}, "scores 0: 3326x2, offsets 0: 3326x4, "},
      {"blazeface", {128, 128}, "boxes 0: 896x16, scores 0: 896x1, "},
      {"blazeface", kInput, "boxes 0: 336x16, scores 0: 336x1, "},
      {"yunet", kInput,
       "cls 8: 96x1, cls 16: 24x1, cls 32: 6x1, obj 8: 96x1, obj 16: 24x1, obj 32: 6x1, "
       "bbox 8: 96x4, bbox 16: 24x4, bbox 32: 6x4, "},
      {"scrfd", kInput,
       "scores 8: 192x1, scores 16: 48x1, scores 32: 12x1, "
       "boxes 8: 192x4, boxes 16: 48x4, boxes 32: 12x4, "},
      {"scrfd_maps", kInput,
       "scores 8: 16x12, scores 16: 8x6, scores 32: 4x3, "
       "boxes 8: 64x12, boxes 16: 32x6, boxes 32: 16x3, "},
      {"retinaface", kInput, "scores 0: 252x2, boxes 0: 252x4, "},
      {"retinaface_joined", kInput, "joined 0: 252x16, "},
      {"ssd_decoded", kInput, "scores 0: 0x2, boxes 0: 0x4, "},
      {"yolov5_face", kInput, "grids 8: 288x16, grids 16: 72x16, grids 32: 18x16, "},
      {"yolov5_decoded", kInput, "boxes 0: 252x16, "},
      {"yolov8_face", kInput, "grids 8: 0x12, grids 16: 0x6, grids 32: 0x3, "},
      {"yolov8_decoded", kInput, "boxes 0: 0x126, "},
      // Cells that extend beyond the input are included.
      {"retinaface", {90, 60}, "scores 0: 252x2, boxes 0: 252x4, "},
  };
  for (const Case& c : cases) {
    std::string described;
    for (const OutputShape& output : detector_family(c.family).outputs(spec_of(c.family), c.input))
      described += std::string(output.member) + " " + std::to_string(output.stride) + ": " +
                   std::to_string(output.rows) + "x" + std::to_string(output.columns) + ", ";
    CHECK(described == c.expected);
    CHECK(RawOutputs(spec_of(c.family), c.input).decoded(0.01f).empty());
  }
}

TEST_CASE("decodes one row of the outputs to one box at the right place") {
  struct Case {
    const char* what;
    RawOutputs outputs;
    Box expected;
    float score = 0.9f;
  };
  const auto rfb = [](size_t row, Numbers offsets = {0}, cv::Size input = {320, 240}) {
    return RawOutputs(spec_of("rfb", {320, 240}), input)
        .row(0, row, {1, 0.9f})
        .row(1, row, offsets);
  };
  const auto yunet = [](size_t grid, size_t row, Numbers t) {
    RawOutputs outputs(spec_of("yunet"));
    return outputs.row(grid, row, {1}).row(3 + grid, row, {0.81f}).row(6 + grid, row, t);
  };
  // blazeface.cpp adds an offset to the logit, so odds of 3 become odds of 7.
  const auto blaze = [](size_t row, Numbers box) {
    return RawOutputs(spec_of("blazeface")).row(0, row, box).row(1, row, {std::log(3.0f)});
  };
  // A square of the longer side, enlarged and moved up to include the forehead.
  const auto around = [](float x, float y) { return Box{x - 11.6f, y - 12.2f, 23.2f, 23.2f}; };
  const auto scrfd = [](size_t grid, size_t row, Numbers sides) {
    return RawOutputs(spec_of("scrfd")).row(grid, row, {0.75f}).row(3 + grid, row, sides);
  };
  // Writes to the grid of stride 16, which has 6 x 4 cells.
  const auto maps = [](size_t anchor, size_t y, size_t x, float score) {
    RawOutputs outputs(spec_of("scrfd_maps"));
    const size_t cell = y * 6 + x;
    outputs.number(1, anchor * 24 + cell, score);
    const std::array sides = {1.0f, 2.0f, 3.0f, 4.0f};
    for (size_t i = 0; i < sides.size(); ++i)
      outputs.number(4, (anchor * 4 + i) * 24 + cell, sides[i]);
    return outputs;
  };
  RawOutputs logits = maps(1, 3, 5, std::log(9.0f));
  constexpr std::array kScores = {size_t{192}, size_t{48}, size_t{12}};
  for (size_t grid = 0; grid < kScores.size(); ++grid)
    for (size_t i = 0; i < kScores[grid]; ++i)
      if (grid != 1 || i != 24 + 3 * 6 + 5) logits.number(grid, i, -9);
  const auto retina = [](size_t row, Numbers t = {0}, cv::Size input = kInput) {
    return RawOutputs(spec_of("retinaface"), input).row(0, row, {0.1f, 0.9f}).row(1, row, t);
  };
  const auto joined = [](size_t row, Numbers classes) {
    Numbers numbers = {10, -5, 0, 0};
    numbers.insert(numbers.end(), classes.begin(), classes.end());
    return RawOutputs(spec_of("retinaface_joined")).row(0, row, numbers);
  };
  const auto ssd = [](size_t row, Numbers corners) {
    return RawOutputs(spec_of("ssd_decoded")).row(0, row, {0.1f, 0.9f}).row(1, row, corners);
  };
  // Logits of centre and sides, of an objectness of 15/16, and of a face score of 0.96.
  const auto yolo5 = [](size_t grid, size_t row, Numbers t) {
    Numbers numbers = {t[0], t[1], t[2], t[3], std::log(15.0f)};
    numbers.resize(16, kNan);
    numbers[15] = std::log(24.0f);
    return RawOutputs(spec_of("yolov5_face")).row(grid, row, numbers);
  };
  const auto yolo5_decoded = [](size_t row) {
    Numbers numbers = {30, 20, 10, 20, 0.95f};
    numbers.resize(16, kNan);
    numbers[15] = 0.947368f;
    return RawOutputs(spec_of("yolov5_decoded")).row(0, row, numbers);
  };
  // Writes to the grid of stride 16, which has 6 x 4 cells: sides of 1, 2, 3 and 4.5 cells.
  const auto yolo8 = [](size_t y, size_t x) {
    RawOutputs outputs(spec_of("yolov8_face"));
    const auto put = [&](size_t number, float logit) {
      outputs.number(1, (number * 4 + y) * 6 + x, logit);
    };
    for (const size_t distance : {1u, 16u + 2, 32u + 3, 48u + 4, 48u + 5}) put(distance, 9);
    put(64, std::log(9.0f));
    return outputs;
  };
  const auto yolo8_decoded = [](size_t box) {
    RawOutputs outputs(spec_of("yolov8_decoded"));
    const std::array numbers = {30.0f, 20.0f, 10.0f, 20.0f, 0.9f};
    for (size_t i = 0; i < numbers.size(); ++i) outputs.number(0, i * 126 + box, numbers[i]);
    return outputs;
  };
  const Numbers grown = {0.25f, -0.5f, std::log(1.5f), std::log(2.0f)};
  const Numbers ones = {1, 1, 1, 1}, face = {0, 0, 10, 20};
  const float seven_eighths = 7.0f / 8;
  // The input of RFB is 320 x 240: the third grid has 10 x 8 cells with two priors; the last has 5
  // x 4 with three.
  Case cases[] = {
      {"rfb: the first", rfb(0), {-1, -1, 10, 10}},
      {"rfb: the third grid, whose 8 rows divide the height", rfb(4220), {-16, 13, 64, 64}},
      {"rfb: the last one, no higher than the input", rfb(4419), {160, 90, 256, 240}},
      {"rfb: moved by tenths of its size", rfb(0, {10, -5, 0, 0}), {9, -6, 10, 10}},
      {"rfb: grown by fifths of a logarithm",
       rfb(0, {0, 0, 5, -5}),
       {-9.59f, 2.16f, 27.18f, 3.68f}},
      {"rfb: a narrower input has fewer columns", rfb(90, {0}, {240, 240}), {-1, 7, 10, 10}},
      {"rfb: in a lower input, cells keep their size",
       rfb(3260, {0}, {320, 184}),
       {-16, 13, 64, 64}},

      {"yunet: stride 8", yunet(0, 12 + 2, grown), {12, -4, 12, 16}},
      {"yunet: stride 16", yunet(1, 6 + 2, grown), {24, -8, 24, 32}},
      {"yunet: stride 32", yunet(2, 3 + 2, grown), {48, -16, 48, 64}},

      {"blazeface: the first", blaze(0, face), around(4, 4), seven_eighths},
      {"blazeface: the next cell", blaze(2, {0, 0, 20, 10}), around(12, 4), seven_eighths},
      {"blazeface: the last of the first grid", blaze(191, face), around(92, 60), seven_eighths},
      {"blazeface: the second grid's next row", blaze(192 + 36, face), around(8, 24),
       seven_eighths},
      {"blazeface: the last one", blaze(335, face), around(88, 56), seven_eighths},
      {"blazeface: moved by pixels", blaze(0, {30, 20, 10, 20}), around(34, 24), seven_eighths},

      {"scrfd: the first", scrfd(0, 0, {1, 2, 3, 4}), {-8, -16, 32, 48}, 0.75f},
      {"scrfd: the last of the first grid", scrfd(0, 191, ones), {80, 48, 16, 16}, 0.75f},
      {"scrfd: the second grid", scrfd(1, 14, {1, 1, 2, 2}), {0, 0, 48, 48}, 0.75f},
      {"scrfd: the last", scrfd(2, 11, {0.5f, 0.5f, 1, 0.25f}), {48, 16, 48, 24}, 0.75f},

      {"scrfd_maps: the first anchor", maps(0, 0, 0, 0.75f), {-16, -32, 64, 96}, 0.75f},
      {"scrfd_maps: the last of the second", maps(1, 3, 5, 0.75f), {64, 16, 64, 96}, 0.75f},
      {"scrfd_maps: logits, because some are negative", logits, {64, 16, 64, 96}},

      {"retinaface: the first", retina(0), {-4, -4, 16, 16}},
      {"retinaface: the next row", retina(24, {0}, {90, 60}), {-4, 4, 16, 16}},
      {"retinaface: the second grid", retina(192), {-24, -24, 64, 64}},
      {"retinaface: the last one", retina(251), {-176, -208, 512, 512}},
      {"retinaface: moved by tenths", retina(0, {10, -5, 0, 0}), {12, -12, 16, 16}},
      {"retinaface: grown", retina(0, {0, 0, 5, -5}), {-17.75f, 1.057f, 43.49f, 5.886f}},
      {"retinaface_joined: shares", joined(0, {0.1f, 0.9f}), {12, -12, 16, 16}},
      {"retinaface_joined: logits", joined(2, {1, 1 + std::log(9.0f)}), {20, -12, 16, 16}},

      {"ssd_decoded: shares of the input", ssd(9, {0.25f, 0.5f, 0.5f, 1}), {24, 32, 24, 32}},

      {"yolov5_face: the first", yolo5(0, 0, {0, 0, 0, 0}), {2, 1.5f, 4, 5}},
      {"yolov5_face: the next row", yolo5(0, 12, {0, 0, 0, 0}), {2, 9.5f, 4, 5}},
      {"yolov5_face: the second anchor", yolo5(0, 96, {0, 0, 0, 0}), {0, -1, 8, 10}},
      {"yolov5_face: the last", yolo5(2, 17, {0, 0, 0, 0}), {-87.5f, -168.5f, 335, 433}},
      {"yolov5_face: moved and grown by quarters",
       yolo5(1, 0, {std::log(3.0f), -std::log(3.0f), std::log(3.0f), -std::log(3.0f)}),
       {-9.875f, -3.625f, 51.75f, 7.25f}},
      {"yolov5_decoded: the last", yolo5_decoded(251), {25, 10, 10, 20}},

      {"yolov8_face: the first", yolo8(0, 0), {-8, -24, 64, 104}},
      {"yolov8_face: the last", yolo8(3, 5), {72, 24, 64, 104}},
      {"yolov8_decoded: the last", yolo8_decoded(125), {25, 10, 10, 20}},
  };
  for (Case& c : cases) {
    CAPTURE(c.what);
    const auto found = c.outputs.decoded();
    REQUIRE(found.size() == 1);
    CHECK(found[0].score == doctest::Approx(c.score));
    CHECK(found[0].found_by == FoundBy::kPrimary);
    check_box(found[0].box, c.expected);
  }
}

TEST_CASE("returns no face for invalid numbers") {
  // The exponential of 449 times RetinaFace's variance overflows a float.
  constexpr std::array kHostile = {kNan, kInfinity, -kInfinity, 1e38f, -1e38f, 449.0f, -449.0f};
  struct Case {
    const char* family;
    std::vector<std::pair<size_t, Numbers>> scores;  // output, numbers
    size_t boxes, row;
    Numbers ordinary;
  };
  const Case cases[] = {
      {"rfb", {{0, {1, 0.9f}}}, 1, 40, {0, 0, 0, 0}},
      {"yunet", {{1, {0.9f}}, {4, {0.9f}}}, 7, 14, {0, 0, 0.5f, 0.5f}},
      {"blazeface", {{1, {5}}}, 0, 100, {0, 0, 30, 30}},
      {"scrfd", {{1, {0.9f}}}, 4, 14, {1, 1, 1, 1}},
      {"retinaface", {{0, {0.1f, 0.9f}}}, 1, 0, {0, 0, 0, 0}},
      {"retinaface_joined", {{0, {0, 0, 0, 0, 0.1f, 0.9f}}}, 0, 0, {0, 0, 0, 0}},
      {"ssd_decoded", {{0, {0.1f, 0.9f}}}, 1, 0, {0.1f, 0.1f, 0.5f, 0.5f}},
      {"yolov5_decoded", {{0, Numbers(16, 1)}}, 0, 0, {30, 20, 10, 20}},
  };
  for (const Case& c : cases) {
    const auto faces = [&](size_t place, float value) {
      RawOutputs outputs(spec_of(c.family));
      for (const auto& [output, numbers] : c.scores) outputs.row(output, c.row, numbers);
      Numbers box = c.ordinary;
      if (place < box.size()) box[place] = value;
      auto found = outputs.row(c.boxes, c.row, box).decoded();
      std::erase_if(found, [](const Detection& d) { return !is_possible(d, kInput); });
      return found.size();
    };
    CAPTURE(c.family);
    CHECK(faces(4, 0) == 1);
    for (size_t place = 0; place < 4; ++place) {
      for (const float value : kHostile) {
        CAPTURE(place);
        CAPTURE(value);
        CHECK(faces(place, value) == 0);
      }
    }
  }
}

TEST_CASE("returns no face for invalid numbers in maps") {
  for (const float value : {kNan, kInfinity, -kInfinity, 1e38f, -1e38f}) {
    for (size_t side = 0; side < 5; ++side) {
      CAPTURE(value);
      CAPTURE(side);
      RawOutputs outputs(spec_of("scrfd_maps"));
      outputs.number(1, 8, 0.9f);
      // Writes to the planes of the first anchor, in the grid of stride 16 with 6 x 4 cells.
      for (size_t i = 0; i < 4; ++i) outputs.number(4, i * 24 + 8, i == side ? value : 1);
      auto found = outputs.decoded();
      std::erase_if(found, [](const Detection& d) { return !is_possible(d, kInput); });
      CHECK(found.size() == (side == 4 ? 1 : 0));
    }
  }
}

TEST_CASE("finds a bright square with fixed and with dynamic input sides") {
  // The cell of 32 pixels in the sixth column and the third row of the net's input.
  cv::Mat image(192, 256, CV_8UC3, cv::Scalar::all(20));
  image(cv::Rect(160, 64, 32, 32)) = cv::Scalar::all(250);
  struct Case {
    const char* what;
    std::vector<int64_t> input;
    bool with_batch;
  };
  const Case cases[] = {
      {"fixed sides, rank 3", {1, 3, 192, 256}, true},
      {"fixed sides, rank 2", {1, 3, 192, 256}, false},
      {"dynamic sides, rank 3", {1, 3, -1, -1}, true},
      {"dynamic batch and sides, rank 2", {-1, 3, -1, -1}, false},
  };
  for (const Case& c : cases) {
    CAPTURE(c.what);
    const TinyDetector tiny(bright(c.input, c.with_batch), bright_spec());
    const float side = 1.5f * 250 / 255 * 32;
    // The image may fill only a part of the frame.
    for (const cv::Rect part :
         {cv::Rect(0, 0, 256, 192), cv::Rect(0, 0, 256, 96), cv::Rect(128, 0, 128, 192)}) {
      const auto found = (*tiny).detect(image(part), 0.7f);
      REQUIRE(found.size() == 1);
      const float x = static_cast<float>(160 - part.x) - side;
      check_box(found[0].box, {x, 64 - side, 2 * side, 2 * side});
    }
    // The input of a net with dynamic sides is no larger than a tall image needs.
    const bool open = c.input.back() < 0;
    CHECK((*tiny).frame_for({100, 200}) == (open ? cv::Size(96, 192) : cv::Size(256, 192)));
    CHECK((*tiny).detect(cv::Mat(200, 100, CV_8UC3, cv::Scalar::all(20)), 0.7f).empty());
  }
}

TEST_CASE("clamps a score just above 1, as quantised nets return it, and drops higher ones") {
  const cv::Mat white(192, 256, CV_8UC3, cv::Scalar::all(255));
  for (const float score : {1.0f, 1.008f, 1.2f}) {
    TinyNet net = bright({1, 3, 192, 256});
    net.outputs[1].numbers = {score};
    const auto found = (*TinyDetector(net, bright_spec())).detect(white, 0.7f);
    CHECK(found.empty() == (score > 1.1f));
    for (const Detection& face : found) CHECK(face.score == 1);
  }
}

TEST_CASE("rejects outputs that do not fit the family, and states the reason") {
  const TinyNet open = bright({1, 3, -1, -1});
  TinyNet turned = open, counting = open;
  turned.outputs[0].shape = {1, 4, -1};
  counting.outputs[1] = {
      .name = "443", .numbers = {1}, .kind = TinyKind::kCast, .type = kInt64Type};
  struct Case {
    const char* what;
    const TinyNet& net;
    std::vector<std::string> outputs;
    const char* message;
  };
  const Case cases[] = {
      {"in order", open, {"443", "460"}, nullptr},
      {"exchanged",
       open,
       {"460", "443"},
       "\"scores\" for stride 32 has the shape 1×48×4 instead of 48×1"},
      {"another",
       open,
       {"443", "points"},
       "\"boxes\" for stride 32 has the shape 1×48×10 instead of 48×4"},
      {"missing",
       open,
       {"443", "446"},
       "no output \"446\"; available: \"460\", \"443\", \"points\""},
      {"too few", open, {"443"}, "the manifest must name 2 outputs"},
      {"the same number of values, in another order",
       turned,
       {"443", "460"},
       "has the shape 1×4×48 instead of 48×4"},
      {"no floats", counting, {"443", "460"}, "the output \"443\" of the net"},
  };
  for (const Case& c : cases) {
    CAPTURE(c.what);
    DetectorSpec spec = bright_spec();
    spec.outputs = c.outputs;
    const auto error = error_of([&] { const TinyDetector tiny(c.net, spec); });
    REQUIRE(error.has_value() == (c.message != nullptr));
    if (error) CHECK(error->message.find(c.message) != std::string::npos);
  }
}

TEST_SUITE_END();

}  // namespace facematch::testing
