// Makes products of bytes exact on x86 CPUs without VNNI.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace facematch {

// On these CPUs, ONNX Runtime adds products of unsigned by signed bytes in 16 bits, which saturate.
// Its option session.x64quantprecision prevents that by making weights unsigned, but does not cover
// its own operator QLinearConv of the domain com.microsoft. This function adds 128 to the weights
// and zero points of that operator in an ONNX file, in place, which does not change the products.
// Returns true if there were any. A file that is not an ONNX file stays unchanged.
bool make_weights_unsigned(std::span<uint8_t> model);

// Returns an ONNX file with unsigned weights; empty if it has no such operator, or does not exist.
std::vector<uint8_t> with_unsigned_weights(const std::string& path);

}  // namespace facematch
