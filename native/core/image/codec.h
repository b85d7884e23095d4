// The three decoders behind decode(). Each reads the header, calls check_dimensions, then decodes
// into `bgr` in the orientation of the file and checks the budget every few rows; decode() rotates
// the result upright. Each throws Error kImageDimensions, kImageDecodeFailed or kImageTooComplex,
// that of JPEG also kUnsupportedImageFormat.
#pragma once

#include <cstdint>
#include <span>

#include "../runtime/budget.h"
#include "../types.h"

namespace facematch {

struct RawImage {
  cv::Mat bgr;    // CV_8UC3, not yet upright, `eighths` / 8 of the size below, rounded up
  int width = 0;  // from the header, not yet upright
  int height = 0;
  int orientation = 1;  // EXIF, 1..8
  int eighths = 8;
};

RawImage decode_jpeg(std::span<const uint8_t> bytes, const ImageLimits& limits, int min_side,
                     const Budget& budget);
RawImage decode_png(std::span<const uint8_t> bytes, const ImageLimits& limits,
                    const Budget& budget);
RawImage decode_webp(std::span<const uint8_t> bytes, const ImageLimits& limits,
                     const Budget& budget);

// Throws Error kImageDimensions.
void check_dimensions(int64_t width, int64_t height, const ImageLimits& limits);

// Blends a row of 4-channel BGRA onto white, as browsers show it.
void flatten_onto_white(const uint8_t* bgra, uint8_t* bgr, int width);

}  // namespace facematch
