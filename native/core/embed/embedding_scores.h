// Scores of an embedding: its similarity to people in general, whether it belongs to a human face,
// and whether nose and mouth are covered. Each score uses an optional file of the pack.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "../runtime/pack.h"
#include "../types.h"

namespace facematch {

// Normalises similarities (adaptive S-norm, as in speaker verification). A centre of the cohort is
// the mean embedding of a few people. Without a cohort every score is 0.
class Cohort {
 public:
  // Throws Error kInternalError with a readable message if the file does not have the size that the
  // manifest states.
  explicit Cohort(const Pack& pack);

  // Returns the cohort score: the mean of the highest cosines with the centres, times the
  // manifest's weight. The score is the same on every CPU. `portable`: does not use AVX2.
  float score(std::span<const float> embedding, bool portable = false) const;

 private:
  std::vector<std::int8_t> rows_;  // one row per centre
  std::vector<float> scales_;      // cosine / sum of products
  size_t dimensions_ = 0;
  size_t highest_ = 0;
  float weight_ = 0;
};

// A linear function of the embedding: higher for faces that more likely have a property.
class LinearScore {
 public:
  // Throws Error kInternalError with a readable message if the file does not have one byte per
  // dimension of an embedding.
  LinearScore(const Pack& pack, const std::optional<LinearSpec>& spec);

  // Returns nothing without a spec.
  std::optional<float> score(const Embedding& embedding) const;

 private:
  std::vector<float> weights_;  // one per dimension
  float bias_ = 0;
};

}  // namespace facematch
