#include "cohort.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <functional>
#include <iterator>
#include <numeric>

#include "error.h"

namespace facematch {

Cohort::Cohort(const Pack& pack) {
  if (!pack.cohort) return;
  const CohortSpec& spec = *pack.cohort;
  dimensions_ = static_cast<size_t>(pack.embedder.dimensions);
  highest_ = static_cast<size_t>(std::min(spec.highest, spec.centres));
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
  if (highest_ == 0 || embedding.size() != dimensions_) return 0;
  std::vector<float> cosines;
  cosines.reserve(centres_.size() / dimensions_);
  for (size_t start = 0; start < centres_.size(); start += dimensions_) {
    cosines.push_back(std::inner_product(embedding.begin(), embedding.end(),
                                         centres_.begin() + static_cast<std::ptrdiff_t>(start),
                                         0.0f));
  }
  const auto middle = cosines.begin() + static_cast<std::ptrdiff_t>(highest_);
  std::partial_sort(cosines.begin(), middle, cosines.end(), std::greater<>());
  return std::accumulate(cosines.begin(), middle, 0.0f) / static_cast<float>(highest_);
}

}  // namespace facematch
