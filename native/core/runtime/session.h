// Wraps ONNX Runtime: one environment for the process, one session for each net.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "ort.h"

namespace facematch {

// Treatment of an input's height and width that are dynamic in the file.
enum class Sides {
  kFixed,    // fixes them to the shape that the net is loaded with
  kDynamic,  // keeps them dynamic: they may differ from run to run
};

// A loaded net with one input, whose input and outputs are floats. run() may be called from any
// number of threads at once.
class Net {
 public:
  // `input_shape`: batch, channels, height, width, as run() expects the input. For a file with
  // channels last, as from TensorFlow, run() converts the input. `outputs`: names in the order in
  // which run() returns them. Throws Error kInternalError with a readable message if the file is
  // missing, damaged, or has another shape.
  Net(const std::string& path, std::string input, std::vector<int64_t> input_shape,
      std::vector<std::string> outputs, Sides sides = Sides::kFixed);

  // Returns true if height and width may differ from run to run.
  bool dynamic() const { return dynamic_; }

  // Sizes in floats, for the shape that the net was loaded with.
  size_t input_size() const;
  size_t output_size(size_t index) const;
  const std::vector<std::vector<int64_t>>& output_shapes() const { return output_shapes_; }

  // Runs a net with one output at the shape that it was loaded with. `input` has input_size()
  // floats and `output` output_size(0). Throws Error kInternalError if the net returns another
  // number.
  void run(std::span<float> input, std::span<float> output) const;

  // Runs the net at this height and width, which are ignored unless dynamic(). Returns the outputs;
  // the net determines their sizes.
  std::vector<ort::Value> run(std::span<float> input, int64_t height, int64_t width) const;

 private:
  // Fills empty values with outputs that the net allocates. Throws ort::Failure.
  void run_into(std::vector<int64_t> shape, std::span<float> input,
                std::vector<ort::Value>& results) const;

  std::string input_name_;
  std::vector<std::string> output_names_;
  std::vector<int64_t> input_shape_;
  std::vector<std::vector<int64_t>> output_shapes_;
  bool dynamic_ = false;
  bool channels_last_ = false;
  ort::Session session_;
};

// Returns true if sums of products of bytes are exact. A net quantised to 8 bits multiplies
// unsigned bytes by signed ones. AVX-512 VNNI, AVX-VNNI and arm64 add the products in 32 bits.
// Other x86 CPUs use pmaddubsw, whose sums of two saturate at 32767 (ONNX Runtime, "Quantize ONNX
// models", on U8S8).
bool has_exact_byte_products();

}  // namespace facematch
