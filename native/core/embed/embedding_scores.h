// Scores of an embedding: how similar it is to people in general, and whether it is of a human
// face. Each needs a file of signed bytes, which a pack may have.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "../runtime/pack.h"
#include "../types.h"

namespace facematch {

// Centres of the embeddings of many people, with which similarities are normalised (S-norm, as in
// speaker verification). Without a cohort every score is 0, and similarities are not normalised.
class Cohort {
 public:
  // Throws Error kInternalError with a readable message when the file has another size than the
  // manifest states.
  explicit Cohort(const Pack& pack);

  // The cohort score: weighted sum of the mean of the highest cosines with the centres and the
  // standard deviation of all of them; the weights are the manifest's.
  float score(std::span<const float> embedding) const;

 private:
  // Dimension-major, in bytes to save memory bandwidth: the nets evict them from the cache between
  // calls.
  std::vector<std::int8_t> columns_;
  std::vector<float> scales_;  // 1 / length of each centre
  size_t centres_ = 0;
  size_t dimensions_ = 0;
  size_t highest_ = 0;
  float highest_weight_ = 0;
  float stddev_weight_ = 0;
};

// Whether a face is human: detectors find faces of animals too. A linear function of the embedding;
// without it every face passes, and has no score.
class HumanCheck {
 public:
  // Throws Error kInternalError with a readable message when the file has another size than an
  // embedding has dimensions.
  explicit HumanCheck(const Pack& pack);

  // Higher for a face that is more likely human; nothing without a check.
  std::optional<float> score(const Embedding& embedding) const;

  bool passes(float score) const { return score >= bar_; }

 private:
  std::vector<float> weights_;  // one for each dimension
  float bias_ = 0;
  float bar_ = -std::numeric_limits<float>::infinity();
};

}  // namespace facematch
