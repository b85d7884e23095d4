#include "embedding_scores.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <functional>
#include <numeric>
#include <string>

#include "../error.h"

namespace facematch {
namespace {

// Throws Error kInternalError when `file` is missing or has not that size.
std::vector<std::int8_t> read_signed_bytes(const Pack& pack, const std::string& file, size_t size,
                                           const char* what, const char* whose_size) {
  const std::string path = pack.directory + "/" + file;
  std::ifstream stream(path, std::ios::binary);
  // One more than wanted: a file of any size takes no more memory.
  std::vector<char> bytes(size + 1);
  stream.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  if (stream.gcount() != static_cast<std::streamsize>(size)) {
    throw Error(ErrorCode::kInternalError,
                std::string(what) + " " + path + " is not of " + whose_size + " size");
  }
  return {bytes.begin(), bytes.end() - 1};
}

float mean(std::span<const float> values) {
  return std::accumulate(values.begin(), values.end(), 0.0f) / static_cast<float>(values.size());
}

// Standard deviation of the population, not the estimate from a sample.
float stddev(std::span<const float> values) {
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
  centres_ = static_cast<size_t>(spec.centres);
  highest_ = static_cast<size_t>(std::min(spec.highest, spec.centres));
  highest_weight_ = spec.highest_weight;
  stddev_weight_ = spec.stddev_weight;
  const auto rows =
      read_signed_bytes(pack, spec.file, centres_ * dimensions_, "the cohort", "the manifest's");
  columns_.resize(rows.size());
  for (size_t centre = 0; centre < centres_; ++centre) {
    float squares = 0;
    for (size_t i = 0; i < dimensions_; ++i) {
      const std::int8_t number = rows[centre * dimensions_ + i];
      columns_[i * centres_ + centre] = number;
      squares += static_cast<float>(number * number);
    }
    // Centres are stored at any length; only the direction counts.
    scales_.push_back(squares > 0 ? 1 / std::sqrt(squares) : 0);
  }
}

float Cohort::score(std::span<const float> embedding) const {
  if (highest_ == 0 || embedding.size() != dimensions_) return 0;
  // Dimension by dimension over all centres: these sums are independent, while those of a single
  // cosine depend on each other.
  std::vector<float> cosines(centres_);
  for (size_t i = 0; i < dimensions_; ++i) {
    const std::int8_t* column = columns_.data() + i * centres_;
    // A local copy: otherwise the compiler must assume aliasing and does not vectorise the loop.
    const float number = embedding[i];
    for (size_t centre = 0; centre < centres_; ++centre) cosines[centre] += number * column[centre];
  }
  for (size_t centre = 0; centre < centres_; ++centre) cosines[centre] *= scales_[centre];
  const auto middle = cosines.begin() + static_cast<std::ptrdiff_t>(highest_);
  std::partial_sort(cosines.begin(), middle, cosines.end(), std::greater<>());
  return highest_weight_ * mean({cosines.begin(), middle}) + stddev_weight_ * stddev(cosines);
}

HumanCheck::HumanCheck(const Pack& pack) {
  if (!pack.human) return;
  const HumanSpec& spec = *pack.human;
  const auto numbers =
      read_signed_bytes(pack, spec.file, static_cast<size_t>(pack.embedder.dimensions),
                        "the human check", "the embedding's");
  for (const std::int8_t number : numbers) weights_.push_back(spec.scale * number);
  bias_ = spec.bias;
  bar_ = spec.bar;
}

std::optional<float> HumanCheck::score(const Embedding& embedding) const {
  if (weights_.empty() || embedding.size() != weights_.size()) return std::nullopt;
  return std::inner_product(weights_.begin(), weights_.end(), embedding.begin(), bias_);
}

}  // namespace facematch
