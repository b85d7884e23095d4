// ONNX Runtime as this process uses it: which build of the library, on which execution providers.
#pragma once

#include <onnxruntime_cxx_api.h>

#include <string>
#include <vector>

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
Ort::Env& environment();

// For the providers in use, or for others. Both throw Error kInternalError when one cannot be used.
Ort::SessionOptions session_options();
Ort::SessionOptions session_options(const std::vector<std::string>& providers);

}  // namespace facematch
