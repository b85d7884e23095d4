// Builds a TIFF block with an EXIF orientation, valid or not.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace facematch::testing {

struct ExifBlock {
  uint16_t orientation = 1;
  bool little_endian = true;
  bool jpeg_prefix = false;                    // "Exif\0\0" before the block, as JPEG has it
  uint16_t magic = 42;                         // TIFF 6.0 section 2
  uint16_t tag = 0x0112;                       // Orientation
  uint16_t type = 3;                           // SHORT
  int entries_before = 0;                      // other tags that precede it
  std::optional<uint16_t> claimed_count = {};  // instead of the true number of entries
  std::optional<uint32_t> claimed_start = {};  // instead of the true offset of IFD0

  std::vector<uint8_t> bytes() const;
};

}  // namespace facematch::testing
