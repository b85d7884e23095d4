#include "onnx_runtime.h"

#include <dlfcn.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <memory>
#include <mutex>

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
  const OrtApiBase* base = OrtGetApiBase();
};

Choice& choice() {
  static auto* one = new Choice;
  return *one;
}

[[noreturn]] void refuse_library(const std::string& why) {
  throw Error(ErrorCode::kInternalError, why);
}

// Never closed: sessions live as long as the process.
const OrtApiBase* load_library(const std::string& file) {
  void* library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  // Called under the lock of use_onnx_runtime(). NOLINTNEXTLINE(concurrency-mt-unsafe)
  if (library == nullptr) refuse_library("FACEMATCH_ONNXRUNTIME: " + std::string(dlerror()));
  const auto get = reinterpret_cast<const OrtApiBase* (*)()>(dlsym(library, "OrtGetApiBase"));
  if (get == nullptr)
    refuse_library("FACEMATCH_ONNXRUNTIME: " + file + " is no build of ONNX Runtime");
  return get();
}

std::string list_of(const std::vector<std::string>& words) {
  std::string list;
  for (const auto& word : words) list += (list.empty() ? "" : ", ") + word;
  return list;
}

// "CUDAExecutionProvider" is "cuda".
std::string word_of(std::string name) {
  if (name.ends_with(kSuffix)) name.resize(name.size() - std::string(kSuffix).size());
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return name;
}

std::vector<std::string> available_words() {
  std::vector<std::string> names = Ort::GetAvailableProviders();
  std::transform(names.begin(), names.end(), names.begin(), word_of);
  return names;
}

template <typename Options, typename Create, typename Release, typename Add>
void with_options(Create create, Release release, Add add) {
  Options* options = nullptr;
  Ort::ThrowOnError(create(&options));
  const std::unique_ptr<Options, Release> owner(options, release);
  add(*options);
}

// Two providers have options of their own type; the others are added by name.
void add_provider(Ort::SessionOptions& options, const std::string& word) {
  const OrtApi& api = Ort::GetApi();
  if (word == "cuda") {
    with_options<OrtCUDAProviderOptionsV2>(
        api.CreateCUDAProviderOptions, api.ReleaseCUDAProviderOptions,
        [&](const auto& cuda) { options.AppendExecutionProvider_CUDA_V2(cuda); });
  } else if (word == "tensorrt") {
    with_options<OrtTensorRTProviderOptionsV2>(
        api.CreateTensorRTProviderOptions, api.ReleaseTensorRTProviderOptions,
        [&](const auto& tensorrt) { options.AppendExecutionProvider_TensorRT_V2(tensorrt); });
  } else {
    const auto names = Ort::GetAvailableProviders();
    const auto name = std::find_if(names.begin(), names.end(),
                                   [&](const auto& one) { return word_of(one) == word; });
    options.AppendExecutionProvider(name == names.end() ? word : *name);
  }
}

std::string type_word(ONNXTensorElementDataType type) {
  if (type == ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT) return "float";
  return type == ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16 ? "float16" : "other";
}

TensorFacts facts_of(const std::string& name, const Ort::TypeInfo& type) {
  if (type.GetONNXType() != ONNX_TYPE_TENSOR) return {name, "other", {}};
  const auto info = type.GetTensorTypeAndShapeInfo();
  return {name, type_word(info.GetElementType()), info.GetShape()};
}

void measure_outputs(Ort::Session& session, const std::vector<int64_t>& input_shape,
                     NetFacts& net) {
  Ort::AllocatorWithDefaultOptions allocator;
  auto zeros = Ort::Value::CreateTensor<float>(allocator, input_shape.data(), input_shape.size());
  std::fill_n(zeros.GetTensorMutableData<float>(),
              zeros.GetTensorTypeAndShapeInfo().GetElementCount(), 0.0f);
  const char* input_name = net.inputs.front().name.c_str();
  std::vector<const char*> names;
  for (const auto& output : net.outputs) names.push_back(output.name.c_str());
  const auto results =
      session.Run(Ort::RunOptions{nullptr}, &input_name, &zeros, 1, names.data(), names.size());
  for (size_t i = 0; i < results.size(); ++i) {
    if (!results[i].IsTensor()) continue;
    const auto info = results[i].GetTensorTypeAndShapeInfo();
    net.outputs[i] = {net.outputs[i].name, type_word(info.GetElementType()), info.GetShape()};
  }
}

}  // namespace

void use_onnx_runtime(const std::vector<std::string>& providers, const std::string& library) {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  Choice& now = choice();
  if (now.made) {
    if (now.providers == providers && now.library == library) return;
    refuse_library("ONNX Runtime is in use already, with other providers or from another file");
  }
  if (!library.empty()) {
    now.base = load_library(library);
    const OrtApi* api = now.base->GetApi(ORT_API_VERSION);
    if (api == nullptr) {
      refuse_library("FACEMATCH_ONNXRUNTIME: " + library + " is ONNX Runtime " +
                     now.base->GetVersionString() + "; at least 1." +
                     std::to_string(ORT_API_VERSION) + " is needed");
    }
    // All of the C++ API goes through this pointer, which by default is that of the linked library.
    Ort::Global<void>::api_ = api;
  }
  const auto there = available_words();
  for (const auto& provider : providers) {
    if (std::find(there.begin(), there.end(), provider) != there.end()) continue;
    refuse_library("FACEMATCH_PROVIDER: ONNX Runtime " + std::string(now.base->GetVersionString()) +
                   (library.empty() ? "" : " of " + library) + " has no provider " + provider +
                   "; it has " + list_of(there) + ". FACEMATCH_ONNXRUNTIME names another build.");
  }
  now.providers = providers;
  now.library = library;
  now.made = true;
}

OnnxRuntimeFacts onnx_runtime_facts() {
  const Choice& now = choice();
  return {now.base->GetVersionString(), now.providers, available_words()};
}

// Never destroyed: ONNX Runtime's order of destruction at exit differs between versions, and the
// end of the process frees the memory anyway. test/native/exit.test.ts checks that every way to
// exit is clean.
Ort::Env& environment() {
  static auto* env = [] {
    // Without it ONNX Runtime 1.30 sends usage data to its vendor and writes files to the home and
    // temporary folders. Setting it here could crash a thread that reads the environment.
    // Nothing here writes it. NOLINTNEXTLINE(concurrency-mt-unsafe)
    if (std::getenv("ORT_DISABLE_TELEMETRY") == nullptr) {
      refuse_library("ORT_DISABLE_TELEMETRY must be in the environment when the process starts");
    }
    // The core prints nothing; errors arrive as exceptions.
    const auto silent = [](void*, OrtLoggingLevel, const char*, const char*, const char*,
                           const char*) {};
    return new Ort::Env(ORT_LOGGING_LEVEL_FATAL, "facematch", silent, nullptr);
  }();
  return *env;
}

NetNames names_of(const Ort::Session& session) {
  Ort::AllocatorWithDefaultOptions allocator;
  NetNames names;
  for (size_t i = 0; i < session.GetInputCount(); ++i)
    names.inputs.emplace_back(session.GetInputNameAllocated(i, allocator).get());
  for (size_t i = 0; i < session.GetOutputCount(); ++i)
    names.outputs.emplace_back(session.GetOutputNameAllocated(i, allocator).get());
  return names;
}

namespace {

// The worker threads provide the parallelism: a session never starts a thread of its own.
Ort::SessionOptions options_for(const std::vector<std::string>& providers) {
  environment();  // providers log to it while they are added
  Ort::SessionOptions options;
  options.SetIntraOpNumThreads(1);
  options.SetInterOpNumThreads(1);
  options.SetExecutionMode(ORT_SEQUENTIAL);
  options.SetGraphOptimizationLevel(ORT_ENABLE_ALL);
  options.AddConfigEntry("session.intra_op.allow_spinning", "0");
  options.Add(own_operators());
  // Use slower instructions that do not saturate: scores must be the same on every processor.
  if (!has_exact_byte_products()) options.AddConfigEntry("session.x64quantprecision", "1");
  for (const auto& provider : providers) {
    if (provider == kCpu) continue;
    as_errors("FACEMATCH_PROVIDER: " + provider + " cannot be used: ",
              [&] { add_provider(options, provider); });
  }
  // ONNX Runtime would give what a provider cannot run to the processor and tell nobody.
  if (std::find(providers.begin(), providers.end(), kCpu) == providers.end()) {
    options.AddConfigEntry("session.disable_cpu_ep_fallback", "1");
  }
  return options;
}

}  // namespace

Ort::SessionOptions session_options() { return options_for(choice().providers); }

NetFacts net_facts(const std::string& path, const std::vector<int64_t>& input_shape) {
  NetFacts net;
  as_errors("the net " + path + " cannot be used: ", [&] {
    Ort::Session session(environment(), path.c_str(), options_for({kCpu}));
    const auto [inputs, outputs] = names_of(session);
    for (size_t i = 0; i < inputs.size(); ++i)
      net.inputs.push_back(facts_of(inputs[i], session.GetInputTypeInfo(i)));
    for (size_t i = 0; i < outputs.size(); ++i)
      net.outputs.push_back(facts_of(outputs[i], session.GetOutputTypeInfo(i)));
    if (input_shape.empty()) return;
    if (inputs.empty()) throw Error(ErrorCode::kInternalError, "the net " + path + " has no input");
    measure_outputs(session, input_shape, net);
  });
  return net;
}

}  // namespace facematch
