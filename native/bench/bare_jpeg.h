// libjpeg-turbo by itself: what no decoder around it can be faster than.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace facematch::bench {

// Decodes a JPEG to BGR at `eighths` / 8 of its size into `pixels`, which grows as needed. Throws
// std::runtime_error for what is no sound JPEG.
void decode_jpeg_at(std::span<const uint8_t> bytes, unsigned eighths, std::vector<uint8_t>& pixels);

}  // namespace facematch::bench
