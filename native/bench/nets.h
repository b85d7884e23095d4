// The nets of a pack alone, each on an input as in the pipeline: a lower limit for any pipeline
// that uses them.
#pragma once

#include <functional>

#include "../core/engine.h"
#include "../core/image/decode.h"
#include "../core/types.h"

namespace facematch::bench {

// Number of runs per face.
constexpr float kMinScore = 0.7f;

// Number of runs of each net; the detector runs once.
struct Runs {
  int landmarks = 0;
  int embedder = 0;
};

// Returns how often the pipeline ran each net for an image in which these faces were found.
Runs runs_for(const Engine& engine, const Analysis& analysis, AccuracyMode mode);

// Runs each net that many times, on inputs from the best face of an image: with PReLU the time of a
// run depends on the input, and constants run almost twice as fast as faces. Throws
// std::runtime_error if there is no face.
std::function<void(const Runs&)> bare_nets(const Engine& engine, const DecodedImage& image);

}  // namespace facematch::bench
