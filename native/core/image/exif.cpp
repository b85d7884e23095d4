#include "exif.h"

#include <cstring>

namespace facematch {

// TIFF 6.0 section 2: byte order mark, 42, offset of IFD0; an IFD is a count and 12-byte entries.
int exif_orientation(std::span<const uint8_t> block) {
  constexpr uint32_t kOrientation = 0x0112, kShort = 3;
  if (block.size() >= 6 && std::memcmp(block.data(), "Exif\0\0", 6) == 0) block = block.subspan(6);
  if (block.size() < 8 || block[0] != block[1] || (block[0] != 'I' && block[0] != 'M')) return 1;
  const bool little_endian = block[0] == 'I';
  // 0 beyond the end.
  const auto u16 = [&](size_t at) -> uint32_t {
    if (at + 2 > block.size()) return 0;
    const uint32_t a = block[at], b = block[at + 1];
    return little_endian ? a | b << 8 : a << 8 | b;
  };
  if (u16(2) != 42) return 1;
  const size_t start = little_endian ? u16(4) | u16(6) << 16 : u16(4) << 16 | u16(6);
  const size_t end = start + 2 + size_t{12} * u16(start);
  for (size_t entry = start + 2; entry < end; entry += 12) {
    if (u16(entry) != kOrientation) continue;
    const uint32_t value = u16(entry + 2) == kShort ? u16(entry + 8) : 0;
    return value >= 1 && value <= 8 ? static_cast<int>(value) : 1;
  }
  return 1;
}

}  // namespace facematch
