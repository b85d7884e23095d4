#include "engine.h"

#include <malloc.h>

#include <map>
#include <mutex>
#include <opencv2/core/utility.hpp>

namespace facematch {
namespace {

// glibc gives large blocks pages of their own, which go back to the system when they are freed. But
// the first freed picture would raise the bound between large and small up to 32 MiB, and pictures
// and bodies would lie in the threads' arenas from then on, which keep what they once had. A bound
// that is set stays.
void keep_memory_flat() {
#ifdef __GLIBC__
  mallopt(M_MMAP_THRESHOLD, 256 * 1024);
  mallopt(M_TRIM_THRESHOLD, 1024 * 1024);
#endif
}

}  // namespace

Engine::Engine(const std::string& directory)
    : pack(read_pack(directory)),
      detector(pack),
      landmarker(pack),
      embedder(pack),
      cohort(pack),
      human(pack) {}

const Engine& load_engine(const std::string& directory) {
  // Neither is ever destroyed: see environment() in session.cpp.
  static auto* mutex = new std::mutex;
  static auto* engines = new std::map<std::string, std::unique_ptr<const Engine>>;
  const std::lock_guard lock(*mutex);
  auto& engine = (*engines)[directory];
  if (!engine) {
    keep_memory_flat();
    cv::setNumThreads(0);  // one thread a worker: OpenCV must not start its own
    try {
      engine = std::make_unique<const Engine>(directory);
    } catch (...) {
      engines->erase(directory);
      throw;
    }
  }
  return *engine;
}

}  // namespace facematch
