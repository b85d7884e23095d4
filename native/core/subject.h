// A picture on its way through the stages, and what the embedding cache knows of it.
#pragma once

#include <optional>
#include <vector>

#include "embedding_cache.h"
#include "pack.h"
#include "types.h"

namespace facematch {

struct Subject {
  std::optional<EmbeddingKey> key;  // none: neither looked for in the cache nor kept
  bool known = false;               // from the cache, with all of its faces embedded
  Image image;
  ImageReport report;                // faces in pixels of the full picture
  std::vector<Comparable> embedded;  // one a face; without embedding where it is not compared
};

// None without a digest.
std::optional<EmbeddingKey> key_of(const std::optional<Digest>& sha256, const Pack& pack,
                                   const DetectOptions& options);

// Fills in what is kept of the picture, if it is.
void recall(Subject& subject);

// Keeps what was found, all faces embedded: it must do for every choice of a face.
void remember(const Subject& subject);

// The other faces take no part any more.
void leave_only(size_t chosen, Subject& subject);

}  // namespace facematch
