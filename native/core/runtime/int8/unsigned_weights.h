// Makes products of bytes exact on x86 CPUs without VNNI.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace facematch {

// Without VNNI, ONNX Runtime adds products of unsigned by signed bytes in 16 bits, which saturate.
// Its option session.x64quantprecision prevents that by making weights unsigned, but does not cover
// its own operator QLinearConv of the domain com.microsoft. This function adds 128 to the weights
// and zero points of that operator in an ONNX file, in place, which does not change the products.
// Returns true if it changed any. A file that is not an ONNX file stays unchanged.
bool make_weights_unsigned(std::span<uint8_t> model);

// Returns an ONNX file with unsigned weights; empty if it does not exist or has nothing to change.
std::vector<uint8_t> with_unsigned_weights(const std::string& path);

}  // namespace facematch
