// libjpeg-turbo alone: a lower limit for any decoder that uses it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace facematch::bench {

// Decodes a JPEG to BGR at `eighths` / 8 of its size into `pixels`, which grows as needed. Throws
// std::runtime_error for a damaged JPEG.
void decode_jpeg_at(std::span<const uint8_t> bytes, unsigned eighths, std::vector<uint8_t>& pixels);

}  // namespace facematch::bench
