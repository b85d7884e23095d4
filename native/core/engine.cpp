#include "engine.h"

#include <malloc.h>

#include <map>
#include <mutex>
#include <opencv2/core/utility.hpp>

#include "error.h"

namespace facematch {
namespace {

// Fixes malloc's mmap threshold. By default the threshold grows up to 32 MiB, and arenas then keep
// the memory of huge images. With 16 MiB, threads still reuse the memory of ordinary images.
void fix_malloc_thresholds() {
#ifdef __GLIBC__
  // Called under the lock of load_engine(). NOLINTBEGIN(concurrency-mt-unsafe)
  mallopt(M_MMAP_THRESHOLD, 16 * 1024 * 1024);
  mallopt(M_TRIM_THRESHOLD, 32 * 1024 * 1024);
  // NOLINTEND(concurrency-mt-unsafe)
#endif
}

struct Engines {
  std::mutex mutex;
  std::map<std::string, std::unique_ptr<const Engine>> by_directory;
};

// Never destroyed: see environment() in onnx_runtime.cpp.
Engines& engines() {
  static auto* all = new Engines;
  return *all;
}

}  // namespace

Engine::Engine(const Pack& of)
    : pack(of),
      detector(pack.directory, pack.detector),
      landmarker(pack),
      embedder(pack),
      cohort(pack),
      human(pack, pack.human ? std::optional(pack.human->score) : std::nullopt),
      occlusion(pack, pack.occlusion),
      liveness(pack) {
  if (pack.close_detector) close_detector.emplace(pack.directory, *pack.close_detector);
}

const Engine& load_engine(const Pack& pack) {
  const std::lock_guard lock(engines().mutex);
  auto& engine = engines().by_directory[pack.directory];
  if (!engine) {
    fix_malloc_thresholds();
    cv::setNumThreads(0);  // each worker is one thread: OpenCV must not start its own
    try {
      engine = std::make_unique<const Engine>(pack);
    } catch (...) {
      engines().by_directory.erase(pack.directory);
      throw;
    }
  }
  return *engine;
}

const Engine& engine_of(const std::string& directory) {
  const std::lock_guard lock(engines().mutex);
  const auto found = engines().by_directory.find(directory);
  if (found != engines().by_directory.end()) return *found->second;
  throw Error(ErrorCode::kInternalError, "the pack in \"" + directory + "\" was not loaded");
}

}  // namespace facematch
