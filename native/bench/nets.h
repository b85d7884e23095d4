// The nets of a pack alone, each on an input as in the pipeline: a lower limit for any pipeline
// that uses them.
#pragma once

#include <functional>

#include "../core/engine.h"
#include "../core/image/decode.h"
#include "../core/types.h"

namespace facematch::bench {

// Of a face.
constexpr float kMinScore = 0.7f;

// How often each net runs; the detector once.
struct Runs {
  int landmarks = 0;
  int embedder = 0;
};

// How often the pipeline ran each net for an image in which these faces were found.
Runs runs_for(const Engine& engine, const Analysis& analysis, AccuracyMode mode);

// Runs the nets so often, on inputs from the best face of an image: with PReLU the time of a run
// depends on the input, constants run almost twice as fast as faces. Throws std::runtime_error when
// there is no face.
std::function<void(const Runs&)> bare_nets(const Engine& engine, const DecodedImage& image);

}  // namespace facematch::bench
