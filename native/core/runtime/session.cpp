#include "session.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <numeric>
#include <string_view>
#include <vector>

#include "../error.h"
#include "onnx_runtime.h"
#include "unsigned_weights.h"

namespace facematch {
namespace {

// Never destroyed: a worker may still be in run() when the process exits.
const Ort::MemoryInfo& cpu_memory() {
  static const auto* memory =
      new Ort::MemoryInfo(Ort::MemoryInfo::CreateCpu(OrtArenaAllocator, OrtMemTypeDefault));
  return *memory;
}

size_t product(const std::vector<int64_t>& shape) {
  return static_cast<size_t>(
      std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>()));
}

// Values that the net is to allocate.
std::vector<Ort::Value> empty(size_t count) {
  std::vector<Ort::Value> values;
  values.reserve(count);
  for (size_t i = 0; i < count; ++i) values.emplace_back(nullptr);
  return values;
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

std::vector<std::string> output_names_of(const Ort::Session& session) {
  return names_of(session.GetOutputCount(), [&](size_t i, OrtAllocator* allocator) {
    return session.GetOutputNameAllocated(i, allocator);
  });
}

// The position of `name`. Throws Error when it is missing.
size_t find_name(const std::vector<std::string>& names, const std::string& name,
                 const std::string& what) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found != names.end()) return static_cast<size_t>(found - names.begin());
  throw Error(ErrorCode::kInternalError,
              what + " \"" + name + "\"; there are " + quoted_list(names));
}

// Input shapes are batch, channels, height, width.
constexpr size_t kRank = 4;
constexpr size_t kHeight = 2;

// Fixes the dynamic dimensions of an input (its batch, its height) to `shape`, except sides that
// are to stay dynamic. ONNX Runtime then computes everything that depends on them once, at loading.
// Returns whether there was any to fix.
bool fix_dynamic_dimensions(const Ort::Session& session, size_t input,
                            const std::vector<int64_t>& shape, Sides sides,
                            Ort::SessionOptions& options) {
  const auto type = session.GetInputTypeInfo(input);
  if (type.GetONNXType() != ONNX_TYPE_TENSOR) return false;  // the first run fails
  const auto info = type.GetTensorTypeAndShapeInfo();
  std::vector<const char*> names(info.GetDimensionsCount());
  info.GetSymbolicDimensions(names.data(), names.size());
  const size_t last = std::min(names.size(), sides == Sides::kDynamic ? kHeight : shape.size());
  // Some files call every open dimension "?": such a name cannot be fixed to two sizes.
  const auto name_of = [&](size_t i) { return std::string_view(names[i] ? names[i] : ""); };
  const auto is_of_one_size = [&](size_t i) {
    for (size_t k = 0; k < names.size(); ++k) {
      if (name_of(k) == name_of(i) && (k >= last || shape[k] != shape[i])) return false;
    }
    return true;
  };
  bool any = false;
  for (size_t i = 0; i < last; ++i) {
    if (name_of(i).empty() || !is_of_one_size(i)) continue;
    Ort::ThrowOnError(Ort::GetApi().AddFreeDimensionOverrideByName(options, names[i], shape[i]));
    any = true;
  }
  return any;
}

bool has_dynamic_sides(const Ort::Session& session, const std::string& input) {
  const size_t position = find_name(input_names(session), input, "the net has no input");
  const auto shape = session.GetInputTypeInfo(position).GetTensorTypeAndShapeInfo().GetShape();
  return shape.size() == kRank && shape[kHeight] < 0 && shape[kHeight + 1] < 0;
}

// Where products of bytes saturate, the weights are read as unsigned ones.
Ort::Session open_file(const std::string& path, const Ort::SessionOptions& options) {
  if (!has_exact_byte_products()) {
    const auto model = with_unsigned_weights(path);
    if (!model.empty()) return {environment(), model.data(), model.size(), options};
  }
  return {environment(), path.c_str(), options};
}

Ort::Session open_session(const std::string& path, const std::string& input,
                          const std::vector<int64_t>& input_shape,
                          const std::vector<std::string>& outputs, Sides sides) {
  Ort::SessionOptions options = session_options();
  Ort::Session session = open_file(path, options);
  const size_t position =
      find_name(input_names(session), input, "the net " + path + " has no input");
  const auto names = output_names_of(session);
  for (const auto& output : outputs) {
    find_name(names, output, "the net " + path + " has no output");
  }
  // Names of dynamic dimensions can be read only from a session, and fixed only in a new one.
  if (!fix_dynamic_dimensions(session, position, input_shape, sides, options)) return session;
  return open_file(path, options);
}

[[noreturn]] void refuse_net(const std::string& path, const Ort::Exception& error) {
  throw Error(ErrorCode::kInternalError, "the net " + path + " cannot be used: " + error.what());
}

[[noreturn]] void refuse_buffers() {
  throw Error(ErrorCode::kInternalError, "a net was given buffers of the wrong size");
}

}  // namespace

Net::Net(const std::string& path, std::string input, std::vector<int64_t> input_shape,
         std::vector<std::string> outputs, Sides sides)
    : input_name_(std::move(input)),
      output_names_(std::move(outputs)),
      input_shape_(std::move(input_shape)),
      input_size_(product(input_shape_)) {
  try {
    session_ = open_session(path, input_name_, input_shape_, output_names_, sides);
    // Declared output shapes cannot be trusted: one run on zeros measures them.
    std::vector<float> zeros(input_size_);
    std::vector<Ort::Value> results = empty(output_names_.size());
    run_into(input_shape_, zeros, results);
    for (size_t i = 0; i < results.size(); ++i) {
      const auto info = results[i].GetTensorTypeAndShapeInfo();
      if (info.GetElementType() != ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT) {
        throw Error(ErrorCode::kInternalError, "the output \"" + output_names_[i] +
                                                   "\" of the net " + path + " has no floats");
      }
      output_shapes_.push_back(info.GetShape());
      output_sizes_.push_back(product(output_shapes_.back()));
    }
    dynamic_ = sides == Sides::kDynamic && has_dynamic_sides(session_, input_name_);
  } catch (const Ort::Exception& error) {
    refuse_net(path, error);
  }
}

void Net::run(std::span<float> input, std::span<const std::span<float>> outputs) const {
  const bool fits = input.size() == input_size_ && outputs.size() == output_sizes_.size() &&
                    std::equal(outputs.begin(), outputs.end(), output_sizes_.begin(),
                               [](const auto& o, size_t size) { return o.size() == size; });
  if (!fits) refuse_buffers();
  std::vector<Ort::Value> results;
  results.reserve(outputs.size());
  for (size_t i = 0; i < outputs.size(); ++i) {
    const auto& shape = output_shapes_[i];
    results.push_back(Ort::Value::CreateTensor<float>(
        cpu_memory(), outputs[i].data(), outputs[i].size(), shape.data(), shape.size()));
  }
  try {
    run_into(input_shape_, input, results);
  } catch (const Ort::Exception& error) {
    throw Error(ErrorCode::kInternalError, error.what());
  }
}

std::vector<Ort::Value> Net::run(std::span<float> input, int64_t height, int64_t width) const {
  std::vector<int64_t> shape = input_shape_;
  if (dynamic_) {
    shape[kHeight] = height;
    shape[kHeight + 1] = width;
  }
  const bool fits = shape.size() == kRank && shape[kHeight] == height &&
                    shape[kHeight + 1] == width && input.size() == product(shape);
  if (!fits) refuse_buffers();
  try {
    std::vector<Ort::Value> results = empty(output_names_.size());
    run_into(shape, input, results);
    return results;
  } catch (const Ort::Exception& error) {
    throw Error(ErrorCode::kInternalError, error.what());
  }
}

void Net::run_into(const std::vector<int64_t>& shape, std::span<float> input,
                   std::vector<Ort::Value>& results) const {
  const auto value = Ort::Value::CreateTensor<float>(cpu_memory(), input.data(), input.size(),
                                                     shape.data(), shape.size());
  std::vector<const char*> names;
  names.reserve(output_names_.size());
  for (const auto& name : output_names_) names.push_back(name.c_str());
  const char* input_name = input_name_.c_str();
  session_.Run(Ort::RunOptions{nullptr}, &input_name, &value, 1, names.data(), results.data(),
               results.size());
}

bool has_exact_byte_products() {
#ifdef __x86_64__
  return __builtin_cpu_supports("avx512vnni") || __builtin_cpu_supports("avxvnni");
#else
  return true;
#endif
}

}  // namespace facematch
