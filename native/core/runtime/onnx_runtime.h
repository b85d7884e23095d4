// ONNX Runtime as this process uses it: which build of the library, on which execution providers.
#pragma once

#include <onnxruntime_cxx_api.h>

#include <string>
#include <vector>

#include "../error.h"

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

// Does what calls ONNX Runtime; its exception becomes an Error kInternalError that begins with
// `what`.
template <typename Act>
void as_errors(const std::string& what, Act act) {
  try {
    act();
  } catch (const Ort::Exception& error) {
    throw Error(ErrorCode::kInternalError, what + error.what());
  }
}

struct NetNames {
  std::vector<std::string> inputs, outputs;
};

NetNames names_of(const Ort::Session& session);

// For the providers in use, or for others. Both throw Error kInternalError when one cannot be used.
Ort::SessionOptions session_options();
Ort::SessionOptions session_options(const std::vector<std::string>& providers);

}  // namespace facematch
