#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace facematch {

// Orientation (tag 0x0112 of IFD0, EXIF 2.32 section 4.6.4) out of a TIFF block, with or without
// the "Exif\0" and a byte to fill that JPEG puts before it. 1..8; none when it is absent, damaged
// or out of range. docs/images.md compares what is read with browsers and other decoders.
std::optional<int> exif_orientation(std::span<const uint8_t> block);

// Whether a TIFF is what a camera calls RAW: its first IFD says DNG, or names the maker and other
// IFDs, which have the sensor's data. NEF, ARW and others are such.
bool is_camera_raw(std::span<const uint8_t> file);

}  // namespace facematch
