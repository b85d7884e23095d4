// Writes ONNX files of a few hundred bytes, so that tests can load nets of any shape without a
// download.
#pragma once

#include "support.h"

namespace facematch::testing {

// How an output is computed from the input and its mean.
enum class TinyKind {
  kAdd,    // numbers + gain * mean, as floats
  kCast,   // the same, cast to `type`
  kWhere,  // positions of the input's numbers that are not 0, as floats
  kCells,  // rows, one for each cell of `stride` pixels: the cell's mean times `numbers`
};

// ONNX's numbers for element types (TensorProto.DataType).
constexpr int kFloatType = 1, kInt64Type = 7, kDoubleType = 11;

struct TinyOutput {
  std::string name;
  std::vector<float> numbers;
  float gain = 0;
  TinyKind kind = TinyKind::kAdd;
  int type = kFloatType;
  std::vector<int64_t> shape = {};  // of the output; -1: the remaining dimension; empty: unchanged
  int stride = 0;                   // pixels, of kCells
};

struct TinyNet {
  std::string input = "input";
  std::vector<int64_t> shape;  // of the input; -1: a dynamic dimension
  std::vector<TinyOutput> outputs;
  int input_type = kFloatType;
  bool one_name = false;  // names all dynamic dimensions "?", as some exporters do

  ByteVector file() const;
};

}  // namespace facematch::testing
