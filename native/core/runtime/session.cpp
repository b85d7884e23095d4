#include "session.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <numeric>
#include <string_view>
#include <vector>

#include "../error.h"
#include "int8/unsigned_weights.h"
#include "onnx_runtime.h"

namespace facematch {
namespace {

size_t product(const std::vector<int64_t>& shape) {
  return static_cast<size_t>(
      std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>()));
}

// Returns the position of `name`. Throws Error if it is missing.
size_t find_name(const std::vector<std::string>& names, const std::string& name,
                 const std::string& what) {
  std::string list;
  for (size_t i = 0; i < names.size(); ++i) {
    if (names[i] == name) return i;
    list += (i == 0 ? "\"" : ", \"") + names[i] + "\"";
  }
  throw Error(ErrorCode::kInternalError, what + " \"" + name + "\"; available: " + list);
}

// Input shapes are batch, channels, height, width.
constexpr size_t kRank = 4;
constexpr size_t kChannels = 1;
constexpr size_t kHeight = 2;

// Fixes an input's dynamic dimensions, such as the batch, to `shape`, except sides that must stay
// dynamic. ONNX Runtime then computes everything that depends on them once, during loading. Returns
// true if a dimension was fixed.
bool fix_dynamic_dimensions(const ort::Session& session, size_t input,
                            const std::vector<int64_t>& shape, Sides sides, ort::Options& options) {
  const auto type = session.input_type(input);
  if (!type) return false;  // the first run fails
  const auto& names = type->side_names;
  const size_t last = std::min(names.size(), sides == Sides::kDynamic ? kHeight : shape.size());
  // Some files name every dynamic dimension "?", and one name cannot be fixed to two sizes.
  const auto is_of_one_size = [&](size_t i) {
    for (size_t k = 0; k < names.size(); ++k) {
      if (names[k] == names[i] && (k >= last || shape[k] != shape[i])) return false;
    }
    return true;
  };
  bool any = false;
  for (size_t i = 0; i < last; ++i) {
    if (names[i].empty() || !is_of_one_size(i)) continue;
    options.fix_side(names[i], shape[i]);
    any = true;
  }
  return any;
}

bool has_dynamic_sides(const ort::Session& session, size_t input) {
  const auto type = session.input_type(input);
  if (!type) return false;
  const auto& shape = type->shape;
  return shape.size() == kRank && shape[kHeight] < 0 && shape[kHeight + 1] < 0;
}

bool has_channels_last(const ort::Session& session, size_t input, int64_t channels) {
  const auto type = session.input_type(input);
  if (!type) return false;  // the first run fails
  const auto& shape = type->shape;
  return shape.size() == kRank && shape.back() == channels && shape[kChannels] != channels;
}

std::vector<int64_t> with_channels_last(std::vector<int64_t> shape) {
  std::rotate(shape.begin() + kChannels, shape.begin() + kHeight, shape.end());
  return shape;
}

// Converts planes to interleaved channels.
std::span<float> interleaved(std::span<const float> planes, size_t channels) {
  thread_local std::vector<float> pixels;
  pixels.resize(planes.size());
  const size_t count = planes.size() / channels;
  for (size_t channel = 0; channel < channels; ++channel)
    for (size_t i = 0; i < count; ++i) pixels[i * channels + channel] = planes[channel * count + i];
  return pixels;
}

// Opens a file, with unsigned weights on CPUs where products of bytes saturate.
ort::Session open_file(const std::string& path, const ort::Options& options) {
  if (!has_exact_byte_products()) {
    const auto model = with_unsigned_weights(path);
    if (!model.empty()) return {environment(), model, options};
  }
  return {environment(), path, options};
}

}  // namespace

Net::Net(const std::string& path, std::string input, std::vector<int64_t> input_shape,
         std::vector<std::string> outputs, Sides sides)
    : input_name_(std::move(input)),
      output_names_(std::move(outputs)),
      input_shape_(std::move(input_shape)) {
  const std::string net = "the net " + path;
  as_errors(net + " cannot be used: ", [&] {
    ort::Options options = session_options();
    session_ = open_file(path, options);
    const auto [inputs, names] = names_of(session_);
    const size_t position = find_name(inputs, input_name_, net + " has no input");
    for (const auto& output : output_names_) find_name(names, output, net + " has no output");
    channels_last_ = has_channels_last(session_, position, input_shape_.at(kChannels));
    if (channels_last_) sides = Sides::kFixed;
    const auto shape = channels_last_ ? with_channels_last(input_shape_) : input_shape_;
    // Names of dynamic dimensions can be read only from a session, and fixed only in a new session.
    if (fix_dynamic_dimensions(session_, position, shape, sides, options)) {
      session_ = open_file(path, options);
    }
    // Declared output shapes cannot be trusted, so one run on zeros measures them.
    std::vector<float> zeros(input_size());
    std::vector<ort::Value> results(output_names_.size());
    run_into(input_shape_, zeros, results);
    for (size_t i = 0; i < results.size(); ++i) {
      auto type = results[i].type();
      if (type.element != ort::Element::kFloat) {
        throw Error(ErrorCode::kInternalError,
                    "the output \"" + output_names_[i] + "\" of " + net + " is not of type float");
      }
      output_shapes_.push_back(std::move(type.shape));
    }
    dynamic_ = sides == Sides::kDynamic && has_dynamic_sides(session_, position);
  });
}

size_t Net::input_size() const { return product(input_shape_); }
size_t Net::output_size(size_t index) const { return product(output_shapes_[index]); }

void Net::run(std::span<float> input, std::span<float> output) const {
  const auto results = run(input, input_shape_.at(kHeight), input_shape_.at(kHeight + 1));
  const ort::Value& first = results.front();
  // The size of an output may depend on the input's content.
  if (first.type().count() != output.size()) {
    throw Error(ErrorCode::kInternalError, "a net returned other sizes than when it was loaded");
  }
  std::copy_n(first.floats(), output.size(), output.begin());
}

std::vector<ort::Value> Net::run(std::span<float> input, int64_t height, int64_t width) const {
  std::vector<int64_t> shape = input_shape_;
  if (dynamic_) {
    shape[kHeight] = height;
    shape[kHeight + 1] = width;
  }
  std::vector<ort::Value> results(output_names_.size());
  as_errors("", [&] { run_into(shape, input, results); });
  return results;
}

void Net::run_into(std::vector<int64_t> shape, std::span<float> input,
                   std::vector<ort::Value>& results) const {
  if (channels_last_) {
    input = interleaved(input, static_cast<size_t>(shape[kChannels]));
    shape = with_channels_last(std::move(shape));
  }
  const ort::Value value(input, shape);
  std::vector<const char*> names;
  names.reserve(output_names_.size());
  for (const auto& name : output_names_) names.push_back(name.c_str());
  session_.run(input_name_.c_str(), value, names, results);
}

bool has_exact_byte_products() {
#ifdef __x86_64__
  return __builtin_cpu_supports("avx512vnni") || __builtin_cpu_supports("avxvnni");
#else
  return true;
#endif
}

}  // namespace facematch
