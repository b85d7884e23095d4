// The only module that defines the order of the stages: decode, detect, landmarks, align, embed,
// human check, and liveness if requested.
#pragma once

#include <cstdint>
#include <span>

#include "engine.h"
#include "types.h"

namespace facematch {

using Bytes = std::span<const uint8_t>;

// Finds the human faces of one image and embeds them. An image without a face is not an error.
// Throws Error or Cancelled.
Analysis analyse(const Engine& engine, Bytes bytes, const AnalyseOptions& options);

// Searches an image again in all rotations, at the candidates of its first analysis. Returns the
// new faces, and those that replace a face of the first analysis. `options` are those of the first
// analysis, with the remaining CPU time. Throws Error or Cancelled.
Analysis analyse_further(const Engine& engine, Bytes bytes, const AnalyseOptions& options,
                         const EarlierAnalysis& earlier);

}  // namespace facematch
