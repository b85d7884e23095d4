#include "../core/runtime/pack.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <span>

#include "support.h"

namespace facematch::testing {
namespace {

using Json = nlohmann::json;
namespace fs = std::filesystem;

// Every member that the core reads.
const char* const kMembers[] = {"/detector",
                                "/landmarks",
                                "/embedder",
                                "/detector/file",
                                "/detector/family",
                                "/detector/input",
                                "/detector/scores",
                                "/detector/offsets",
                                "/detector/width",
                                "/detector/height",
                                "/detector/channels",
                                "/detector/mean",
                                "/detector/scale",
                                "/detector/nms_iou",
                                "/landmarks/file",
                                "/landmarks/family",
                                "/landmarks/input",
                                "/landmarks/output",
                                "/landmarks/size",
                                "/landmarks/channels",
                                "/landmarks/mean",
                                "/landmarks/scale",
                                "/landmarks/crop",
                                "/landmarks/upright_degrees",
                                "/embedder/file",
                                "/embedder/family",
                                "/embedder/input",
                                "/embedder/output",
                                "/embedder/size",
                                "/embedder/dimensions",
                                "/embedder/channels",
                                "/embedder/mean",
                                "/embedder/scale",
                                "/embedder/template",
                                "/embedder/template/4",
                                "/embedder/template/0/1",
                                "/cohort/file",
                                "/cohort/centres",
                                "/cohort/highest",
                                "/cohort/weight",
                                "/detector/second_look_score"};

// Members of the optional human check.
const char* const kHumanMembers[] = {"/human/file", "/human/scale", "/human/bias", "/human/bar"};
const char* const kOcclusionMembers[] = {"/occlusion/file", "/occlusion/scale", "/occlusion/bias"};

const char* const kLivenessMembers[] = {"/liveness/family",        "/liveness/nets",
                                        "/liveness/nets/0/file",   "/liveness/nets/0/input",
                                        "/liveness/nets/1/output", "/liveness/nets/1/size",
                                        "/liveness/nets/1/scale"};

// Members in which a YuNet detector differs.
const char* const kYunetMembers[] = {
    "/detector/family", "/detector/cls",   "/detector/obj",    "/detector/bbox",
    "/detector/input",  "/detector/width", "/detector/height", "/detector/cls/2",
};

// Members of detectors whose manifest says strides and anchors.
const char* const kScrfdMembers[] = {
    "/detector/strides", "/detector/strides/2", "/detector/anchors",
    "/detector/scores",  "/detector/boxes",     "/detector/boxes/2",
    "/detector/input",   "/detector/width",     "/close_detector/file"};
const char* const kRetinafaceMembers[] = {
    "/detector/strides",   "/detector/strides/0",   "/detector/priors", "/detector/priors/1",
    "/detector/variances", "/detector/variances/1", "/detector/scores", "/detector/boxes"};

Json manifest_of(const std::string& pack) {
  const ByteVector bytes = read_file(fs::path(pack) / "manifest.json");
  return Json::parse(bytes.begin(), bytes.end());
}

Json manifest() { return manifest_of(default_pack()); }

// The default manifest with another detector. Each kind has one where the other has none.
Json scrfd_manifest() {
  Json json = manifest();
  for (const char* member : {"scores", "offsets"}) json["detector"].erase(member);
  json["detector"].update(Json::parse(R"({
    "family": "scrfd", "width": 640, "height": 640, "mean": 127.5, "strides": [8, 16, 32],
    "anchors": 2, "scores": ["443", "468", "493"], "boxes": ["446", "471", "496"]
  })"));
  return json;
}

Json retinaface_manifest() {
  Json json = scrfd_manifest();
  json["detector"].erase("anchors");
  json["detector"].update(Json::parse(R"({
    "family": "retinaface", "channels": "bgr", "mean": [104, 117, 123], "scale": 1,
    "priors": [[16, 32], [64, 128], [256, 512]], "variances": [0.1, 0.2],
    "scores": "conf", "boxes": "loc"
  })"));
  return json;
}

void write_manifest(const TemporaryFolder& folder, const std::string& text) {
  write_file(folder.path() / "manifest.json", {text.begin(), text.end()});
}

std::optional<Error> refusal_of(const std::string& text) {
  const TemporaryFolder folder;
  write_manifest(folder, text);
  return refusal([&] { read_pack(folder.path().string()); });
}

void remove(Json& json, const Json::json_pointer& member) {
  Json& parent = json[member.parent_pointer()];
  if (parent.is_array()) {
    parent.erase(static_cast<size_t>(std::stoul(member.back())));
  } else {
    parent.erase(member.back());
  }
}

// Checks that the manifest is read, and rejected when one of the members is missing, of another
// type or null.
void check_members(const Json& whole, std::span<const char* const> members) {
  CHECK_FALSE(refusal_of(whole.dump()));
  for (const char* member : members) {
    const Json::json_pointer pointer(member);
    Json missing = whole, other = whole, empty = whole;
    remove(missing, pointer);
    other[pointer] = other[pointer].is_string() ? Json(17) : Json("a word");
    empty[pointer] = nullptr;
    for (const Json& json : {missing, other, empty}) {
      CAPTURE(member);
      const auto error = refusal_of(json.dump());
      REQUIRE(error);
      CHECK(error->code == ErrorCode::kInternalError);
      CHECK(error->message.find("manifest.json") != std::string::npos);
    }
  }
}

// Writes a pack with the nets of the default one.
void fill_pack(const TemporaryFolder& folder, const Json& json) {
  copy_default_pack(folder);
  write_manifest(folder, json.dump());
}

}  // namespace

TEST_SUITE_BEGIN("pack");

TEST_CASE("the default pack is read as its manifest says") {
  const Json json = manifest();
  const Pack pack = read_pack(default_pack());
  CHECK(pack.directory == default_pack());
  CHECK(pack.detector.width == json["detector"]["width"]);
  CHECK(pack.landmarks.normalisation.channels == Channels::kGrey);
  CHECK(pack.embedder.dimensions == json["embedder"]["dimensions"]);
  REQUIRE(pack.cohort);
  CHECK(pack.cohort->weight == json["cohort"]["weight"].get<float>());
  CHECK(pack.embedder.template_points[2].y == json["embedder"]["template"][2][1].get<float>());
}

TEST_CASE("each member that is missing or of another type is an error that names the manifest") {
  check_members(manifest(), kMembers);
}

TEST_CASE("each member of a YuNet detector that is missing or of another type is an error") {
  check_members(manifest_of((project_root() / "models/packs/yunet").string()), kYunetMembers);
}

TEST_CASE("each member of a detector with anchors that is missing or of another type is an error") {
  check_members(scrfd_manifest(), kScrfdMembers);
  check_members(retinaface_manifest(), kRetinafaceMembers);
}

TEST_CASE("a detector with anchors is read; its outputs may be named or not") {
  const TemporaryFolder folder;
  const auto read = [&](const Json& json) {
    write_manifest(folder, json.dump());
    return read_pack(folder.path().string()).detector;
  };
  Json json = scrfd_manifest();
  DetectorSpec spec = read(json);
  CHECK(spec.strides == std::vector<int>{8, 16, 32});
  CHECK(spec.anchors == 2);
  CHECK(spec.outputs == std::vector<std::string>{"443", "468", "493", "446", "471", "496"});
  CHECK(spec.normalisation.mean == std::array{127.5f, 127.5f, 127.5f});
  for (const char* member : {"scores", "boxes"}) json["detector"].erase(member);
  CHECK(read(json).outputs.empty());
  spec = read(retinaface_manifest());
  CHECK(spec.priors == std::vector<std::vector<float>>{{16, 32}, {64, 128}, {256, 512}});
  CHECK(spec.variances == std::array{0.1f, 0.2f});
  CHECK(spec.outputs == std::vector<std::string>{"conf", "loc"});
  CHECK(spec.normalisation.mean == std::array{104.0f, 117.0f, 123.0f});
}

TEST_CASE("each value of a detector with anchors that does not fit is refused by its name") {
  struct Case {
    Json whole;
    const char* member;
    const char* values;  // JSON
  };
  const Case cases[] = {
      {scrfd_manifest(), "strides",
       "[[], [8, 8, 16], [16, 8, 32], [8, 12, 24], [8, 16], [0, 8, 16], [8, 16, 160], [8.5, 17, "
       "34],"
       " [1, 2, 4, 8, 16, 32, 64, 128, 128], 8, {}, [[8], [16], [32]], [8, true, 16]]"},
      {scrfd_manifest(), "anchors", "[0, 17, 1.5, -2, [2], true]"},
      {scrfd_manifest(), "scores",
       R"([[], ["443"], ["443", "443", "493"], ["a", "b", ""], "443"])"},
      {scrfd_manifest(), "boxes", R"([[], ["443", "b", "c"], ["a", "b", "c", "d"]])"},
      {retinaface_manifest(), "priors",
       "[[], [16, 32], [[16], [32]], [[16], [], [32]], [[16], [32], [2049]], [[16], [32], [0]],"
       " [[16], [32], [1e300]], [[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1], [1], [1]]]"},
      {retinaface_manifest(), "variances",
       "[[], [0.1], [0.1, 0], [0.1, -1], [1e300, 1], [1, 1, 1]]"},
      {retinaface_manifest(), "mean", "[[], [1, 2], [1, 2, 3, 4], [1, 2, 1001], [1, 2, null]]"},
      {retinaface_manifest(), "boxes", R"(["", "conf", ["loc"]])"},
  };
  for (const Case& c : cases) {
    REQUIRE_FALSE(refusal_of(c.whole.dump()));
    for (const Json& value : Json::parse(c.values)) {
      Json json = c.whole;
      json["detector"][c.member] = value;
      CAPTURE(c.member);
      CAPTURE(value.dump());
      const auto error = refusal_of(json.dump());
      REQUIRE(error);
      // Fewer strides leave the names of too many outputs.
      const bool named =
          error->message.find('"' + std::string(c.member) + '"') != std::string::npos;
      CHECK((named || value == Json::parse("[8, 16]") || value.is_string() ||
             value == Json::parse(R"(["loc"])")));
    }
  }
  Json json = manifest();
  json["landmarks"]["mean"] = {1, 2, 3};
  const auto error = refusal_of(json.dump());
  REQUIRE(error);
  CHECK(error->message.find("\"mean\" is a list, but the net has one plane") != std::string::npos);
}

TEST_CASE("an optional human check is read, with all its members") {
  Json whole = manifest();
  whole["human"] = {{"file", "human.i8"}, {"scale", 0.5}, {"bias", 1.5}, {"bar", -1}};
  const TemporaryFolder folder;
  write_manifest(folder, whole.dump());
  const auto human = read_pack(folder.path().string()).human;
  REQUIRE(human);
  CHECK(human->score.file == "human.i8");
  CHECK(human->score.scale == 0.5f);
  CHECK(human->score.bias == 1.5f);
  CHECK(human->bar == -1);
  check_members(whole, kHumanMembers);
  whole.erase("human");
  write_manifest(folder, whole.dump());
  CHECK_FALSE(read_pack(folder.path().string()).human);
}

TEST_CASE("an optional occlusion score is read, with all its members") {
  Json whole = manifest();
  whole["occlusion"] = {{"file", "occlusion.i8"}, {"scale", 0.5}, {"bias", -1.5}};
  const TemporaryFolder folder;
  write_manifest(folder, whole.dump());
  const auto occlusion = read_pack(folder.path().string()).occlusion;
  REQUIRE(occlusion);
  CHECK(occlusion->file == "occlusion.i8");
  CHECK(occlusion->scale == 0.5f);
  CHECK(occlusion->bias == -1.5f);
  check_members(whole, kOcclusionMembers);
  whole.erase("occlusion");
  write_manifest(folder, whole.dump());
  CHECK_FALSE(read_pack(folder.path().string()).occlusion);
}

TEST_CASE("optional liveness nets are read, with all their members") {
  Json whole = manifest();
  whole["liveness"] = Json::parse(R"({"family": "minifasnet", "live_threshold": 0.5, "nets": [
    {"file": "v2.onnx", "input": "input", "output": "logits", "size": 80, "scale": 2.7},
    {"file": "v1se.onnx", "input": "input", "output": "logits", "size": 80, "scale": 4}
  ]})");
  const TemporaryFolder folder;
  write_manifest(folder, whole.dump());
  const auto liveness = read_pack(folder.path().string()).liveness;
  REQUIRE(liveness.size() == 2);
  CHECK(liveness[0].file == "v2.onnx");
  CHECK(liveness[0].scale == 2.7f);
  CHECK(liveness[1].output == "logits");
  CHECK(liveness[1].size == 80);
  check_members(whole, kLivenessMembers);
  for (const char* refused :
       {R"({"liveness": {"family": "other"}})", R"({"liveness": {"nets": []}})",
        R"({"liveness": {"nets": [null]}})"}) {
    Json json = whole;
    json.merge_patch(Json::parse(refused));
    CAPTURE(refused);
    CHECK(refusal_of(json.dump()));
  }
  for (const char* scale : {"1", "0.5", "-2", "1001", "1e300", "true"}) {
    Json json = whole;
    json["liveness"]["nets"][0]["scale"] = Json::parse(scale);
    CAPTURE(scale);
    const auto error = refusal_of(json.dump());
    REQUIRE(error);
    CHECK(error->message.find("\"scale\"") != std::string::npos);
  }
  whole.erase("liveness");
  write_manifest(folder, whole.dump());
  CHECK(read_pack(folder.path().string()).liveness.empty());
}

TEST_CASE("a YuNet detector has one output of each kind for each of its three strides") {
  for (const char* member : {"cls", "obj", "bbox"}) {
    for (const size_t count : {size_t{0}, size_t{1}, size_t{2}, size_t{4}}) {
      Json json = manifest_of((project_root() / "models/packs/yunet").string());
      std::vector<std::string> names;
      for (size_t i = 0; i < count; ++i) names.push_back("output" + std::to_string(i));
      json["detector"][member] = names;
      CAPTURE(member);
      CAPTURE(count);
      const auto error = refusal_of(json.dump());
      REQUIRE(error);
      CHECK(error->message.find('"' + std::string(member) + "\" must name 3 outputs") !=
            std::string::npos);
    }
  }
}

TEST_CASE("the error names what is missing or unknown in a detector") {
  struct Case {
    const char* family;
    const char* said;
  };
  const Case cases[] = {{"yunet", "'cls'"},
                        {"haar", "unknown detector family \"haar\"; there are rfb, yunet"}};
  for (const Case& c : cases) {
    Json json = manifest();
    json["detector"]["family"] = c.family;
    CAPTURE(c.family);
    const auto error = refusal_of(json.dump());
    REQUIRE(error);
    CHECK(error->message.find(c.said) != std::string::npos);
  }
}

TEST_CASE("sizes out of range and unknown channel orders are errors, not allocations") {
  for (const char* member : {"/detector/width", "/detector/height", "/landmarks/size",
                             "/embedder/size", "/embedder/dimensions"}) {
    for (const int64_t size : {int64_t{0}, int64_t{-1}, int64_t{4097}, int64_t{1} << 40}) {
      Json json = manifest();
      json[Json::json_pointer(member)] = size;
      CAPTURE(member);
      CAPTURE(size);
      CHECK(refusal_of(json.dump()));
    }
  }
  Json json = manifest();
  json["embedder"]["channels"] = "gbr";
  CHECK(refusal_of(json.dump()));
}

TEST_CASE("each value that would leave a buffer or the range of a number is refused by its name") {
  struct Case {
    const char* member;
    const char* values;  // JSON
  };
  const Case cases[] = {
      {"/detector/channels", R"(["grey", "RGB", ""])"},
      {"/landmarks/channels", R"(["rgb", "bgr"])"},
      {"/embedder/channels", R"(["grey"])"},
      {"/detector/file", R"(["../detect.onnx", "/tmp/detect.onnx", ".onnx", ".a.onnx", "a/b.onnx",
                             "detect", "detect.onnx\u0000", "détect.onnx", "detect.onnx\n"])"},
      {"/cohort/file", R"(["../cohort.i8", "cohort.onnx", "/dev/zero"])"},
      {"/detector/input", R"([""])"},
      {"/embedder/output", R"([""])"},
      {"/detector/offsets", R"(["", "scores"])"},
      {"/detector/width", "[0, -1, 2049, 2.5, true, 4294967297, 1e300, -1e300]"},
      {"/landmarks/size", "[513, 64.5, false, 18446744073709551615]"},
      {"/embedder/size", "[513, 1e-300]"},
      {"/embedder/dimensions", "[4097, 511.9999]"},
      {"/detector/mean", "[1001, -1001, 1e39, true]"},
      {"/embedder/mean", "[1e300, -1e300]"},
      {"/detector/scale", "[0, -1, 9e-10, 1e-300, 1001, 1e300]"},
      {"/landmarks/scale", "[0, -0.004]"},
      {"/detector/nms_iou", "[-0.1, 1.1, 1e300]"},
      {"/detector/second_look_score", "[-0.1, 1.1]"},
      {"/landmarks/crop", "[0, -1, 0.09, 10.1, 1e300]"},
      {"/landmarks/upright_degrees", "[-1, 180.5]"},
      {"/cohort/centres", "[0, 16385, 1.5]"},
      {"/cohort/highest", "[0, 16385]"},
      {"/cohort/weight", "[-1, 1001, 1e300]"},
      {"/embedder/template",
       R"([[], {}, "five", [[1, 2], [3, 2], [2, 3], [1, 4], [3, 4], [1, 1]],
           [[56, 56], [56, 56], [56, 56], [56, 56], [56, 56]],
           [[40, 50], [70, 50], [56, 70], [40, 50.5], [70, 50.5]],
           [[70, 50], [40, 50], [56, 70], [70, 90], [40, 90]],
           [[40, 90], [70, 90], [56, 70], [40, 50], [70, 50]]])"},
      {"/embedder/template/2", "[[56], [56, 70, 1], [56, 113], [-1, 70], [1e300, 70]]"},
  };
  for (const Case& c : cases) {
    for (const Json& value : Json::parse(c.values)) {
      Json json = manifest();
      json[Json::json_pointer(c.member)] = value;
      CAPTURE(c.member);
      CAPTURE(value.dump());
      const auto error = refusal_of(json.dump());
      REQUIRE(error);
      CHECK(error->code == ErrorCode::kInternalError);
      const std::string path = c.member;
      const std::string name = path.ends_with("/2") ? "template" : path.substr(path.rfind('/') + 1);
      CHECK(error->message.find('"' + name + '"') != std::string::npos);
    }
  }
}

TEST_CASE("a whole number may be written as JavaScript or Python would") {
  for (const char* width : {"320", "320.0", "3.2e2"}) {
    std::string text = manifest().dump();
    const std::string member = "\"width\":";
    const size_t at = text.find(member) + member.size();
    text.replace(at, text.find_first_of(",}", at) - at, width);
    CAPTURE(width);
    CHECK_FALSE(refusal_of(text));
  }
}

TEST_CASE("what is not a manifest is an error") {
  for (const char* text :
       {"", "{", "[]", "null", "17", "\"manifest\"", "{}", "\xFF\xFE", "{\"detector\": {}}"}) {
    CAPTURE(text);
    CHECK(refusal_of(text));
  }
  const TemporaryFolder empty;
  CHECK(refusal([&] { read_pack(empty.path().string()); }));
  CHECK(refusal([&] { read_pack((empty.path() / "missing").string()); }));
  CHECK(refusal([] { read_pack(""); }));
  fs::create_directory(empty.path() / "manifest.json");
  CHECK(refusal([&] { read_pack(empty.path().string()); }));
}

TEST_CASE(
    "an unknown family or a net of another shape fails at loading, not at the first request") {
  struct Case {
    const char* member;
    Json value;
  };
  const Case cases[] = {
      {"/detector/family", "haar"},       {"/landmarks/family", "points5"},
      {"/embedder/family", "eigenfaces"}, {"/embedder/dimensions", 128},
      {"/landmarks/size", 112},           {"/embedder/size", 224},
      {"/detector/input", "picture"},     {"/embedder/output", "fc1"},
      {"/detector/file", "missing.onnx"}, {"/landmarks/file", "embed.onnx"},
      {"/detector/scores", "offsets"},
  };
  for (const Case& c : cases) {
    const TemporaryFolder folder;
    Json json = manifest();
    json[Json::json_pointer(c.member)] = c.value;
    fill_pack(folder, json);
    CAPTURE(c.member);
    const auto error = refusal([&] { load_engine(folder.path().string()); });
    REQUIRE(error);
    CHECK_FALSE(error->message.empty());
  }
}

TEST_CASE("a failed load can be repeated once the pack exists") {
  const TemporaryFolder folder;
  const std::string directory = folder.path().string();
  CHECK(refusal([&] { load_engine(directory); }));
  fill_pack(folder, manifest());
  const Engine& engine = load_engine(directory);
  CHECK(&engine == &load_engine(directory));
}

TEST_SUITE_END();

}  // namespace facematch::testing
