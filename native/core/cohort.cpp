#include "cohort.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <numeric>

#include "error.h"

namespace facematch {

Cohort::Cohort(const Pack& pack) {
  if (!pack.cohort) return;
  const CohortSpec& spec = *pack.cohort;
  dimensions_ = static_cast<size_t>(pack.embedder.dimensions);
  inverse_temperature_ = spec.inverse_temperature;
  const std::string path = pack.directory + "/" + spec.file;
  std::ifstream file(path, std::ios::binary);
  const std::vector<char> bytes((std::istreambuf_iterator<char>(file)), {});
  if (bytes.size() != static_cast<size_t>(spec.centres) * dimensions_) {
    throw Error(ErrorCode::kInternalError, "the cohort " + path + " is not of the manifest's size");
  }
  centres_.assign(bytes.begin(), bytes.end());
  // Stored as signed bytes of any length; only the direction counts.
  for (auto row = centres_.begin(); row != centres_.end();
       row += static_cast<std::ptrdiff_t>(dimensions_)) {
    const auto end = row + static_cast<std::ptrdiff_t>(dimensions_);
    const float length = std::sqrt(std::inner_product(row, end, row, 0.0f));
    if (length > 0) std::for_each(row, end, [length](float& value) { value /= length; });
  }
}

float Cohort::score(const Embedding& embedding) const {
  if (centres_.empty() || embedding.size() != dimensions_) return 0;
  std::vector<float> cosines;
  cosines.reserve(centres_.size() / dimensions_);
  for (size_t start = 0; start < centres_.size(); start += dimensions_) {
    cosines.push_back(std::inner_product(embedding.begin(), embedding.end(),
                                         centres_.begin() + static_cast<std::ptrdiff_t>(start),
                                         0.0f));
  }
  // Relative to the largest, so that none overflows.
  const float most = *std::max_element(cosines.begin(), cosines.end());
  float sum = 0;
  for (const float cosine : cosines) sum += std::exp(inverse_temperature_ * (cosine - most));
  return most + std::log(sum / static_cast<float>(cosines.size())) / inverse_temperature_;
}

}  // namespace facematch
