// Makes products of bytes exact on x86 CPUs without VNNI.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace facematch {

// There ONNX Runtime adds products of unsigned by signed bytes in 16 bits, which saturate. Its
// option against that, session.x64quantprecision, makes weights unsigned, but omits its own
// operator QLinearConv of the domain com.microsoft. This function does the same for that operator:
// weights and their zero points of an ONNX file move up by 128, in place, and the products stay the
// same. Returns true if there were any; a file that is not an ONNX file is unchanged.
bool make_weights_unsigned(std::span<uint8_t> model);

// Returns an ONNX file with its weights moved; empty if there is nothing to move, or no file.
std::vector<uint8_t> with_unsigned_weights(const std::string& path);

}  // namespace facematch
