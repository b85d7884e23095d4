// The only file that knows the order of the stages: decode -> detect -> landmarks -> align -> embed
// -> human? -> compare.
#pragma once

#include <cstdint>
#include <span>

#include "engine.h"
#include "types.h"

namespace facematch {

using Bytes = std::span<const uint8_t>;

// Compares two pictures. Throws Error; `Error::image` says which picture it is about.
MatchResult match(const Engine& engine, Bytes image1, Bytes image2, const MatchOptions& options);

// Faces of one picture; with `want_embeddings` each face's embedding too. No face is not an error
// here.
DetectResult detect(const Engine& engine, Bytes image, const DetectOptions& options,
                    bool want_embeddings);

}  // namespace facematch
