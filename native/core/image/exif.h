#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace facematch {

// Reads the orientation (tag 0x0112 of IFD0, EXIF 2.32 section 4.6.4) from a TIFF block, with or
// without the "Exif\0" and padding byte that JPEG puts before it. Returns 1..8; nothing if the tag
// is missing, damaged or out of range. docs/research/images.md compares the results with other
// decoders.
std::optional<int> exif_orientation(std::span<const uint8_t> block);

// Returns true for a camera's RAW file, such as NEF or ARW: a TIFF whose first IFD has a DNG
// version, or the camera's make and sub-IFDs for the sensor's data.
bool is_camera_raw(std::span<const uint8_t> file);

}  // namespace facematch
