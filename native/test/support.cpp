#include "support.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace facematch::testing {

namespace fs = std::filesystem;

// Before main(), when there is no other thread: session.cpp wants it.
[[maybe_unused]] const int kQuiet = setenv("ORT_DISABLE_TELEMETRY", "1", 1);

fs::path project_root() { return FACEMATCH_ROOT; }

std::optional<fs::path> shared_folder() {
  const char* named = std::getenv("FACEMATCH_SHARED");
  const fs::path folder = named != nullptr ? fs::path(named) : project_root() / "../shared";
  if (!fs::is_directory(folder / "data")) return std::nullopt;
  return folder;
}

std::vector<fs::path> files_below(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

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

const Engine& default_engine() { return load_engine(default_pack()); }

TemporaryFolder::TemporaryFolder() {
  std::string pattern = (fs::temp_directory_path() / "facematch-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no temporary folder");
  path_ = pattern;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;  // a destructor must not throw; a folder left behind harms nobody
  fs::remove_all(path_, ignored);
}

void copy_default_pack(const TemporaryFolder& folder) {
  for (const auto& entry : fs::directory_iterator(default_pack())) {
    if (entry.is_regular_file()) fs::copy_file(entry, folder.path() / entry.path().filename());
  }
}

}  // namespace facematch::testing
