// What a file of a net says of itself.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace facematch {

// An input or output of a net. Open sides are -1.
struct TensorFacts {
  std::string name;
  std::string type;  // "float", "float16", or "other"
  std::vector<int64_t> shape;
};

struct NetFacts {
  std::vector<TensorFacts> inputs, outputs;
};

// Of a file, for whoever has to describe it; runs on the processor. Outputs are as the file
// declares them, or, with a shape for its first input, which must be of floats, as a run on zeros
// makes them: many files declare wrong ones. Throws Error kInternalError with a message for people.
NetFacts net_facts(const std::string& path, const std::vector<int64_t>& input_shape = {});

}  // namespace facematch
