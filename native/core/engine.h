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
  std::optional<Detector> close_detector;  // for faces that fill the picture
  Landmarker landmarker;
  Embedder embedder;
  Cohort cohort;
  LinearScore human;
  LinearScore occlusion;
  Liveness liveness;

  explicit Engine(const std::string& directory);
};

// The engine of that directory, loaded at the first call and kept until the process ends.
// Thread-safe. Throws Error kInternalError with a readable message.
const Engine& load_engine(const std::string& directory);

}  // namespace facematch
