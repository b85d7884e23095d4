#include "ort.h"

#include <algorithm>
#include <functional>
#include <numeric>

extern "C" const facematch::ort::Base* OrtGetApiBase() noexcept;

namespace facematch::ort {
namespace {

// Null if the linked library is too old; use_onnx_runtime() reports that.
Table& current() {
  static Table one = OrtGetApiBase()->table(kVersion);
  return one;
}

// Returns the object that a call creates in its last parameter.
template <typename Result, typename Make, typename... Arguments>
Result made(const Make& make, Arguments... arguments) {
  Result result{};
  check(make(arguments..., &result));
  return result;
}

AllocatorData* allocator() { return made<AllocatorData*>(api::GetAllocatorWithDefaultOptions); }

// Never destroyed, because a worker may still be in run() when the process exits.
const MemoryData* cpu_memory() {
  static const auto* memory =
      made<MemoryData*>(api::CreateCpuMemoryInfo, AllocatorKind::kArena, MemoryKind::kDefault);
  return memory;
}

TensorType type_of(const TensorTypeData* data) {
  TensorType type{made<Element>(api::GetTensorElementType, data), {}};
  type.shape.resize(made<size_t>(api::GetDimensionsCount, data));
  check(api::GetDimensions(data, type.shape.data(), type.shape.size()));
  return type;
}

std::optional<DeclaredType> declared(TypeData* data) {
  const std::unique_ptr<TypeData, Releaser<api::ReleaseTypeInfo>> owner(data);
  if (made<Kind>(api::GetOnnxTypeFromTypeInfo, data) != Kind::kTensor) return std::nullopt;
  const auto* tensor = made<const TensorTypeData*>(api::CastTypeInfoToTensorInfo, data);
  DeclaredType type{type_of(tensor), {}};
  std::vector<const char*> names(type.shape.size());
  check(api::GetSymbolicDimensions(tensor, names.data(), names.size()));
  for (const char* name : names) type.side_names.emplace_back(name == nullptr ? "" : name);
  return type;
}

template <typename Count, typename Name>
std::vector<std::string> names_of(const SessionData* session, const Count& count,
                                  const Name& name) {
  std::vector<std::string> names;
  const auto size = made<size_t>(count, session);
  for (size_t i = 0; i < size; ++i) {
    char* text = made<char*>(name, session, i, allocator());
    names.emplace_back(text);
    check(api::AllocatorFree(allocator(), text));
  }
  return names;
}

template <typename Data, auto& kRelease, typename Create, typename Add>
void add_with_options(OptionsData* options, const Create& create, const Add& add) {
  const std::unique_ptr<Data, Releaser<kRelease>> owner(made<Data*>(create));
  check(add(options, owner.get()));
}

}  // namespace

Table table() { return current(); }
void use_table(Table other) { current() = other; }
const Base* linked_library() { return OrtGetApiBase(); }

void check(StatusData* status) {
  if (status == nullptr) return;
  const std::unique_ptr<StatusData, Releaser<api::ReleaseStatus>> owner(status);
  throw Failure(api::GetErrorMessage(status));
}

StatusData* status_of(ErrorKind kind, const std::exception& error) {
  return api::CreateStatus(kind, error.what());
}

std::vector<std::string> available_providers() {
  char** names = nullptr;
  int count = 0;
  check(api::GetAvailableProviders(&names, &count));
  const std::vector<std::string> list(names, names + count);
  check(api::ReleaseAvailableProviders(names, count));
  return list;
}

EnvData* make_environment(const char* id, Log log) {
  return made<EnvData*>(api::CreateEnvWithCustomLogger, log, nullptr, LogLevel::kFatal, id);
}

size_t TensorType::count() const {
  return static_cast<size_t>(
      std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>()));
}

TensorType type_of(const ValueData* value) {
  const std::unique_ptr<TensorTypeData, Releaser<api::ReleaseTensorTypeAndShapeInfo>> owner(
      made<TensorTypeData*>(api::GetTensorTypeAndShape, value));
  return type_of(owner.get());
}

Value::Value(std::span<float> data, const std::vector<int64_t>& shape)
    : data_(made<ValueData*>(api::CreateTensorWithDataAsOrtValue, cpu_memory(), data.data(),
                             data.size_bytes(), shape.data(), shape.size(), Element::kFloat)) {}

Value Value::zeros(const std::vector<int64_t>& shape) {
  Value value;
  value.data_.reset(made<ValueData*>(api::CreateTensorAsOrtValue, allocator(), shape.data(),
                                     shape.size(), Element::kFloat));
  std::fill_n(value.floats(), value.type().count(), 0.0f);
  return value;
}

bool Value::is_tensor() const {
  return data_ != nullptr && made<int>(api::IsTensor, data_.get()) != 0;
}

Options::Options() : data_(made<OptionsData*>(api::CreateSessionOptions)) {}

void Options::set_threads(int intra_op, int inter_op) {
  check(api::SetIntraOpNumThreads(data_.get(), intra_op));
  check(api::SetInterOpNumThreads(data_.get(), inter_op));
}

void Options::set_sequential() {
  check(api::SetSessionExecutionMode(data_.get(), Execution::kSequential));
}

void Options::set_optimisation(Optimisation level) {
  check(api::SetSessionGraphOptimizationLevel(data_.get(), level));
}

void Options::set_optimised_file(const std::string& path) {
  check(api::SetOptimizedModelFilePath(data_.get(), path.c_str()));
}

void Options::set(const char* key, const char* value) {
  check(api::AddSessionConfigEntry(data_.get(), key, value));
}

void Options::fix_side(const std::string& name, int64_t size) {
  check(api::AddFreeDimensionOverrideByName(data_.get(), name.c_str(), size));
}

void Options::add(OperatorDomain* operators) {
  check(api::AddCustomOpDomain(data_.get(), operators));
}

void Options::add_provider(const std::string& name) {
  check(api::SessionOptionsAppendExecutionProvider(data_.get(), name.c_str(), nullptr, nullptr, 0));
}

void Options::add_cuda() {
  add_with_options<CudaOptions, api::ReleaseCUDAProviderOptions>(
      data_.get(), api::CreateCUDAProviderOptions,
      api::SessionOptionsAppendExecutionProvider_CUDA_V2);
}

void Options::add_tensor_rt() {
  add_with_options<TensorRtOptions, api::ReleaseTensorRTProviderOptions>(
      data_.get(), api::CreateTensorRTProviderOptions,
      api::SessionOptionsAppendExecutionProvider_TensorRT_V2);
}

Session::Session(const EnvData* env, const std::string& path, const Options& options)
    : data_(made<SessionData*>(api::CreateSession, env, path.c_str(), options.get())) {}

Session::Session(const EnvData* env, std::span<const uint8_t> model, const Options& options)
    : data_(made<SessionData*>(api::CreateSessionFromArray, env, model.data(), model.size(),
                               options.get())) {}

std::vector<std::string> Session::input_names() const {
  return names_of(data_.get(), api::SessionGetInputCount, api::SessionGetInputName);
}

std::vector<std::string> Session::output_names() const {
  return names_of(data_.get(), api::SessionGetOutputCount, api::SessionGetOutputName);
}

std::optional<DeclaredType> Session::input_type(size_t index) const {
  return declared(made<TypeData*>(api::SessionGetInputTypeInfo, data_.get(), index));
}

std::optional<DeclaredType> Session::output_type(size_t index) const {
  return declared(made<TypeData*>(api::SessionGetOutputTypeInfo, data_.get(), index));
}

void Session::run(const char* input_name, const Value& input, std::span<const char* const> names,
                  std::span<Value> outputs) const {
  const ValueData* in = input.data_.get();
  std::vector<ValueData*> out(outputs.size());
  StatusData* status =
      api::Run(data_.get(), nullptr, &input_name, &in, 1, names.data(), names.size(), out.data());
  for (size_t i = 0; i < out.size(); ++i) outputs[i].data_.reset(out[i]);
  check(status);
}

OperatorDomain* make_domain(const char* name, const CustomOperator& one) {
  auto* domain = made<OperatorDomain*>(api::CreateCustomOpDomain, name);
  check(api::CustomOpDomain_Add(domain, &one));
  return domain;
}

}  // namespace facematch::ort
