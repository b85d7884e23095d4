#include "support.h"

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "../core/image/decode.h"
#include "../core/image/view.h"
#include "../core/runtime/manifest.h"

namespace facematch::testing {

namespace fs = std::filesystem;

// Set before main(), while there is no other thread. onnx_runtime.cpp requires this variable.
[[maybe_unused]] const int kQuiet = setenv("ORT_DISABLE_TELEMETRY", "1", 1);

fs::path project_root() { return FACEMATCH_ROOT; }

ByteVector read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot read " + path.string());
  return {std::istreambuf_iterator<char>(file), {}};
}

void write_file(const fs::path& path, const ByteVector& bytes) {
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
  if (!file.flush()) throw std::runtime_error("cannot write " + path.string());
}

ByteVector sample(int number) {
  return read_file(project_root() / "node_modules/@vladmandic/face-api/demo" /
                   ("sample" + std::to_string(number) + ".jpg"));
}

std::string default_pack() { return (project_root() / "models/packs/default").string(); }

namespace {

struct Node {
  const nlohmann::json* value;  // nullptr: absent

  Node at(const char* member) const {
    const auto found = value->find(member);
    return {found == value->end() ? nullptr : &*found};
  }
  bool present() const { return value != nullptr; }
  bool is_list() const { return value->is_array(); }
  std::vector<Node> items() const {
    std::vector<Node> all;
    for (const auto& item : *value) all.push_back({&item});
    return all;
  }
  float number() const { return value->get<float>(); }
  int whole() const { return value->get<int>(); }
  std::string text() const { return value->get<std::string>(); }
};

}  // namespace

Pack pack_of(const fs::path& directory, const nlohmann::json& manifest) {
  return facematch::pack_of(directory.string(), ManifestValue<Node>{{&manifest}});
}

Pack read_pack(const fs::path& directory) {
  const ByteVector bytes = read_file(directory / "manifest.json");
  return pack_of(directory, nlohmann::json::parse(bytes.begin(), bytes.end()));
}

const Engine& default_engine() {
  static const Pack pack = read_pack(default_pack());
  return load_engine(pack);
}

AnalyseOptions options_of(AccuracyMode mode, float min_det_score) {
  AnalyseOptions options;
  options.accuracy_mode = mode;
  options.min_det_score = min_det_score;
  return options;
}

cv::Mat portrait(int number, int size, float sides) {
  struct Known {
    cv::Mat photo;
    Box box;
  };
  static std::map<int, Known> all;  // a cache, because some tests draw a hundred portraits
  auto& [photo, box] = all[number];
  if (photo.empty()) {
    photo = decode(sample(number), {}, 0).bgr;
    box = default_engine().detector.detect(photo, 0.9f).front().box;
  }
  cv::Mat out;
  warp(photo, square_crop(box.centre(), sides * box.height, 0, size), size, out, Outside::kMean);
  return out;
}

std::vector<float> numbers(const Analysis& analysis) {
  std::vector<float> all;
  for (const int number :
       {analysis.width, analysis.height, analysis.orientation, static_cast<int>(analysis.format),
        static_cast<int>(analysis.faces.size())})
    all.push_back(static_cast<float>(number));
  for (const Face& face : analysis.faces) {
    all.push_back(static_cast<float>(face.found_by));
    all.insert(all.end(),
               {face.box.x, face.box.y, face.box.width, face.box.height, face.detection_score,
                face.pose.yaw, face.pose.pitch, face.pose.roll, face.quality.sharpness,
                face.quality.brightness, face.quality.face_pixels, face.quality.dot_pitch,
                face.quality.stretch, face.cohort_score});
    for (const Point p : face.landmarks.points()) all.insert(all.end(), {p.x, p.y});
    all.insert(all.end(), face.embedding.begin(), face.embedding.end());
  }
  return all;
}

TemporaryFolder::TemporaryFolder() {
  std::string pattern = (fs::temp_directory_path() / "facematch-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no temporary folder");
  path_ = pattern;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;  // a destructor must not throw; a leftover folder is harmless
  fs::remove_all(path_, ignored);
}

}  // namespace facematch::testing
