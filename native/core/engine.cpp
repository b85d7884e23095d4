#include "engine.h"

#include <malloc.h>

#include <map>
#include <mutex>
#include <opencv2/core/utility.hpp>

namespace facematch {
namespace {

// glibc gives large blocks pages of their own, which go back to the system when they are freed, and
// raises the bound between large and small to the largest that was freed, up to 32 MiB: arenas
// would keep what they once had. A bound that is set stays. Below it, each thread keeps the memory
// of decoded pictures of ordinary size for the next ones: in fresh pages two photos of 1350 pixels
// cost 1,870 page faults, and 6 % more CPU time.
void keep_memory_flat() {
#ifdef __GLIBC__
  mallopt(M_MMAP_THRESHOLD, 16 * 1024 * 1024);
  mallopt(M_TRIM_THRESHOLD, 32 * 1024 * 1024);
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
