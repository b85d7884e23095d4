// Helpers of the tests: paths of images and packs, analyses, caught errors, random numbers.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <random>
#include <vector>

#include "../core/engine.h"
#include "../core/error.h"

namespace facematch::testing {

using ByteVector = std::vector<uint8_t>;

// Returns the folder that contains package.json.
std::filesystem::path project_root();

ByteVector read_file(const std::filesystem::path& path);
void write_file(const std::filesystem::path& path, const ByteVector& bytes);

// Returns the photo `number`, 1 to 6, of the package @vladmandic/face-api.
ByteVector sample(int number);

std::string default_pack();
// Reads a pack's manifest without validating it.
Pack read_pack(const std::filesystem::path& directory);
Pack pack_of(const std::filesystem::path& directory, const nlohmann::json& manifest);
const Engine& default_engine();

AnalyseOptions options_of(AccuracyMode mode = AccuracyMode::kBalance, float min_det_score = 0.7f);

// Returns a square of `size` pixels with the best face of a sample, by detection score, in its
// centre. The square is `sides` times as high as the face's box.
cv::Mat portrait(int number, int size, float sides = 2.5f);

// Returns the image's numbers and those of each face, without the human, occlusion and live scores.
std::vector<float> numbers(const Analysis& analysis);

// A folder for one test, removed with its contents at the end.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

// Returns the Error that `act` throws, or nothing. Other exceptions pass through and fail the test.
template <typename Act>
std::optional<Error> error_of(Act act) {
  try {
    act();
  } catch (const Error& error) {
    return error;
  }
  return std::nullopt;
}

template <typename Act>
bool fails_with(ErrorCode code, Act act) {
  const auto error = error_of(act);
  return error && error->code == code;
}

// Generates the same sequence on every machine. The standard defines std::mt19937 exactly, but not
// its distributions.
class Random {
 public:
  explicit Random(uint32_t seed) : engine_(seed) {}
  // 0 <= result < limit
  size_t below(size_t limit) { return engine_() % limit; }
  uint8_t byte() { return static_cast<uint8_t>(engine_()); }
  // 0 <= result < 1
  float share() { return static_cast<float>(engine_() >> 8) / static_cast<float>(1 << 24); }
  float between(float low, float high) { return low + (high - low) * share(); }

 private:
  std::mt19937 engine_;
};

}  // namespace facematch::testing
