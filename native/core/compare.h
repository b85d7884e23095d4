// Embeddings -> similarities -> pairs, best first.
#pragma once

#include <vector>

#include "types.h"

namespace facematch {

// Of two unit vectors: -1..1.
float cosine(const Embedding& a, const Embedding& b);

// Compares every face of `first` with every face of `second`. The normalised similarity is the
// cosine less the average of the two cohort scores.
std::vector<Pair> compare_all(const std::vector<Comparable>& first,
                              const std::vector<Comparable>& second);

}  // namespace facematch
