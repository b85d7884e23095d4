#include "cohort.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <functional>
#include <iterator>
#include <numeric>
#include <span>

#include "error.h"

namespace facematch {
namespace {

float mean(std::span<const float> values) {
  return std::accumulate(values.begin(), values.end(), 0.0f) / static_cast<float>(values.size());
}

// Standard deviation, of these values and not of what they are a sample of.
float spread(std::span<const float> values) {
  const float middle = mean(values);
  float squares = 0;
  for (const float value : values) squares += (value - middle) * (value - middle);
  return std::sqrt(squares / static_cast<float>(values.size()));
}

}  // namespace

Cohort::Cohort(const Pack& pack) {
  if (!pack.cohort) return;
  const CohortSpec& spec = *pack.cohort;
  dimensions_ = static_cast<size_t>(pack.embedder.dimensions);
  highest_ = static_cast<size_t>(std::min(spec.highest, spec.centres));
  highest_weight_ = spec.highest_weight;
  spread_weight_ = spec.spread_weight;
  const std::string path = pack.directory + "/" + spec.file;
  std::ifstream file(path, std::ios::binary);
  const std::vector<char> bytes((std::istreambuf_iterator<char>(file)), {});
  if (bytes.size() != static_cast<size_t>(spec.centres) * dimensions_) {
    throw Error(ErrorCode::kInternalError, "the cohort " + path + " is not of the manifest's size");
  }
  centres_ = static_cast<size_t>(spec.centres);
  columns_.resize(bytes.size());
  for (size_t centre = 0; centre < centres_; ++centre) {
    // Stored as signed bytes of any length; only the direction counts.
    const std::vector<float> row(
        bytes.begin() + static_cast<std::ptrdiff_t>(centre * dimensions_),
        bytes.begin() + static_cast<std::ptrdiff_t>((centre + 1) * dimensions_));
    const float length = std::sqrt(std::inner_product(row.begin(), row.end(), row.begin(), 0.0f));
    for (size_t i = 0; i < dimensions_; ++i) {
      columns_[i * centres_ + centre] = length > 0 ? row[i] / length : 0;
    }
  }
}

float Cohort::score(const Embedding& embedding) const {
  if (highest_ == 0 || embedding.size() != dimensions_) return 0;
  // All centres at once, a dimension after the other: of one cosine each sum has to wait for the
  // one before.
  std::vector<float> cosines(centres_);
  for (size_t i = 0; i < dimensions_; ++i) {
    const float* column = columns_.data() + i * centres_;
    for (size_t centre = 0; centre < centres_; ++centre) {
      cosines[centre] += embedding[i] * column[centre];
    }
  }
  const auto middle = cosines.begin() + static_cast<std::ptrdiff_t>(highest_);
  std::partial_sort(cosines.begin(), middle, cosines.end(), std::greater<>());
  return highest_weight_ * mean({cosines.begin(), middle}) + spread_weight_ * spread(cosines);
}

}  // namespace facematch
