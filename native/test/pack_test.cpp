// Tests packs whose nets have any shape and return any numbers. With a pack that loads, analyse()
// must return an Analysis or throw an Error. These tests are most useful under AddressSanitizer and
// UBSan.
#include "../core/runtime/pack.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "../core/pipeline.h"
#include "drawing.h"
#include "tiny_net.h"

namespace facematch::testing {
namespace {

using Json = nlohmann::json;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

constexpr int kFrame = 64;  // side of the detector's input, pixels
constexpr int kCrop = 16;
constexpr int kChip = 16;
constexpr int kDimensions = 8;

// Number of priors of the family rfb for a square frame: three, two, two and three in each cell.
constexpr size_t kPriors = 8 * 8 * 3 + 4 * 4 * 2 + 2 * 2 * 2 + 1 * 1 * 3;

TinyOutput shaped(const char* name, int64_t rows, int64_t columns, std::vector<float> numbers) {
  numbers.resize(static_cast<size_t>(rows * columns));
  return {.name = name, .numbers = std::move(numbers), .shape = {rows, columns}};
}

// Returns a detector that is certain of one face: the largest prior in the centre of the frame.
TinyNet detector(std::vector<float> offsets = std::vector<float>(4 * kPriors), float score = 1) {
  std::vector<float> scores(2 * kPriors);
  scores.back() = score;
  return {.shape = {1, 3, kFrame, kFrame},
          .outputs = {shaped("scores", kPriors, 2, std::move(scores)),
                      shaped("offsets", kPriors, 4, std::move(offsets))}};
}

// Returns points with eyes, nose and mouth as in the template; all others are on the nose.
std::vector<float> face_points() {
  std::vector<float> shares;
  for (int i = 0; i < 68; ++i) {
    const bool right_eye = i >= 36 && i <= 41, left_eye = i >= 42 && i <= 47;
    const float x = right_eye || i == 48 ? 0.35f : left_eye || i == 54 ? 0.65f : 0.5f;
    const float y = right_eye || left_eye ? 0.35f : i == 48 || i == 54 ? 0.7f : 0.52f;
    shares.insert(shares.end(), {x, y});
  }
  return shares;
}

TinyNet landmarks(std::vector<float> points, float gain = 0) {
  return {.shape = {1, 1, kCrop, kCrop},
          .outputs = {{.name = "points", .numbers = std::move(points), .gain = gain}}};
}

TinyNet embedder(std::vector<float> numbers, float gain = 1) {
  return {.shape = {1, 3, kChip, kChip},
          .outputs = {{.name = "embedding", .numbers = std::move(numbers), .gain = gain}}};
}

TinyNet liveness(std::vector<float> logits, float gain = 0) {
  return {.shape = {1, 3, kCrop, kCrop},
          .outputs = {{.name = "logits", .numbers = std::move(logits), .gain = gain}}};
}

Json manifest() {
  return Json::parse(R"({
    "min_det_score": 0.5,
    "detector": {"file": "detect.onnx", "family": "rfb", "input": "input", "scores": "scores",
                 "offsets": "offsets", "width": 64, "height": 64, "channels": "rgb", "mean": 127,
                 "scale": 0.0078125, "nms_iou": 0.4, "second_look_score": 0.9,
                 "clear_score": 0.999998},
    "landmarks": {"file": "landmark.onnx", "family": "points68", "input": "input",
                  "output": "points", "size": 16, "channels": "grey", "mean": 0, "scale": 0.004,
                  "crop": 1.1, "upright_degrees": 6, "clear_template_error": 0.1,
                  "max_instability": {"quick": 0.021, "thorough": 0.02, "closeup": 0.023,
                                      "close_detector": 0.1}},
    "embedder": {"file": "embed.onnx", "family": "arcface", "input": "input",
                 "output": "embedding", "size": 16, "channels": "bgr", "dimensions": 8,
                 "mean": 127, "scale": 0.0078125,
                 "template": [[5.6, 5.6], [10.4, 5.6], [8, 8.32], [5.6, 11.2], [10.4, 11.2]]},
    "cohort": {"file": "cohort.i8", "centres": 3, "highest": 2, "weight": 0.5},
    "human": {"file": "human.i8", "scale": 0.01, "bias": 1, "threshold": -1},
    "occlusion": {"file": "human.i8", "scale": 0.01, "bias": 1},
    "liveness": {"family": "minifasnet", "nets": [
      {"file": "live.onnx", "input": "input", "output": "logits", "size": 16, "scale": 2.7},
      {"file": "live.onnx", "input": "input", "output": "logits", "size": 16, "scale": 4}
    ]}
  })");
}

// Returns a manifest with SCRFD and, for close faces, RetinaFace.
Json manifest_with_anchors() {
  Json json = manifest();
  for (const char* member : {"scores", "offsets"}) json["detector"].erase(member);
  json["close_detector"] = json["detector"];
  json["detector"].update(Json::parse(R"({
    "file": "detect-scrfd.onnx", "family": "scrfd", "strides": [16, 32], "anchors": 2,
    "scores": ["s16", "s32"], "boxes": ["b16", "b32"]
  })"));
  json["close_detector"].update(Json::parse(R"({
    "file": "detect-retinaface.onnx", "family": "retinaface", "strides": [16, 32],
    "priors": [[16, 32], [48]], "variances": [0.1, 0.2], "mean": [104, 117, 123],
    "scores": "conf", "boxes": "loc"
  })"));
  return json;
}

// Number of rows for a frame of 64 pixels.
constexpr int64_t kRows16 = 4 * 4 * 2, kRows32 = 2 * 2 * 2, kRetinafaceRows = 4 * 4 * 2 + 2 * 2;

// Returns a detector that is certain of a face at the last anchor, in the centre of the frame.
TinyNet scrfd(float side = 0.9f, float score = 1) {
  std::vector<float> scores(static_cast<size_t>(kRows32)), boxes(static_cast<size_t>(4 * kRows32));
  scores.back() = score;
  std::fill(boxes.end() - 4, boxes.end(), side);
  return {.shape = {1, 3, kFrame, kFrame},
          .outputs = {shaped("s16", kRows16, 1, {}), shaped("b16", kRows16, 4, {}),
                      shaped("s32", kRows32, 1, scores), shaped("b32", kRows32, 4, boxes)}};
}

TinyNet retinaface() {
  std::vector<float> scores(static_cast<size_t>(2 * kRetinafaceRows));
  scores.back() = 1;
  return {.shape = {1, 3, kFrame, kFrame},
          .outputs = {shaped("conf", kRetinafaceRows, 2, scores),
                      shaped("loc", kRetinafaceRows, 4, {})}};
}

const ByteVector kImage = encode_png(gradient(80, 80));

struct TinyFile {
  const char* name;
  ByteVector bytes;
};

std::vector<TinyFile> pack_files() {
  TinyNet doubles = landmarks(face_points());
  doubles.input_type = kDoubleType;
  TinyNet whole = embedder(std::vector<float>(kDimensions, 1));
  whole.outputs[0].kind = TinyKind::kCast;
  whole.outputs[0].type = kInt64Type;
  TinyNet growing = embedder({});
  growing.outputs[0].kind = TinyKind::kWhere;
  growing.shape = {-1, -1, -1, -1};
  TinyNet flat = embedder(std::vector<float>(kDimensions, 1));
  flat.shape = {1, 3 * kChip * kChip};
  std::vector<float> embedding(kDimensions), points = face_points();
  for (size_t i = 0; i < embedding.size(); ++i) embedding[i] = static_cast<float>(i) - 3;
  const ByteVector net = embedder(embedding).file();
  const auto with = [](std::vector<float> numbers, float number) {
    numbers[1] = number;
    return numbers;
  };
  return {
      {"detect.onnx", detector().file()},
      {"detect-nan.onnx", detector(std::vector<float>(4 * kPriors), kNan).file()},
      {"detect-scrfd.onnx", scrfd().file()},
      {"detect-scrfd-blind.onnx", scrfd(0.9f, 0).file()},
      {"detect-scrfd-wild.onnx", scrfd(kInfinity, kNan).file()},
      {"detect-retinaface.onnx", retinaface().file()},
      {"landmark.onnx", landmarks(points).file()},
      {"landmark-nan.onnx", landmarks(with(points, kNan)).file()},
      {"landmark-infinite.onnx", landmarks(with(points, kInfinity)).file()},
      {"landmark-far.onnx", landmarks(with(points, -3e38f)).file()},
      {"landmark-one.onnx", landmarks(std::vector<float>(136, 0.5f)).file()},
      {"landmark-moving.onnx", landmarks(points, 0.3f).file()},
      {"landmark-doubles.onnx", doubles.file()},
      {"embed.onnx", embedder(embedding).file()},
      {"embed-nan.onnx", embedder(with(embedding, kNan)).file()},
      {"embed-infinite.onnx", embedder(with(embedding, -kInfinity)).file()},
      {"embed-huge.onnx", embedder(with(embedding, 3e38f)).file()},
      {"embed-tiny.onnx", embedder(std::vector<float>(kDimensions, 1e-40f), 0).file()},
      {"embed-zero.onnx", embedder(std::vector<float>(kDimensions), 0).file()},
      {"embed-whole.onnx", whole.file()},
      {"embed-growing.onnx", growing.file()},
      {"embed-flat.onnx", flat.file()},
      {"embed-empty.onnx", {}},
      {"embed-text.onnx", ByteVector(1000, 'x')},
      {"embed-half.onnx", {net.begin(), net.begin() + std::ssize(net) / 2}},
      {"live.onnx", liveness({0, 1, 0}, 0.1f).file()},
      {"live-nan.onnx", liveness({0, kNan, 0}).file()},
      {"live-infinite.onnx", liveness({kInfinity, 0, 0}).file()},
      {"live-huge.onnx", liveness({3e38f, -3e38f, 3e38f}).file()},
      {"live-two.onnx", liveness({0, 1}).file()},
      {"cohort.i8",
       ByteVector{1, 2, 3, 4, 5, 6, 7, 8, 9, 8, 7, 6, 5, 4, 3, 2, 0, 0, 0, 0, 0, 0, 0, 0}},
      {"human.i8", ByteVector(kDimensions, 128)},
      {"empty.i8", {}},
  };
}

// A folder of tiny nets.
class TinyPack {
 public:
  TinyPack() {
    for (const auto& [name, bytes] : pack_files()) write_file(folder_.path() / name, bytes);
  }

  Pack as(const Json& manifest) const { return pack_of(folder_.path(), manifest); }

 private:
  TemporaryFolder folder_;
};

void check(const Analysis& analysis) {
  for (const Face& face : analysis.faces) {
    double square = 0;
    for (const float number : face.embedding) square += static_cast<double>(number) * number;
    REQUIRE((square == 0 || std::abs(square - 1) < 1e-3));
    for (const Point& point : face.landmarks.points()) {
      REQUIRE((std::isfinite(point.x) && std::isfinite(point.y)));
    }
    REQUIRE(std::isfinite(face.cohort_score));
    const float live = face.live_score.value_or(0);
    REQUIRE((live >= 0 && live <= 1));
  }
}

// Analyses an image with the pack. Exceptions other than Error pass through and fail the test.
std::optional<Analysis> analysed(const Pack& pack, const ByteVector& image, AccuracyMode mode) {
  try {
    const Engine engine(pack);
    AnalyseOptions options = options_of(mode, 0.5f);
    options.limits = kAnySize;
    options.detect_presentation_attack = true;
    Analysis analysis = analyse(engine, image, options);
    check(analysis);
    return analysis;
  } catch (const Error& error) {
    REQUIRE(error.code == ErrorCode::kInternalError);
    REQUIRE_FALSE(error.message.empty());
    return std::nullopt;
  }
}

}  // namespace

TEST_SUITE_BEGIN("pack");

TEST_CASE(
    "finds the face with a pack of tiny nets, also with SCRFD, and with RetinaFace for close "
    "faces") {
  const TinyPack pack;
  Json exchanged = manifest_with_anchors();
  std::swap(exchanged["detector"], exchanged["close_detector"]);
  for (const Json& json : {manifest(), manifest_with_anchors(), exchanged}) {
    const auto analysis = analysed(pack.as(json), kImage, AccuracyMode::kBalance);
    REQUIRE(analysis);
    REQUIRE(analysis->faces.size() == 1);
    CHECK(analysis->faces[0].embedding.size() == kDimensions);
  }
}

TEST_CASE("finds a face in the first pass that only a close detector of the same family detects") {
  const TinyPack pack;
  const auto faces = [&](const char* file, const char* close, bool fallback) {
    Json json = manifest_with_anchors();
    json["close_detector"] = json["detector"];
    json["detector"]["file"] = file;
    json["close_detector"]["file"] = close;
    const Engine engine(pack.as(json));
    AnalyseOptions options = options_of(AccuracyMode::kFast, 0.5f);
    options.limits = kAnySize;
    options.use_heuristic_fallback = fallback;
    return analyse(engine, kImage, options).faces;
  };
  const auto found = faces("detect-scrfd-blind.onnx", "detect-scrfd.onnx", false);
  REQUIRE(found.size() == 1);
  CHECK(found[0].found_by == FoundBy::kPrimary);
  // If both detectors find the face, it is listed once.
  CHECK(faces("detect-scrfd.onnx", "detect-scrfd.onnx", false).size() == 1);
  CHECK(faces("detect-scrfd-blind.onnx", "detect-scrfd-blind.onnx", true).empty());
}

TEST_CASE("reads the limits for a clearly upright face from the manifest") {
  const TinyPack pack;
  const auto faces = [&](float clear_score, float clear_template_error, float instability) {
    Json json = manifest();
    json["landmarks"]["file"] = "landmark-moving.onnx";
    json["detector"]["clear_score"] = clear_score;
    json["landmarks"]["clear_template_error"] = clear_template_error;
    for (auto& [_, limit] : json["landmarks"]["max_instability"].items()) limit = instability;
    const auto analysis = analysed(pack.as(json), kImage, AccuracyMode::kFast);
    REQUIRE(analysis);
    return analysis->faces.size();
  };
  CHECK(faces(1, 1, 0) == 1);
  CHECK(faces(1, 0, 0) == 0);
  CHECK(faces(1, 0, 1) == 1);
}

TEST_CASE("throws an Error or returns finite faces if nets return NaN, infinity or huge numbers") {
  struct Case {
    const char* role;
    const char* file;
    bool rejected;
  };
  const Case cases[] = {
      {"detector", "detect-nan.onnx", false},       {"detector", "detect-scrfd-wild.onnx", false},
      {"landmarks", "landmark-nan.onnx", true},     {"landmarks", "landmark-infinite.onnx", true},
      {"landmarks", "landmark-far.onnx", false},    {"landmarks", "landmark-one.onnx", false},
      {"landmarks", "landmark-moving.onnx", false}, {"landmarks", "landmark-doubles.onnx", true},
      {"embedder", "embed-nan.onnx", true},         {"embedder", "embed-infinite.onnx", true},
      {"embedder", "embed-huge.onnx", false},       {"embedder", "embed-tiny.onnx", false},
      {"embedder", "embed-zero.onnx", false},       {"embedder", "embed-whole.onnx", true},
      {"embedder", "embed-growing.onnx", true},     {"embedder", "embed-flat.onnx", true},
      {"liveness", "live-nan.onnx", true},          {"liveness", "live-infinite.onnx", true},
      {"liveness", "live-huge.onnx", false},        {"liveness", "live-two.onnx", true},
  };
  const TinyPack pack;
  for (const Case& c : cases) {
    const bool anchors = std::string(c.file).starts_with("detect-scrfd");
    Json json = anchors ? manifest_with_anchors() : manifest();
    const bool listed = c.role == std::string("liveness");
    (listed ? json[c.role]["nets"][1] : json[c.role])["file"] = c.file;
    CAPTURE(c.file);
    CHECK(analysed(pack.as(json), kImage, AccuracyMode::kBalance).has_value() == !c.rejected);
  }
}

TEST_CASE("throws an Error if a net returns more numbers than when it was loaded") {
  const TinyPack pack;
  Json json = manifest();
  for (const char* member : {"cohort", "human", "occlusion"}) json.erase(member);
  json["embedder"]["file"] = "embed-growing.onnx";
  // When the net is loaded, every input is 0, so it returns no position; later it returns all.
  json["embedder"]["dimensions"] = 0;
  const Engine engine(pack.as(json));
  AnalyseOptions options = options_of(AccuracyMode::kBalance, 0.5f);
  options.limits = kAnySize;
  const auto error = error_of([&] { analyse(engine, kImage, options); });
  REQUIRE(error);
  CHECK(error->message == "a net returned other sizes than when it was loaded");
}

TEST_CASE("builds a pack from its manifest") {
  const Pack pack = TinyPack().as(manifest_with_anchors());
  CHECK(pack.detector.outputs == std::vector<std::string>{"s16", "s32", "b16", "b32"});
  CHECK(pack.detector.normalisation.mean == std::array{127.0f, 127.0f, 127.0f});
  CHECK(pack.close_detector->priors == std::vector<std::vector<float>>{{16, 32}, {48}});
  CHECK(pack.close_detector->variances == std::array{0.1f, 0.2f});
  CHECK(pack.close_detector->normalisation.mean == std::array{104.0f, 117.0f, 123.0f});
  CHECK(pack.landmarks.normalisation.channels == Channels::kGrey);
  CHECK(pack.embedder.template_points[2] == Point(8, 8.32f));
  CHECK(pack.cohort->weight == 0.5f);
  CHECK(pack.human->min_score == -1);
  CHECK(pack.occlusion->bias == 1);
  REQUIRE(pack.liveness.size() == 2);
  CHECK(pack.liveness[0].scale == 2.7f);
}

TEST_CASE("rejects a net that does not fit the manifest when it loads, and states the reason") {
  struct Case {
    const char* member;
    Json value;
    const char* message;
  };
  const Case cases[] = {
      {"/detector/family", "haar", "unknown detector family \"haar\""},
      {"/detector/input", "image", "no input \"image\"; available: \"input\""},
      {"/detector/file", "missing.onnx", "missing.onnx cannot be used"},
      {"/landmarks/size", 112, "landmark.onnx cannot be used"},
      {"/landmarks/file", "embed.onnx", "has no output \"points\""},
      {"/embedder/dimensions", 9, "has 8 numbers, but the manifest says 9 dimensions"},
      {"/embedder/size", 224, "embed.onnx cannot be used"},
      {"/embedder/file", "embed-empty.onnx", "embed-empty.onnx cannot be used"},
      {"/embedder/file", "embed-text.onnx", "embed-text.onnx cannot be used"},
      {"/embedder/file", "embed-half.onnx", "embed-half.onnx cannot be used"},
      {"/embedder/output", "fc1", "no output \"fc1\"; available: \"embedding\""},
      {"/cohort/centres", 4, "cohort.i8 must have 32 bytes"},
      {"/cohort/centres", 2, "cohort.i8 must have 16 bytes"},
      {"/cohort/file", "missing.i8", "missing.i8"},
      {"/human/file", "empty.i8", "empty.i8 must have 8 bytes"},
      {"/human/file", "cohort.i8", "cohort.i8 must have 8 bytes"},
      {"/occlusion/file", "missing.i8", "missing.i8"},
      {"/liveness/nets/0/file", "live-two.onnx", "returns 2 numbers; the family"},
      {"/liveness/nets/0/size", 32, "live.onnx cannot be used"},
  };
  const TinyPack pack;
  for (const Case& c : cases) {
    Json json = manifest();
    json[Json::json_pointer(c.member)] = c.value;
    CAPTURE(c.message);
    const auto error = error_of([&] { load_engine(pack.as(json)); });
    REQUIRE(error);
    CAPTURE(error->message);
    CHECK(error->message.find(c.message) != std::string::npos);
  }
}

TEST_CASE("keeps the first pack that loads successfully from a directory") {
  const TinyPack tiny;
  Json json = manifest();
  json["embedder"]["file"] = "missing.onnx";
  const Pack broken = tiny.as(json), working = tiny.as(manifest());
  CHECK(error_of([&] { load_engine(broken); }));
  const auto error = error_of([&] { engine_of(working.directory); });
  REQUIRE(error);
  CHECK(error->message.find("was not loaded") != std::string::npos);
  const Engine& engine = load_engine(working);
  CHECK(&engine == &load_engine(broken));
  CHECK(&engine == &engine_of(working.directory));
}

TEST_SUITE_END();

}  // namespace facematch::testing
