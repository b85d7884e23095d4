#include "session.h"

#include <algorithm>
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

std::string quoted_list(const std::vector<std::string>& names) {
  std::string list;
  for (const auto& name : names) list += (list.empty() ? "\"" : ", \"") + name + "\"";
  return list;
}

template <typename NameAt>
std::vector<std::string> names_of(size_t count, NameAt name_at) {
  Ort::AllocatorWithDefaultOptions allocator;
  std::vector<std::string> names;
  names.reserve(count);
  for (size_t i = 0; i < count; ++i) names.emplace_back(name_at(i, allocator).get());
  return names;
}

std::vector<std::string> input_names(const Ort::Session& session) {
  return names_of(session.GetInputCount(), [&](size_t i, OrtAllocator* allocator) {
    return session.GetInputNameAllocated(i, allocator);
  });
}

std::vector<std::string> output_names(const Ort::Session& session) {
  return names_of(session.GetOutputCount(), [&](size_t i, OrtAllocator* allocator) {
    return session.GetOutputNameAllocated(i, allocator);
  });
}

// Its position. Throws Error when there is none of that name.
size_t find_name(const std::vector<std::string>& names, const std::string& name,
                 const std::string& what) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found != names.end()) return static_cast<size_t>(found - names.begin());
  throw Error(ErrorCode::kInternalError,
              what + " \"" + name + "\"; there are " + quoted_list(names));
}

// A net may leave sides of its input open under a name (its batch, its height). Here each is given
// its size for good: a session has one shape, and what depends on it is worked out once. Answers
// whether there was any.
bool fix_open_sides(const Ort::Session& session, size_t input, const std::vector<int64_t>& shape,
                    Ort::SessionOptions& options) {
  const auto type = session.GetInputTypeInfo(input);
  if (type.GetONNXType() != ONNX_TYPE_TENSOR) return false;  // the first run will refuse it
  const auto info = type.GetTensorTypeAndShapeInfo();
  std::vector<const char*> names(info.GetDimensionsCount());
  info.GetSymbolicDimensions(names.data(), names.size());
  bool any = false;
  for (size_t i = 0; i < std::min(names.size(), shape.size()); ++i) {
    if (names[i] == nullptr || *names[i] == '\0') continue;
    Ort::ThrowOnError(Ort::GetApi().AddFreeDimensionOverrideByName(options, names[i], shape[i]));
    any = true;
  }
  return any;
}

Ort::Session open_session(const std::string& path, const std::string& input,
                          const std::vector<int64_t>& input_shape,
                          const std::vector<std::string>& outputs) {
  Ort::SessionOptions options = session_options();
  Ort::Session session(environment(), path.c_str(), options);
  const size_t position =
      find_name(input_names(session), input, "the net " + path + " has no input");
  const auto answers = output_names(session);
  for (const auto& output : outputs) {
    find_name(answers, output, "the net " + path + " has no output");
  }
  // Only a session tells the names, and only a new one obeys.
  if (!fix_open_sides(session, position, input_shape, options)) return session;
  return {environment(), path.c_str(), options};
}

}  // namespace

Net::Net(const std::string& path, std::string input, std::vector<int64_t> input_shape,
         std::vector<std::string> outputs)
    : input_name_(std::move(input)),
      output_names_(std::move(outputs)),
      input_shape_(std::move(input_shape)),
      input_size_(product(input_shape_)) {
  try {
    session_ = open_session(path, input_name_, input_shape_, output_names_);
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

void Net::run(std::span<float> input, std::span<const std::span<float>> outputs) const {
  const bool fits = input.size() == input_size_ && outputs.size() == output_sizes_.size() &&
                    std::equal(outputs.begin(), outputs.end(), output_sizes_.begin(),
                               [](const auto& o, size_t size) { return o.size() == size; });
  if (!fits) throw Error(ErrorCode::kInternalError, "a net was given buffers of the wrong size");
  const auto& memory = cpu_memory();
  const auto value = Ort::Value::CreateTensor<float>(memory, input.data(), input.size(),
                                                     input_shape_.data(), input_shape_.size());
  std::vector<Ort::Value> results;
  std::vector<const char*> names;
  results.reserve(outputs.size());
  names.reserve(outputs.size());
  for (size_t i = 0; i < outputs.size(); ++i) {
    const auto& shape = output_shapes_[i];
    results.push_back(Ort::Value::CreateTensor<float>(memory, outputs[i].data(), outputs[i].size(),
                                                      shape.data(), shape.size()));
    names.push_back(output_names_[i].c_str());
  }
  const char* input_name = input_name_.c_str();
  try {
    session_.Run(Ort::RunOptions{nullptr}, &input_name, &value, 1, names.data(), results.data(),
                 results.size());
  } catch (const Ort::Exception& error) {
    throw Error(ErrorCode::kInternalError, error.what());
  }
}

}  // namespace facematch
