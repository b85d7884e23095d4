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

// A decoded, upright image. A JPEG may be at a reduced scale.
struct DecodedImage : View {
  int width = 0;  // of the full image, pixels
  int height = 0;
  int orientation = 1;  // EXIF, 1..8
  Format format = Format::kJpeg;
};

// Decodes a JPEG, PNG or WebP; detects the format from the content.
//
// `min_side`: minimum longer side of the decoded image in pixels, if the file has that many. A
// larger JPEG is decoded at 1/2 or 1/4, a very large one at 1/8. 0 decodes in full.
//
// Throws Error: kUnsupportedImageFormat (also for unsupported colours or an unsupported kind of
// JPEG), kImageDimensions (before any pixel is decoded), kImageDecodeFailed, kImageTooComplex (the
// budget is spent), kInternalError (no memory), and Cancelled.
DecodedImage decode(std::span<const uint8_t> bytes, const ImageLimits& limits, int min_side,
                    const Budget& budget = {});

// Decodes parts of a JPEG that was decoded to `whole`, at the minimum scale at which the longer
// side of the whole image would have at least `min_side` pixels. `parts` are in pixels of the full,
// upright image; results may be a little larger. Reads the file once for all parts. Throws the same
// as decode().
std::vector<View> decode_parts(std::span<const uint8_t> bytes, const DecodedImage& whole,
                               int min_side, std::span<const cv::Rect> parts,
                               const Budget& budget = {});

// Returns the format of a file by its signature, and for a TIFF also by its first IFD: "jpeg",
// "png", "webp", the name of an unsupported format, or "unknown".
const char* sniff(std::span<const uint8_t> bytes);

}  // namespace facematch
