// Bytes -> upright BGR. Knows the order: sniff, read the header, refuse, decode, turn upright.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "budget.h"
#include "types.h"

namespace facematch {

// Decodes a JPEG, PNG or WebP, recognised by its content.
//
// `wanted_side`: how long the longer side of the decoded picture must be at least, where the
// picture has as many pixels; a JPEG is then decoded at 1/2, 1/4 or 1/8. 0 decodes in full.
//
// Throws Error: kUnsupportedImageFormat, kImageDimensions (before any pixel is decoded),
// kImageDecodeFailed, kImageTooComplex (the budget was spent).
Image decode(std::span<const uint8_t> bytes, const ImageLimits& limits, int wanted_side,
             const Budget& budget = {});

// What the bytes look like: "jpeg", "png", "webp", or one of the formats that are refused by name.
const char* sniff(std::span<const uint8_t> bytes);

}  // namespace facematch
