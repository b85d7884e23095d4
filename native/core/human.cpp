#include "human.h"

#include <fstream>
#include <iterator>
#include <numeric>
#include <string>

#include "error.h"

namespace facematch {

HumanCheck::HumanCheck(const Pack& pack) {
  if (!pack.human) return;
  const HumanSpec& spec = *pack.human;
  const std::string path = pack.directory + "/" + spec.file;
  std::ifstream file(path, std::ios::binary);
  const std::vector<char> bytes((std::istreambuf_iterator<char>(file)), {});
  if (bytes.size() != static_cast<size_t>(pack.embedder.dimensions)) {
    throw Error(ErrorCode::kInternalError,
                "the human check " + path + " is not of the embedding's size");
  }
  for (const char byte : bytes) weights_.push_back(spec.scale * static_cast<signed char>(byte));
  bias_ = spec.bias;
  bar_ = spec.bar;
}

std::optional<float> HumanCheck::score(const Embedding& embedding) const {
  if (weights_.empty() || embedding.size() != weights_.size()) return std::nullopt;
  return std::inner_product(weights_.begin(), weights_.end(), embedding.begin(), bias_);
}

}  // namespace facematch
