// Whether the processor adds up products of bytes in 32 bits.
#pragma once

namespace facematch {

// A net in whole numbers of eight bits multiplies unsigned bytes by signed ones and adds up: with
// AVX-512 VNNI, AVX-VNNI and on arm64 in 32 bits. Any other x86 processor has pmaddubsw, whose
// sums of two stop at 32767 (ONNX Runtime, "Quantize ONNX models", on U8S8).
bool has_exact_byte_products();

}  // namespace facematch
