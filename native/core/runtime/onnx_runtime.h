// Chooses this process's ONNX Runtime, that is, the library's build and its execution providers,
// and describes ONNX files.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "../error.h"
#include "ort.h"

namespace facematch {

// Chooses providers and library once for the process, before the first net is loaded; a later call
// must name the same. `providers` are in order of preference: lower-case names without
// "ExecutionProvider". With {"cuda"}, a net that cannot run entirely on CUDA is rejected; with
// {"cuda", "cpu"}, the CPU runs the rest. `library`: file of another build; empty for the linked
// one. Throws Error kInternalError with a readable message.
void use_onnx_runtime(const std::vector<std::string>& providers, const std::string& library);

struct OnnxRuntimeFacts {
  std::string version;
  std::vector<std::string> providers;  // in use
  std::vector<std::string> available;  // in the library
};

OnnxRuntimeFacts onnx_runtime_facts();

// Returns the environment of the process, which is never destroyed.
const ort::EnvData* environment();

// Runs code that calls ONNX Runtime. Converts ort::Failure to an Error kInternalError whose message
// begins with `what`.
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

// An input or output of a net. Dynamic dimensions are -1.
struct TensorFacts {
  std::string name;
  std::string type;  // "float", "float16", or "other"
  std::vector<int64_t> shape;
};

struct NetFacts {
  std::vector<TensorFacts> inputs, outputs;
};

// Describes a file. Without `input_shape`, outputs are as the file declares them, and these
// declarations are often wrong. With a shape for its first input, which must be of floats, outputs
// are measured by a run on zeros on the CPU. Throws Error kInternalError with a readable message.
NetFacts net_facts(const std::string& path, const std::vector<int64_t>& input_shape = {});

}  // namespace facematch
