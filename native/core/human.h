// Whether a face is a human one: detectors take animals' faces for faces too.
#pragma once

#include <limits>
#include <optional>
#include <vector>

#include "pack.h"
#include "types.h"

namespace facematch {

// A linear function of the embedding. A pack may have none; then every face passes, unscored.
class HumanCheck {
 public:
  // Throws Error kInternalError with a message for people when the file is not of the embedding's
  // size.
  explicit HumanCheck(const Pack& pack);

  // How surely the embedding is of a human face; none without a check.
  std::optional<float> score(const Embedding& embedding) const;

  // Whether a face of that score is taken for a human one.
  bool passes(float score) const { return score >= bar_; }

 private:
  std::vector<float> weights_;  // one a dimension
  float bias_ = 0;
  float bar_ = -std::numeric_limits<float>::infinity();
};

}  // namespace facematch
