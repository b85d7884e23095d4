// Runs the nets of a pack alone, each on an input as in the pipeline. This is the minimum cost of
// any pipeline that uses them.
#pragma once

#include <functional>

#include "../core/engine.h"
#include "../core/image/decode.h"
#include "../core/types.h"

namespace facematch::bench {

// Minimum detection score.
constexpr float kMinScore = 0.7f;

// Number of runs of each net; the detector runs once.
struct Runs {
  int landmarks = 0;
  int embedder = 0;
};

// Returns the minimum number of times that the pipeline runs each net for an image with these
// faces.
Runs runs_for(const Engine& engine, const Analysis& analysis, AccuracyMode mode);

// Returns a function that runs each net the given number of times, on inputs from the best face of
// an image. With PReLU, the time of a run depends on the input: a constant is almost twice as fast
// as a face. Throws std::runtime_error if there is no face.
std::function<void(const Runs&)> bare_nets(const Engine& engine, const DecodedImage& image);

}  // namespace facematch::bench
