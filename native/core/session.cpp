#include "session.h"

#include <array>
#include <cstdlib>
#include <functional>
#include <numeric>

#include "error.h"

namespace facematch {
namespace {

// Never destroyed: ONNX Runtime's own teardown order at exit differs between versions, and the
// process gives the memory back anyway. test/native/exit.test.ts pins that every way to exit is
// clean.
Ort::Env& environment() {
  static auto* env = [] {
    // From here on ONNX Runtime 1.30 would report its use to its makers, and keep files in the home
    // and temporary folders for it.
    setenv("ORT_DISABLE_TELEMETRY", "1", 1);
    // The core prints nothing; what matters arrives as an exception.
    const auto silent = [](void*, OrtLoggingLevel, const char*, const char*, const char*,
                           const char*) {};
    return new Ort::Env(ORT_LOGGING_LEVEL_FATAL, "facematch", silent, nullptr);
  }();
  return *env;
}

// Never destroyed either: a worker may still be in the middle of run() when the process exits.
const Ort::MemoryInfo& cpu_memory() {
  static const auto* memory =
      new Ort::MemoryInfo(Ort::MemoryInfo::CreateCpu(OrtArenaAllocator, OrtMemTypeDefault));
  return *memory;
}

// Parallelism belongs to the worker threads: a session never starts a thread of its own.
Ort::SessionOptions session_options() {
  Ort::SessionOptions options;
  options.SetIntraOpNumThreads(1);
  options.SetInterOpNumThreads(1);
  options.SetExecutionMode(ORT_SEQUENTIAL);
  options.SetGraphOptimizationLevel(ORT_ENABLE_ALL);
  options.AddConfigEntry("session.intra_op.allow_spinning", "0");
  return options;
}

size_t product(const std::vector<int64_t>& shape) {
  return static_cast<size_t>(
      std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>()));
}

}  // namespace

Net::Net(const std::string& path, std::string input, std::vector<int64_t> input_shape,
         std::vector<std::string> outputs)
    : input_name_(std::move(input)),
      output_names_(std::move(outputs)),
      input_shape_(std::move(input_shape)),
      input_size_(product(input_shape_)) {
  try {
    session_ = Ort::Session(environment(), path.c_str(), session_options());
    // One run on zeros says what no declaration can be trusted for: the shapes that come out.
    std::vector<float> zeros(input_size_);
    const auto& memory = cpu_memory();
    const auto value = Ort::Value::CreateTensor<float>(memory, zeros.data(), zeros.size(),
                                                       input_shape_.data(), input_shape_.size());
    const char* input_name = input_name_.c_str();
    std::vector<const char*> names;
    names.reserve(output_names_.size());
    for (const auto& name : output_names_) names.push_back(name.c_str());
    const auto results =
        session_.Run(Ort::RunOptions{nullptr}, &input_name, &value, 1, names.data(), names.size());
    for (const auto& result : results) {
      const auto info = result.GetTensorTypeAndShapeInfo();
      if (info.GetElementType() != ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT) {
        throw Error(ErrorCode::kInternalError, "the net " + path + " does not answer with floats");
      }
      output_shapes_.push_back(info.GetShape());
      output_sizes_.push_back(product(output_shapes_.back()));
    }
  } catch (const Ort::Exception& error) {
    throw Error(ErrorCode::kInternalError, "the net " + path + " cannot be used: " + error.what());
  }
}

void Net::run(std::span<float> input, std::initializer_list<std::span<float>> outputs) const {
  constexpr size_t kMostOutputs = 4;
  if (input.size() != input_size_ || outputs.size() != output_names_.size() ||
      outputs.size() > kMostOutputs) {
    throw Error(ErrorCode::kInternalError, "a net was given buffers of the wrong size");
  }
  const auto& memory = cpu_memory();
  const auto value = Ort::Value::CreateTensor<float>(memory, input.data(), input.size(),
                                                     input_shape_.data(), input_shape_.size());
  std::array<Ort::Value, kMostOutputs> results = {Ort::Value{nullptr}, Ort::Value{nullptr},
                                                  Ort::Value{nullptr}, Ort::Value{nullptr}};
  std::array<const char*, kMostOutputs> names = {};
  size_t i = 0;
  for (const auto& output : outputs) {
    if (output.size() != output_sizes_[i]) {
      throw Error(ErrorCode::kInternalError, "a net was given buffers of the wrong size");
    }
    results[i] = Ort::Value::CreateTensor<float>(
        memory, output.data(), output.size(), output_shapes_[i].data(), output_shapes_[i].size());
    names[i] = output_names_[i].c_str();
    ++i;
  }
  const char* input_name = input_name_.c_str();
  try {
    session_.Run(Ort::RunOptions{nullptr}, &input_name, &value, 1, names.data(), results.data(), i);
  } catch (const Ort::Exception& error) {
    throw Error(ErrorCode::kInternalError, error.what());
  }
}

}  // namespace facematch
