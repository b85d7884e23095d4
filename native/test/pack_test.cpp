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
                                "/cohort/weights",
                                "/cohort/weights/highest",
                                "/cohort/weights/spread",
                                "/detector/second_look_score"};

// Members of the optional human check.
const char* const kHumanMembers[] = {"/human/file", "/human/scale", "/human/bias", "/human/bar"};

// Members in which a YuNet detector differs.
const char* const kYunetMembers[] = {
    "/detector/family", "/detector/cls",   "/detector/obj",    "/detector/bbox",
    "/detector/input",  "/detector/width", "/detector/height", "/detector/cls/2",
};

Json manifest_of(const std::string& pack) {
  const ByteVector bytes = read_file(fs::path(pack) / "manifest.json");
  return Json::parse(bytes.begin(), bytes.end());
}

Json manifest() { return manifest_of(default_pack()); }

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
  CHECK(pack.cohort->highest_weight == json["cohort"]["weights"]["highest"].get<float>());
  CHECK(pack.cohort->stddev_weight == json["cohort"]["weights"]["spread"].get<float>());
  CHECK(pack.embedder.template_points[2].y == json["embedder"]["template"][2][1].get<float>());
}

TEST_CASE("each member that is missing or of another type is an error that names the manifest") {
  check_members(manifest(), kMembers);
}

TEST_CASE("each member of a YuNet detector that is missing or of another type is an error") {
  check_members(manifest_of((project_root() / "models/packs/yunet").string()), kYunetMembers);
}

TEST_CASE("an optional human check is read, with all its members") {
  Json whole = manifest();
  whole["human"] = {{"file", "human.i8"}, {"scale", 0.5}, {"bias", 1.5}, {"bar", -1}};
  const TemporaryFolder folder;
  write_manifest(folder, whole.dump());
  const auto human = read_pack(folder.path().string()).human;
  REQUIRE(human);
  CHECK(human->file == "human.i8");
  CHECK(human->scale == 0.5f);
  CHECK(human->bias == 1.5f);
  CHECK(human->bar == -1);
  check_members(whole, kHumanMembers);
  whole.erase("human");
  write_manifest(folder, whole.dump());
  CHECK_FALSE(read_pack(folder.path().string()).human);
}

TEST_CASE("a YuNet detector has one output of each kind for each of its three strides") {
  for (const char* member : {"cls", "obj", "bbox"}) {
    for (const size_t count : {size_t{0}, size_t{1}, size_t{2}, size_t{4}}) {
      Json json = manifest_of((project_root() / "models/packs/yunet").string());
      json["detector"][member] = std::vector<std::string>(count, "output");
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
