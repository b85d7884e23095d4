#include "compare.h"

#include <algorithm>
#include <numeric>

namespace facematch {

float cosine(const Embedding& a, const Embedding& b) {
  const float dot = std::inner_product(a.begin(), a.end(), b.begin(), 0.0f);
  return std::clamp(dot, -1.0f, 1.0f);
}

std::vector<Pair> compare_all(const std::vector<Comparable>& first,
                              const std::vector<Comparable>& second) {
  std::vector<Pair> pairs;
  for (size_t i = 0; i < first.size(); ++i) {
    for (size_t j = 0; j < second.size(); ++j) {
      if (first[i].embedding.empty() || second[j].embedding.empty()) continue;
      const float similarity = cosine(first[i].embedding, second[j].embedding);
      const float expected = (first[i].cohort_score + second[j].cohort_score) / 2;
      pairs.push_back(
          {static_cast<int>(i), static_cast<int>(j), similarity, similarity - expected});
    }
  }
  std::stable_sort(pairs.begin(), pairs.end(), [](const Pair& a, const Pair& b) {
    return a.normalised_similarity > b.normalised_similarity;
  });
  return pairs;
}

}  // namespace facematch
