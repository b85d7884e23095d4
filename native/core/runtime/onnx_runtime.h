// ONNX Runtime as this process uses it: which build of the library, on which execution providers;
// and what a file of a net says of itself.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "../error.h"
#include "ort.h"

namespace facematch {

// Chooses once for the process, before the first net is loaded; a later call must name the same.
// Providers are in order of preference, by their names without "ExecutionProvider", in lower case:
// with {"cuda"} a net that it cannot run as a whole is refused, with {"cuda", "cpu"} the processor
// runs the rest. `library` is the file of another build; empty for the one that is linked. Throws
// Error kInternalError with a message for people.
void use_onnx_runtime(const std::vector<std::string>& providers, const std::string& library);

struct OnnxRuntimeFacts {
  std::string version;
  std::vector<std::string> providers;  // in use
  std::vector<std::string> available;  // in the library
};

OnnxRuntimeFacts onnx_runtime_facts();

// Never destroyed.
const ort::EnvData* environment();

// Does what calls ONNX Runtime; its exception becomes an Error kInternalError that begins with
// `what`.
template <typename Act>
void as_errors(const std::string& what, Act act) {
  try {
    act();
  } catch (const ort::Failure& error) {
    throw Error(ErrorCode::kInternalError, what + error.what());
  }
}

struct NetNames {
  std::vector<std::string> inputs, outputs;
};

NetNames names_of(const ort::Session& session);

// For the providers in use. Throws Error kInternalError when one cannot be used.
ort::Options session_options();

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
