// The ONNX Runtime of this process: the build of the library and its execution providers; and the
// description of an ONNX file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "../error.h"
#include "ort.h"

namespace facematch {

// Chooses once for the process, before the first net is loaded; a later call must name the same.
// Providers are in order of preference, by their names without "ExecutionProvider", in lower case:
// with {"cuda"} a net that cannot run entirely on it is rejected, with {"cuda", "cpu"} the CPU runs
// the rest. `library`: file of another build; empty for the linked one. Throws Error kInternalError
// with a message for people.
void use_onnx_runtime(const std::vector<std::string>& providers, const std::string& library);

struct OnnxRuntimeFacts {
  std::string version;
  std::vector<std::string> providers;  // in use
  std::vector<std::string> available;  // in the library
};

OnnxRuntimeFacts onnx_runtime_facts();

// Never destroyed.
const ort::EnvData* environment();

// Runs code that calls ONNX Runtime; converts its exception to an Error kInternalError that begins
// with `what`.
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

// Returns options for the providers in use. Throws Error kInternalError if one cannot be used.
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

// Describes a file; runs on the CPU. Outputs are as the file declares them or, given a shape for
// its first input, which must be of floats, as a run on zeros returns them: many files declare
// wrong ones. Throws Error kInternalError with a message for people.
NetFacts net_facts(const std::string& path, const std::vector<int64_t>& input_shape = {});

}  // namespace facematch
