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
    float squares = 0;
    for (size_t i = 0; i < dimensions_; ++i) {
      const auto number = static_cast<std::int8_t>(bytes[centre * dimensions_ + i]);
      columns_[i * centres_ + centre] = number;
      squares += static_cast<float>(number * number);
    }
    // Centres are stored at any length; only the direction counts.
    scales_.push_back(squares > 0 ? 1 / std::sqrt(squares) : 0);
  }
}

float Cohort::score(std::span<const float> embedding) const {
  if (highest_ == 0 || embedding.size() != dimensions_) return 0;
  // All centres at once, a dimension after the other: of one cosine each sum has to wait for the
  // one before.
  std::vector<float> cosines(centres_);
  for (size_t i = 0; i < dimensions_; ++i) {
    const std::int8_t* column = columns_.data() + i * centres_;
    // A copy, which no sum can change: else the compiler takes one centre after the other.
    const float number = embedding[i];
    for (size_t centre = 0; centre < centres_; ++centre) cosines[centre] += number * column[centre];
  }
  for (size_t centre = 0; centre < centres_; ++centre) cosines[centre] *= scales_[centre];
  const auto middle = cosines.begin() + static_cast<std::ptrdiff_t>(highest_);
  std::partial_sort(cosines.begin(), middle, cosines.end(), std::greater<>());
  return highest_weight_ * mean({cosines.begin(), middle}) + spread_weight_ * spread(cosines);
}

}  // namespace facematch
