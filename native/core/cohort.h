// How common a face's looks are: the cohort that similarities are normalised with.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "pack.h"
#include "types.h"

namespace facematch {

// Centres of the embeddings of many people (S-norm, as in speaker verification). A pack may have
// none; then every score is 0 and a similarity is its own normalised similarity.
class Cohort {
 public:
  // Throws Error kInternalError with a message for people when the file is not of the manifest's
  // size.
  explicit Cohort(const Pack& pack);

  // How like others the embedding looks anyhow: the mean of its highest cosines with the centres,
  // and the standard deviation of all of them, each by the manifest's weight.
  float score(std::span<const float> embedding) const;

 private:
  // Of each dimension the numbers of all centres. In bytes, as they come from memory: the nets
  // leave no cache to find them in.
  std::vector<std::int8_t> columns_;
  std::vector<float> scales_;  // of each centre, to unit length
  size_t centres_ = 0;
  size_t dimensions_ = 0;
  size_t highest_ = 0;
  float highest_weight_ = 0;
  float spread_weight_ = 0;
};

}  // namespace facematch
