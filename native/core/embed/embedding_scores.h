// Scores of an embedding: how similar it is to people in general, whether it is of a human face,
// and whether nose and mouth are covered. Each needs a file of signed bytes, which a pack may have.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "../runtime/pack.h"
#include "../types.h"

namespace facematch {

// Means of the embeddings of a few people each, with which similarities are normalised (adaptive
// S-norm, as in speaker verification). Without a cohort every score is 0, and similarities are not
// normalised.
class Cohort {
 public:
  // Throws Error kInternalError with a readable message when the file has another size than the
  // manifest states.
  explicit Cohort(const Pack& pack);

  // The cohort score: the mean of the highest cosines with the centres, times the manifest's
  // weight. The same on every processor. `portably`: as on one without wider instructions.
  float score(std::span<const float> embedding, bool portably = false) const;

 private:
  std::vector<std::int8_t> rows_;  // a row for each centre
  std::vector<float> scales_;      // from the sum of products to the cosine
  size_t dimensions_ = 0;
  size_t highest_ = 0;
  float weight_ = 0;
};

// A linear function of the embedding: higher for a face that is more likely what it looks for.
class LinearScore {
 public:
  // Throws Error kInternalError with a readable message when the file has another size than an
  // embedding has dimensions.
  LinearScore(const Pack& pack, const std::optional<LinearSpec>& spec);

  // Nothing without a spec.
  std::optional<float> score(const Embedding& embedding) const;

 private:
  std::vector<float> weights_;  // one for each dimension
  float bias_ = 0;
};

}  // namespace facematch
