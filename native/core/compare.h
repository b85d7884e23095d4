// Embeddings -> similarities -> pairs, best first.
#pragma once

#include <vector>

#include "types.h"

namespace facematch {

// Of two unit vectors: -1..1.
float cosine(const Embedding& a, const Embedding& b);

// Compares every face of `first` with every face of `second`; an empty embedding takes no part.
std::vector<Pair> compare_all(const std::vector<Embedding>& first,
                              const std::vector<Embedding>& second);

}  // namespace facematch
