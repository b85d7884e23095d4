// The only module that knows the order of the stages: decode, detect, landmarks, align, embed,
// human check, and liveness if requested.
#pragma once

#include <cstdint>
#include <span>

#include "engine.h"
#include "types.h"

namespace facematch {

using Bytes = std::span<const uint8_t>;

// Finds the human faces of one image and embeds them. An image without a face is not an error.
// Throws Error.
Analysis analyse(const Engine& engine, Bytes bytes, const AnalyseOptions& options);

// Searches an image further, in all rotations: returns the faces at the candidates of its first
// analysis, and those that replace a face of it. `options` are those of the first analysis, with
// the remaining CPU time. Throws Error.
Analysis analyse_further(const Engine& engine, Bytes bytes, const AnalyseOptions& options,
                         const Earlier& earlier);

}  // namespace facematch
