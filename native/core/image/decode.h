// Decodes bytes to upright BGR, in this order: sniff, read the header, check limits, decode, rotate
// upright.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "../runtime/budget.h"
#include "../types.h"
#include "view.h"

namespace facematch {

// An upright image as decoded: the whole image, a JPEG perhaps at a reduced scale.
struct DecodedImage : View {
  int width = 0;  // of the full image, pixels
  int height = 0;
  int orientation = 1;  // EXIF, 1..8
  Format format = Format::kJpeg;
};

// Decodes a JPEG, PNG or WebP; the content decides which.
//
// `min_side`: minimum longer side of the decoded image, if the file has that many pixels. A larger
// JPEG is then decoded at 1/2 or 1/4, a very large one at 1/8. 0 decodes in full.
//
// Throws Error: kUnsupportedImageFormat (also for an unsupported kind of JPEG), kImageDimensions
// (before any pixel is decoded), kImageDecodeFailed, kImageTooComplex (the budget was used up),
// kInternalError (no memory), and Cancelled.
DecodedImage decode(std::span<const uint8_t> bytes, const ImageLimits& limits, int min_side,
                    const Budget& budget = {});

// Decodes parts of a JPEG that was decoded to `whole`, each at the smallest scale at which the
// whole image would have `min_side` pixels, and a little larger than requested. `parts` are in
// pixels of the full, upright image. The file is read once for all. Throws the same as decode().
std::vector<View> decode_parts(std::span<const uint8_t> bytes, const DecodedImage& whole,
                               int min_side, std::span<const cv::Rect> parts,
                               const Budget& budget = {});

// Returns the format by its first bytes: "jpeg", "png", "webp", the name of an unsupported format,
// or "unknown".
const char* sniff(std::span<const uint8_t> bytes);

}  // namespace facematch
