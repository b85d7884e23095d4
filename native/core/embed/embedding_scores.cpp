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

// Throws Error kInternalError if `file` is missing or has another size.
std::vector<std::int8_t> read_signed_bytes(const Pack& pack, const std::string& file, size_t size,
                                           const char* what) {
  const std::string path = pack.directory + "/" + file;
  std::ifstream stream(path, std::ios::binary);
  // Reads one byte more than `size`: this detects a longer file without reading all of it.
  std::vector<char> bytes(size + 1);
  stream.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  if (stream.gcount() != static_cast<std::streamsize>(size)) {
    throw Error(ErrorCode::kInternalError,
                std::string(what) + " " + path + " must have " + std::to_string(size) + " bytes");
  }
  return {bytes.begin(), bytes.end() - 1};
}

// Number of fractional bits when an embedding's numbers are 16-bit integers. A sum of products is
// at most 2^14 times the Euclidean length of a row. For the maximum of 4096 dimensions this length
// is at most 128 * 64, so the sum fits in 32 bits.
constexpr int kEmbeddingBits = 14;

// Integers are used so that the result does not depend on the order of addition.
[[gnu::always_inline]] inline void multiply_rows(const std::int8_t* rows,
                                                 const std::int16_t* vector, size_t dimensions,
                                                 std::span<std::int32_t> sums) {
  for (std::int32_t& sum : sums) {
    std::int32_t products = 0;
    for (size_t i = 0; i < dimensions; ++i) products += rows[i] * vector[i];
    sum = products;
    rows += dimensions;
  }
}

#ifdef __x86_64__
[[gnu::target("avx2")]] void multiply_avx2(const std::int8_t* rows, const std::int16_t* vector,
                                           size_t dimensions, std::span<std::int32_t> sums) {
  multiply_rows(rows, vector, dimensions, sums);
}
#endif

void multiply(const std::int8_t* rows, const std::int16_t* vector, size_t dimensions,
              std::span<std::int32_t> sums, [[maybe_unused]] bool portable) {
#ifdef __x86_64__
  if (!portable && __builtin_cpu_supports("avx2"))
    return multiply_avx2(rows, vector, dimensions, sums);
#endif
  multiply_rows(rows, vector, dimensions, sums);
}

}  // namespace

Cohort::Cohort(const Pack& pack) {
  if (!pack.cohort) return;
  const CohortSpec& spec = *pack.cohort;
  const auto centres = static_cast<size_t>(spec.centres);
  dimensions_ = static_cast<size_t>(pack.embedder.dimensions);
  highest_ = static_cast<size_t>(std::min(spec.highest, spec.centres));
  weight_ = spec.weight;
  rows_ = read_signed_bytes(pack, spec.file, centres * dimensions_, "the cohort");
  for (auto row = rows_.begin(); row != rows_.end();
       row += static_cast<std::ptrdiff_t>(dimensions_)) {
    const float squares =
        std::inner_product(row, row + static_cast<std::ptrdiff_t>(dimensions_), row, 0.0f);
    // Rows may have any length, because only their direction is used.
    scales_.push_back(squares > 0 ? std::ldexp(1 / std::sqrt(squares), -kEmbeddingBits) : 0);
  }
}

float Cohort::score(std::span<const float> embedding, bool portable) const {
  if (highest_ == 0 || embedding.size() != dimensions_) return 0;
  std::vector<std::int16_t> vector(dimensions_);
  std::transform(embedding.begin(), embedding.end(), vector.begin(), [](float number) {
    return static_cast<std::int16_t>(std::lrint(std::ldexp(number, kEmbeddingBits)));
  });
  std::vector<std::int32_t> sums(scales_.size());
  multiply(rows_.data(), vector.data(), dimensions_, sums, portable);
  std::vector<float> cosines(sums.size());
  std::transform(sums.begin(), sums.end(), scales_.begin(), cosines.begin(),
                 [](std::int32_t sum, float scale) { return static_cast<float>(sum) * scale; });
  const auto last = cosines.begin() + static_cast<std::ptrdiff_t>(highest_);
  std::nth_element(cosines.begin(), last - 1, cosines.end(), std::greater<>());
  std::sort(cosines.begin(), last);  // the sum depends on their order
  const float sum = std::accumulate(cosines.begin(), last, 0.0f);
  return weight_ * sum / static_cast<float>(highest_);
}

LinearScore::LinearScore(const Pack& pack, const std::optional<LinearSpec>& spec) {
  if (!spec) return;
  const auto numbers = read_signed_bytes(
      pack, spec->file, static_cast<size_t>(pack.embedder.dimensions), "the linear score");
  for (const std::int8_t number : numbers) weights_.push_back(spec->scale * number);
  bias_ = spec->bias;
}

std::optional<float> LinearScore::score(const Embedding& embedding) const {
  if (weights_.empty() || embedding.size() != weights_.size()) return std::nullopt;
  return std::inner_product(weights_.begin(), weights_.end(), embedding.begin(), bias_);
}

}  // namespace facematch
