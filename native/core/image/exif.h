#pragma once

#include <cstdint>
#include <span>

namespace facematch {

// Orientation (tag 0x0112 of IFD0, EXIF 2.32 section 4.6.4) out of a TIFF block, with or without
// the "Exif\0\0" that JPEG puts before it. 1..8; 1 when it is absent, damaged or out of range.
int exif_orientation(std::span<const uint8_t> block);

}  // namespace facematch
