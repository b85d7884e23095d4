// Measures the CPU time to analyse the worst files within the limits of bytes, pixels and time:
//   facematch_cost [--budget MS] [--bytes N] [--pixels N]
// Each file repeats one small unit (see repeated.h) up to the maximum number of bytes, or has the
// maximum number of pixels in few bytes. Prints JSON.
#include <algorithm>
#include <cmath>
#include <ctime>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "../core/pipeline.h"
#include "../test/drawing.h"
#include "../test/repeated.h"

namespace facematch::bench {
namespace {

using Json = nlohmann::ordered_json;

double thread_milliseconds() {
  timespec now = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
}

// Returns the CPU time, and as `outcome` the number of faces or the error's number in error.h.
Json analysed(const std::string& name, const testing::ByteVector& file,
              const AnalyseOptions& options) {
  const double start = thread_milliseconds();
  std::string outcome;
  try {
    const Analysis analysis = analyse(testing::default_engine(), file, options);
    outcome = std::to_string(analysis.faces.size()) + " faces";
  } catch (const Error& error) {
    outcome = "error " + std::to_string(static_cast<int>(error.code));
  }
  const double cpu_ms = thread_milliseconds() - start;
  return {{"name", name}, {"bytes", file.size()}, {"cpu_ms", cpu_ms}, {"outcome", outcome}};
}

Json measure(std::map<std::string, double> values) {
  AnalyseOptions options = testing::options_of();
  options.image_timeout_ms = values.at("--budget");
  options.limits.max_pixels = static_cast<int64_t>(values.at("--pixels"));
  const auto bytes = static_cast<size_t>(values.at("--bytes"));
  Json results = Json::array();
  analysed("warm-up", testing::sample(1), options);
  for (const testing::Repeated& unit : testing::repeated_units()) {
    results.push_back(analysed(unit.name, unit.file(bytes), options));
  }
  const int side = std::min(16'383, static_cast<int>(std::sqrt(values.at("--pixels"))));
  const cv::Mat flat(side, side, CV_8UC3, cv::Scalar(90, 120, 60));
  const auto add = [&](const std::string& name, const testing::ByteVector& file) {
    results.push_back(analysed(name, file, options));
  };
  add("jpeg, flat", testing::encode_jpeg(flat));
  add("jpeg, flat, progressive", testing::encode_jpeg(flat, {.progressive = true}));
  add("png, flat", testing::encode_png(flat));
  add("png, flat, interlaced", testing::encode_png(flat, {.interlaced = true}));
  add("webp, flat", testing::encode_webp(flat));
  add("webp, flat, lossy", testing::encode_webp(flat, {.lossless = false}));
  const cv::Mat clear(side, side, CV_8UC4, cv::Scalar(90, 120, 60, 100));
  add("webp, flat with alpha", testing::encode_webp(clear));
  add("webp, flat with alpha, lossy", testing::encode_webp(clear, {.lossless = false}));
  return results;
}

}  // namespace
}  // namespace facematch::bench

int main(int count, char** words) {
  std::map<std::string, double> values = {
      {"--budget", 2000}, {"--bytes", 20 << 20}, {"--pixels", 64e6}};
  for (int i = 1; i + 1 < count; i += 2) values[words[i]] = std::stod(words[i + 1]);
  std::cout << facematch::bench::measure(values).dump(1) << '\n';
}
