// The nets of one pack, loaded once for the process and shared by all threads.
#pragma once

#include <memory>
#include <string>

#include "embed/embed.h"
#include "embed/embedding_scores.h"
#include "embed/liveness.h"
#include "find/detect.h"
#include "find/landmarks.h"
#include "runtime/pack.h"

namespace facematch {

// Immutable after loading, so any number of threads may use it at once.
struct Engine {
  Pack pack;
  Detector detector;
  std::optional<Detector> close_detector;  // for faces that fill the image
  Landmarker landmarker;
  Embedder embedder;
  Cohort cohort;
  LinearScore human;
  LinearScore occlusion;
  Liveness liveness;

  explicit Engine(const Pack& pack);
};

// Loads the engine of the pack's directory once and keeps it until the process ends; later calls
// with that directory return the same engine. Thread-safe, like engine_of(). Throws Error
// kInternalError with a readable message.
const Engine& load_engine(const Pack& pack);

// Returns the engine loaded from that directory. Throws Error kInternalError if there is none.
const Engine& engine_of(const std::string& directory);

}  // namespace facematch
