// Manifests and nets of any content: a pack that loads gives an Analysis or an Error. Most useful
// under AddressSanitizer and UBSan.
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

constexpr int kFrame = 64;  // pixels, of the detector's input
constexpr int kCrop = 16;
constexpr int kChip = 16;
constexpr int kDimensions = 8;

// Of a detector of the family rfb for a square frame: three, two, two and three in each cell.
constexpr size_t kPriors = 8 * 8 * 3 + 4 * 4 * 2 + 2 * 2 * 2 + 1 * 1 * 3;

// One prior has a certain face in it: the largest one of the middle of the frame.
TinyNet detector(std::vector<float> offsets = std::vector<float>(4 * kPriors), float score = 1) {
  std::vector<float> scores(2 * kPriors);
  scores.back() = score;
  return {.shape = {1, 3, kFrame, kFrame},
          .outputs = {{.name = "scores", .numbers = std::move(scores)},
                      {.name = "offsets", .numbers = std::move(offsets)}}};
}

// Points in the order of the template: eyes, nose and mouth; all others lie on the nose.
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
    "detector": {"file": "detect.onnx", "family": "rfb", "input": "input", "scores": "scores",
                 "offsets": "offsets", "width": 64, "height": 64, "channels": "rgb", "mean": 127,
                 "scale": 0.0078125, "nms_iou": 0.4, "second_look_score": 0.9},
    "landmarks": {"file": "landmark.onnx", "family": "points68", "input": "input",
                  "output": "points", "size": 16, "channels": "grey", "mean": 0, "scale": 0.004,
                  "crop": 1.1, "upright_degrees": 6},
    "embedder": {"file": "embed.onnx", "family": "arcface", "input": "input",
                 "output": "embedding", "size": 16, "channels": "bgr", "dimensions": 8,
                 "mean": 127, "scale": 0.0078125,
                 "template": [[5.6, 5.6], [10.4, 5.6], [8, 8.32], [5.6, 11.2], [10.4, 11.2]]},
    "cohort": {"file": "cohort.i8", "centres": 3, "highest": 2, "weight": 0.5},
    "human": {"file": "human.i8", "scale": 0.01, "bias": 1, "bar": -1},
    "occlusion": {"file": "human.i8", "scale": 0.01, "bias": 1},
    "liveness": {"family": "minifasnet", "nets": [
      {"file": "live.onnx", "input": "input", "output": "logits", "size": 16, "scale": 2.7},
      {"file": "live.onnx", "input": "input", "output": "logits", "size": 16, "scale": 4}
    ]}
  })");
}

// The same with SCRFD and, for close faces, RetinaFace, whose outputs are found by their shapes or
// named.
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
    "priors": [[16, 32], [48]], "variances": [0.1, 0.2], "mean": [104, 117, 123]
  })"));
  return json;
}

// Of a frame of 64 pixels.
constexpr int64_t kRows16 = 4 * 4 * 2, kRows32 = 2 * 2 * 2, kRetinafaceRows = 4 * 4 * 2 + 2 * 2;

TinyOutput shaped(const char* name, int64_t rows, int64_t columns, std::vector<float> numbers) {
  numbers.resize(static_cast<size_t>(rows * columns));
  return {.name = name, .numbers = std::move(numbers), .shape = {rows, columns}};
}

// The last anchor, in the middle of the frame, has a certain face.
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

struct TinyFile {
  const char* name;
  ByteVector bytes;
};

std::vector<TinyFile> pack_files() {
  std::vector<float> wild(4 * kPriors);
  for (size_t i = 0; i < wild.size(); ++i) {
    constexpr std::array kWild = {kNan, kInfinity, -kInfinity, 1e38f, -1e38f, 500.0f};
    wild[i] = kWild[i % kWild.size()];
  }
  TinyNet open = detector();
  open.shape = {-1, 3, -1, -1};
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
  const auto with = [](std::vector<float> numbers, float number) {
    numbers[1] = number;
    return numbers;
  };
  return {
      {"detect.onnx", detector().file()},
      {"detect-wild.onnx", detector(wild).file()},
      {"detect-nan.onnx", detector(std::vector<float>(4 * kPriors), kNan).file()},
      {"detect-open.onnx", open.file()},
      {"detect-scrfd.onnx", scrfd().file()},
      {"detect-scrfd-blind.onnx", scrfd(0.9f, 0).file()},
      {"detect-scrfd-wild.onnx", scrfd(kInfinity, kNan).file()},
      {"detect-scrfd-huge.onnx", scrfd(1e38f).file()},
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

// A pack of tiny nets in a folder of its own.
class TinyPack {
 public:
  TinyPack() {
    for (const auto& [name, bytes] : files_) write_file(folder_.path() / name, bytes);
  }

  const std::vector<TinyFile>& files() const { return files_; }

  void write(const std::string& text) {
    write_file(folder_.path() / "manifest.json", {text.begin(), text.end()});
  }

  std::string directory() const { return folder_.path().string(); }

 private:
  const std::vector<TinyFile> files_ = pack_files();
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

// Analyses a picture with the pack. Exceptions other than Error pass through and fail the test.
std::optional<Analysis> analysed(const TinyPack& pack, const ByteVector& picture,
                                 AccuracyMode mode) {
  try {
    const Engine engine(pack.directory());
    AnalyseOptions options = options_of(mode, 0.5f);
    options.limits = kAnySize;
    options.detect_presentation_attack = true;
    Analysis analysis = analyse(engine, picture, options);
    check(analysis);
    return analysis;
  } catch (const Error& error) {
    REQUIRE(error.code == ErrorCode::kInternalError);
    REQUIRE_FALSE(error.message.empty());
    return std::nullopt;
  }
}

Json any_value(Random& random, const std::vector<TinyFile>& files) {
  static const Json kHostile = Json::parse(R"([
    null, true, false, "", "a word", [], {}, [[]], -1, 0, 1, 2, 2.5, 8, 16, 31, 32, 63, 64, 65, 320,
    512, 513, 2147483648, 4294967297, 18446744073709551615, -9223372036854775808,
    1e300, -1e300, 1e-300, 3.5e38, 0.5, 1000, -1000, 180, 1e-6, 10, "rgb", "bgr", "grey", "rfb",
    "yunet", "scrfd", "retinaface", "blazeface", "arcface", "points68", "input", "scores", "offsets", "points", "embedding",
    "../manifest.json", "/dev/zero", "a\u0000b.onnx", ["scores", "scores", "scores"],
    ["scores", "offsets", "input"], [0, 0], [8, 8], [16, 16],
    [[8, 8], [8, 8], [8, 8], [8, 8], [8, 8]],
    [16, 32], [32, 16], [1, 128], [[16], [16]], [[1e300], [-1]], 4, 128, 127.99, "s16", "b32",
    "conf", "loc", ["s16", "s32"], ["b16", "b32"], ["b16", "b16"]
  ])");
  const size_t at = random.below(kHostile.size() + files.size());
  if (at < kHostile.size()) return kHostile[at];
  return files[at - kHostile.size()].name;
}

// Mostly of the type of `present`: others are refused at once.
Json hostile(Random& random, const std::vector<TinyFile>& files, const Json& present) {
  Json value = any_value(random, files);
  if (random.below(8) == 0) return value;
  while (value.is_number() != present.is_number() || value.is_string() != present.is_string()) {
    value = any_value(random, files);
  }
  return value;
}

}  // namespace

TEST_SUITE_BEGIN("manifest");

TEST_CASE("a pack of tiny nets finds its face") {
  TinyPack pack;
  pack.write(manifest().dump());
  const auto analysis = analysed(pack, encode_png(gradient(80, 80)), AccuracyMode::kBalance);
  REQUIRE(analysis);
  REQUIRE(analysis->faces.size() == 1);
  CHECK(analysis->faces[0].embedding.size() == kDimensions);
}

TEST_CASE("so does one with SCRFD, and with RetinaFace for close faces") {
  TinyPack pack;
  const ByteVector picture = encode_png(gradient(80, 80));
  pack.write(manifest_with_anchors().dump());
  auto analysis = analysed(pack, picture, AccuracyMode::kBalance);
  REQUIRE(analysis);
  CHECK(analysis->faces.size() == 1);
  Json json = manifest_with_anchors();
  for (const char* member : {"scores", "boxes"}) json["detector"].erase(member);
  std::swap(json["detector"], json["close_detector"]);
  pack.write(json.dump());
  analysis = analysed(pack, picture, AccuracyMode::kBalance);
  REQUIRE(analysis);
  CHECK(analysis->faces.size() == 1);
  for (const char* file : {"detect-scrfd-wild.onnx", "detect-scrfd-huge.onnx"}) {
    json = manifest_with_anchors();
    json["detector"]["file"] = file;
    pack.write(json.dump());
    CAPTURE(file);
    analysis = analysed(pack, picture, AccuracyMode::kFast);
    REQUIRE(analysis);
  }
}

TEST_CASE(
    "a close detector of the same family sees what the detector does not, at the first look") {
  TinyPack pack;
  const ByteVector picture = encode_png(gradient(80, 80));
  const auto faces = [&](const char* file, const char* close, bool fallback) {
    Json json = manifest_with_anchors();
    json["close_detector"] = json["detector"];
    json["detector"]["file"] = file;
    json["close_detector"]["file"] = close;
    pack.write(json.dump());
    const Engine engine(pack.directory());
    AnalyseOptions options = options_of(AccuracyMode::kFast, 0.5f);
    options.limits = kAnySize;
    options.use_heuristic_fallback = fallback;
    return analyse(engine, picture, options).faces;
  };
  REQUIRE(faces("detect-scrfd-blind.onnx", "detect-scrfd.onnx", false).size() == 1);
  CHECK(faces("detect-scrfd-blind.onnx", "detect-scrfd.onnx", false)[0].found_by ==
        FoundBy::kPrimary);
  // Seen by both it is one face.
  CHECK(faces("detect-scrfd.onnx", "detect-scrfd.onnx", false).size() == 1);
  CHECK(faces("detect-scrfd-blind.onnx", "detect-scrfd-blind.onnx", true).empty());
}

TEST_CASE("nets that answer with NaN, infinity or huge numbers give an Error or finite faces") {
  struct Case {
    const char* role;
    const char* file;
    bool refused;
  };
  const Case cases[] = {
      {"detector", "detect-wild.onnx", false},       {"detector", "detect-nan.onnx", false},
      {"detector", "detect-open.onnx", false},       {"landmarks", "landmark-nan.onnx", true},
      {"landmarks", "landmark-infinite.onnx", true}, {"landmarks", "landmark-far.onnx", false},
      {"landmarks", "landmark-one.onnx", false},     {"landmarks", "landmark-moving.onnx", false},
      {"landmarks", "landmark-doubles.onnx", true},  {"embedder", "embed-nan.onnx", true},
      {"embedder", "embed-infinite.onnx", true},     {"embedder", "embed-huge.onnx", false},
      {"embedder", "embed-tiny.onnx", false},        {"embedder", "embed-zero.onnx", false},
      {"embedder", "embed-whole.onnx", true},        {"embedder", "embed-growing.onnx", true},
      {"embedder", "embed-flat.onnx", true},         {"liveness", "live-nan.onnx", true},
      {"liveness", "live-infinite.onnx", true},      {"liveness", "live-huge.onnx", false},
      {"liveness", "live-two.onnx", true},
  };
  TinyPack pack;
  const ByteVector picture = encode_png(gradient(80, 80));
  for (const Case& c : cases) {
    Json json = manifest();
    const bool listed = c.role == std::string("liveness");
    (listed ? json[c.role]["nets"][1] : json[c.role])["file"] = c.file;
    pack.write(json.dump());
    CAPTURE(c.file);
    CHECK(analysed(pack, picture, AccuracyMode::kBalance).has_value() == !c.refused);
  }
}

TEST_CASE("a net that answers with more numbers than at loading is an Error, not an overflow") {
  TinyPack pack;
  Json json = manifest();
  json["embedder"]["file"] = "embed-growing.onnx";
  // At loading every input is 0 and none of them is counted; then every one.
  json["embedder"]["dimensions"] = 1;
  pack.write(json.dump());
  CHECK_FALSE(analysed(pack, encode_png(gradient(80, 80)), AccuracyMode::kBalance));
  const TinyNet growing = {
      .shape = {1, 3, kChip, kChip},
      .outputs = {{.name = "embedding", .numbers = {}, .kind = TinyKind::kWhere}}};
  const TemporaryFolder folder;
  const auto path = folder.path() / "growing.onnx";
  write_file(path, growing.file());
  const Net net(path.string(), "input", growing.shape, {"embedding"});
  CHECK(net.output_size(0) == 0);
  std::vector<float> input(net.input_size(), 1.0f), output;
  CHECK(refuses_with(ErrorCode::kInternalError, [&] { net.run(input, {output}); }));
}

TEST_CASE("a manifest with any members changed gives an Analysis or an Error") {
  constexpr int kRounds = 1200;
  TinyPack pack;
  Random random(101);
  const Json wholes[] = {manifest(), manifest_with_anchors()};
  std::vector<Json::json_pointer> members[2];
  for (size_t i = 0; i < 2; ++i) {
    const Json flat = wholes[i].flatten();
    for (const auto& [path, value] : flat.items()) members[i].emplace_back(path);
  }
  const ByteVector pictures[] = {encode_png(gradient(80, 80)), encode_png(grain(33, 47, CV_8UC3))};
  int loaded = 0;
  for (int round = 0; round < kRounds; ++round) {
    const size_t which = random.below(2);
    Json json = wholes[which];
    for (size_t i = 0; i <= random.below(2); ++i) {
      const auto& its = members[which];
      Json::json_pointer member = its[random.below(its.size())];
      while (random.below(8) == 0 && !member.parent_pointer().empty()) {
        member = member.parent_pointer();
      }
      // Its parent may have become a word or a number.
      if (!json.contains(member)) continue;
      json[member] = hostile(random, pack.files(), json[member]);
    }
    pack.write(json.dump());
    CAPTURE(round);
    CAPTURE(json.dump());
    const auto mode = round % 2 == 0 ? AccuracyMode::kFast : AccuracyMode::kBalance;
    loaded += analysed(pack, pictures[random.below(2)], mode).has_value() ? 1 : 0;
  }
  // Both ends are reached.
  CHECK(loaded > kRounds / 50);
  CHECK(loaded < kRounds * 9 / 10);
}

TEST_CASE("a manifest with any bytes changed gives an Analysis or an Error") {
  constexpr int kRounds = 600;
  TinyPack pack;
  Random random(103);
  const std::string wholes[] = {manifest().dump(), manifest_with_anchors().dump()};
  const ByteVector picture = encode_png(gradient(80, 80));
  for (int round = 0; round < kRounds; ++round) {
    std::string text = wholes[random.below(2)];
    for (size_t i = 0; i <= random.below(4); ++i) {
      constexpr std::string_view kLikely = "0123456789-+.eE\"{}[],: tnf";
      char& changed = text[random.below(text.size())];
      changed = random.below(4) == 0 ? static_cast<char>(random.byte())
                                     : kLikely[random.below(kLikely.size())];
    }
    if (random.below(8) == 0) text.resize(random.below(text.size()));
    pack.write(text);
    CAPTURE(text);
    analysed(pack, picture, AccuracyMode::kFast);
  }
}

TEST_CASE("a net with any bytes changed gives an Analysis or an Error") {
  constexpr int kRounds = 300;
  TinyPack pack;
  Random random(107);
  const std::string wholes[] = {manifest().dump(), manifest_with_anchors().dump()};
  const ByteVector picture = encode_png(gradient(80, 80));
  for (int round = 0; round < kRounds; ++round) {
    const size_t which = random.below(2);
    pack.write(wholes[which]);
    const char* const names[] = {which == 0 ? "detect.onnx" : "detect-scrfd.onnx", "landmark.onnx",
                                 "embed.onnx"};
    const std::string name = names[random.below(3)];
    const auto file = std::filesystem::path(pack.directory()) / name;
    const ByteVector whole = read_file(file);
    ByteVector changed = whole;
    for (size_t i = 0; i <= random.below(3); ++i)
      changed[random.below(changed.size())] = random.byte();
    write_file(file, changed);
    CAPTURE(round);
    analysed(pack, picture, AccuracyMode::kFast);
    write_file(file, whole);
  }
}

TEST_SUITE_END();

}  // namespace facematch::testing
