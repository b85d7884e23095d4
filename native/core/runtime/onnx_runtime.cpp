#include "onnx_runtime.h"

#include <dlfcn.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <utility>

#include "int8/byte_prelu.h"
#include "session.h"

namespace facematch {
namespace {

constexpr const char* kSuffix = "ExecutionProvider";
constexpr const char* kCpu = "cpu";

struct Choice {
  bool made = false;
  std::vector<std::string> providers = {kCpu};
  std::string library;
  const ort::Base* base = ort::linked_library();
};

Choice& choice() {
  static auto* one = new Choice;
  return *one;
}

[[noreturn]] void fail(const std::string& why) { throw Error(ErrorCode::kInternalError, why); }

// The library is never closed, because sessions live as long as the process.
const ort::Base* load_library(const std::string& file) {
  void* library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  // Called under the lock of use_onnx_runtime(). NOLINTNEXTLINE(concurrency-mt-unsafe)
  if (library == nullptr) fail("FACEMATCH_ONNXRUNTIME_LIBRARY: " + std::string(dlerror()));
  const auto get = reinterpret_cast<const ort::Base* (*)()>(dlsym(library, "OrtGetApiBase"));
  if (get == nullptr)
    fail("FACEMATCH_ONNXRUNTIME_LIBRARY: " + file + " is not a build of ONNX Runtime");
  return get();
}

std::string list_of(const std::vector<std::string>& words) {
  std::string list;
  for (const auto& word : words) list += (list.empty() ? "" : ", ") + word;
  return list;
}

// Maps "CUDAExecutionProvider" to "cuda".
std::string word_of(std::string name) {
  if (name.ends_with(kSuffix)) name.resize(name.size() - std::string(kSuffix).size());
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return name;
}

std::vector<std::string> available_words() {
  std::vector<std::string> names = ort::available_providers();
  std::transform(names.begin(), names.end(), names.begin(), word_of);
  return names;
}

// Two providers have options of their own type; the others are added by name.
void add_provider(ort::Options& options, const std::string& word) {
  if (word == "cuda") {
    options.add_cuda();
  } else if (word == "tensorrt") {
    options.add_tensor_rt();
  } else {
    const auto names = ort::available_providers();
    const auto name = std::find_if(names.begin(), names.end(),
                                   [&](const auto& one) { return word_of(one) == word; });
    options.add_provider(name == names.end() ? word : *name);
  }
}

std::string type_word(ort::Element type) {
  if (type == ort::Element::kFloat) return "float";
  return type == ort::Element::kFloat16 ? "float16" : "other";
}

TensorFacts facts_of(const std::string& name, const std::optional<ort::DeclaredType>& type) {
  if (!type) return {name, "other", {}};
  return {name, type_word(type->element), type->shape};
}

void measure_outputs(const ort::Session& session, const std::vector<int64_t>& input_shape,
                     NetFacts& net) {
  const auto zeros = ort::Value::zeros(input_shape);
  std::vector<const char*> names;
  for (const auto& output : net.outputs) names.push_back(output.name.c_str());
  std::vector<ort::Value> results(names.size());
  session.run(net.inputs.front().name.c_str(), zeros, names, results);
  for (size_t i = 0; i < results.size(); ++i) {
    if (!results[i].is_tensor()) continue;
    auto [element, shape] = results[i].type();
    net.outputs[i] = {net.outputs[i].name, type_word(element), std::move(shape)};
  }
}

}  // namespace

void use_onnx_runtime(const std::vector<std::string>& providers, const std::string& library) {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  Choice& now = choice();
  if (now.made) {
    if (now.providers == providers && now.library == library) return;
    fail("ONNX Runtime is already in use, with other providers or from another file");
  }
  if (!library.empty()) now.base = load_library(library);
  const ort::Table table = now.base->table(ort::kVersion);
  if (table == nullptr) {
    fail((library.empty() ? "" : "FACEMATCH_ONNXRUNTIME_LIBRARY: " + library + " is ") +
         "ONNX Runtime " + now.base->version() + "; at least 1." + std::to_string(ort::kVersion) +
         " is needed");
  }
  ort::use_table(table);
  const auto there = available_words();
  for (const auto& provider : providers) {
    if (std::find(there.begin(), there.end(), provider) != there.end()) continue;
    fail("FACEMATCH_EXECUTION_PROVIDERS: ONNX Runtime " + std::string(now.base->version()) +
         (library.empty() ? "" : " from " + library) + " has no provider " + provider +
         "; it has " + list_of(there) +
         ". To use another build, set FACEMATCH_ONNXRUNTIME_LIBRARY.");
  }
  now.providers = providers;
  now.library = library;
  now.made = true;
}

OnnxRuntimeFacts onnx_runtime_facts() {
  const Choice& now = choice();
  return {now.base->version(), now.providers, available_words()};
}

// Never destroyed: ONNX Runtime's order of destruction at exit differs between versions, and the
// end of the process frees the memory anyway. test/slow/native/exit.test.ts checks that every way
// to exit is clean.
const ort::EnvData* environment() {
  static const auto* env = [] {
    // Without this variable, ONNX Runtime 1.30 sends usage data to its vendor and writes files to
    // the home and temporary folders. Setting it here could crash a thread that reads the
    // environment. This process never writes its environment. NOLINTNEXTLINE(concurrency-mt-unsafe)
    if (std::getenv("ORT_DISABLE_TELEMETRY") == nullptr) {
      fail("ORT_DISABLE_TELEMETRY must be in the environment when the process starts");
    }
    // The core prints nothing; errors arrive as exceptions.
    return ort::make_environment("facematch", [](void*, ort::LogLevel, const char*, const char*,
                                                 const char*, const char*) {});
  }();
  return env;
}

NetNames names_of(const ort::Session& session) {
  return {session.input_names(), session.output_names()};
}

namespace {

// The worker threads provide the parallelism, so a session starts no threads.
ort::Options options_for(const std::vector<std::string>& providers) {
  environment();  // providers log to it while they are added
  ort::Options options;
  options.set_threads(1, 1);
  options.set_sequential();
  options.set_optimisation(ort::Optimisation::kAll);
  options.set("session.intra_op.allow_spinning", "0");
  options.add(own_operators());
  // Selects slower products of unsigned bytes, which do not saturate, because scores must be the
  // same on every CPU.
  if (!has_exact_byte_products()) options.set("session.x64quantprecision", "1");
  for (const auto& provider : providers) {
    if (provider == kCpu) continue;
    as_errors("FACEMATCH_EXECUTION_PROVIDERS: " + provider + " cannot be used: ",
              [&] { add_provider(options, provider); });
  }
  // Otherwise ONNX Runtime silently uses the CPU for operators that no provider supports.
  if (std::find(providers.begin(), providers.end(), kCpu) == providers.end()) {
    options.set("session.disable_cpu_ep_fallback", "1");
  }
  return options;
}

}  // namespace

ort::Options session_options() { return options_for(choice().providers); }

NetFacts net_facts(const std::string& path, const std::vector<int64_t>& input_shape) {
  NetFacts net;
  as_errors("the net " + path + " cannot be used: ", [&] {
    const ort::Session session(environment(), path, options_for({kCpu}));
    const auto [inputs, outputs] = names_of(session);
    for (size_t i = 0; i < inputs.size(); ++i)
      net.inputs.push_back(facts_of(inputs[i], session.input_type(i)));
    for (size_t i = 0; i < outputs.size(); ++i)
      net.outputs.push_back(facts_of(outputs[i], session.output_type(i)));
    if (input_shape.empty()) return;
    if (inputs.empty()) throw Error(ErrorCode::kInternalError, "the net " + path + " has no input");
    measure_outputs(session, input_shape, net);
  });
  return net;
}

}  // namespace facematch
