#include "engine.h"

#include <map>
#include <mutex>
#include <opencv2/core/utility.hpp>

namespace facematch {

Engine::Engine(const std::string& directory)
    : pack(read_pack(directory)), detector(pack), landmarker(pack), embedder(pack) {}

const Engine& load_engine(const std::string& directory) {
  // Neither is ever destroyed: see environment() in session.cpp.
  static auto* mutex = new std::mutex;
  static auto* engines = new std::map<std::string, std::unique_ptr<const Engine>>;
  const std::lock_guard lock(*mutex);
  auto& engine = (*engines)[directory];
  if (!engine) {
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
