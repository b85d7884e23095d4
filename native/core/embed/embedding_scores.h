// Scores of an embedding: its similarity to people in general, whether it belongs to a human face,
// and whether nose and mouth are covered. Each needs a file of signed bytes, which a pack may have.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "../runtime/pack.h"
#include "../types.h"

namespace facematch {

// Means of the embeddings of a few people each, which normalise similarities (adaptive S-norm, as
// in speaker verification). Without a cohort every score is 0, and similarities are not normalised.
class Cohort {
 public:
  // Throws Error kInternalError with a readable message if the size of the file is not the one that
  // the manifest states.
  explicit Cohort(const Pack& pack);

  // Returns the cohort score: the mean of the highest cosines with the centres, times the
  // manifest's weight. The same on every CPU. `portably`: as on a CPU without wider instructions.
  float score(std::span<const float> embedding, bool portably = false) const;

 private:
  std::vector<std::int8_t> rows_;  // one row per centre
  std::vector<float> scales_;      // from the sum of products to the cosine
  size_t dimensions_ = 0;
  size_t highest_ = 0;
  float weight_ = 0;
};

// A linear function of the embedding: higher for a face that is more likely to have the property.
class LinearScore {
 public:
  // Throws Error kInternalError with a readable message if the size of the file is not the number
  // of dimensions of an embedding.
  LinearScore(const Pack& pack, const std::optional<LinearSpec>& spec);

  // Returns nothing without a spec.
  std::optional<float> score(const Embedding& embedding) const;

 private:
  std::vector<float> weights_;  // one per dimension
  float bias_ = 0;
};

}  // namespace facematch
