// ONNX Runtime, as the core needs it: one environment for the process, one session a net, fixed
// shapes.
#pragma once

#include <onnxruntime_cxx_api.h>

#include <initializer_list>
#include <span>
#include <string>
#include <vector>

namespace facematch {

// A loaded net with one input and fixed shapes. run() may be called from any number of threads at
// once.
class Net {
 public:
  // `outputs` names the outputs in the order in which run() fills them. Throws Error kInternalError
  // with a message for people when the file is missing, damaged, or has another shape.
  Net(const std::string& path, std::string input, std::vector<int64_t> input_shape,
      std::vector<std::string> outputs);

  size_t input_size() const { return input_size_; }
  size_t output_size(size_t index) const { return output_sizes_[index]; }
  const std::vector<size_t>& output_sizes() const { return output_sizes_; }

  // No copies: the net reads `input` and writes into `outputs` in place. Sizes are in floats and
  // must be input_size() and output_size(i).
  void run(std::span<float> input, std::span<const std::span<float>> outputs) const;
  void run(std::span<float> input, std::initializer_list<std::span<float>> outputs) const {
    run(input, std::span(outputs.begin(), outputs.size()));
  }

 private:
  std::string input_name_;
  std::vector<std::string> output_names_;
  std::vector<int64_t> input_shape_;
  std::vector<std::vector<int64_t>> output_shapes_;
  size_t input_size_ = 0;
  std::vector<size_t> output_sizes_;
  mutable Ort::Session session_{nullptr};
};

}  // namespace facematch
