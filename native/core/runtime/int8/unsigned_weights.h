// Exact products of bytes on x86 processors without VNNI.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace facematch {

// ONNX Runtime adds up products of unsigned by signed bytes in 16 bits there, which saturate. Its
// option against that, session.x64quantprecision, makes weights unsigned, but leaves out its own
// operator QLinearConv of the domain com.microsoft. This does the same for that operator: weights
// and their zero points of an ONNX file move up by 128, in place, and the products stay as they
// are. Returns whether there were any; a file that is no ONNX file is left as it is.
bool make_weights_unsigned(std::span<uint8_t> model);

// An ONNX file with its weights moved; empty when there is nothing to move, or no file.
std::vector<uint8_t> with_unsigned_weights(const std::string& path);

}  // namespace facematch
