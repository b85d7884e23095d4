// The three decoders behind decode(). Each reads the header, calls check_dimensions, then decodes
// into `bgr` in the orientation of the file and checks the budget regularly; decode() rotates the
// result upright. Each throws Cancelled, or Error kImageDimensions, kImageDecodeFailed,
// kImageTooComplex, kUnsupportedImageFormat (colours, kind of JPEG) or kInternalError (no memory).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "../runtime/budget.h"
#include "../types.h"

namespace facematch {

struct RawImage {
  cv::Mat bgr;    // CV_8UC3, not yet upright, `eighths` / 8 of the size below, rounded up
  int width = 0;  // from the header, not yet upright
  int height = 0;
  int orientation = 1;  // EXIF, 1..8
  int eighths = 8;
  cv::Point at;  // offset of a part in the whole image at this scale
};

RawImage decode_jpeg(std::span<const uint8_t> bytes, const ImageLimits& limits, int min_side,
                     const Budget& budget);

// Decodes parts of a JPEG, given in pixels of the full image before it is rotated upright. Each
// result has the same pixels as decode_jpeg() and may be a little larger than its part. Reads the
// file once, up to the last row that is needed. Throws Error kInternalError if a part is outside
// the image.
std::vector<RawImage> decode_jpeg_parts(std::span<const uint8_t> bytes, int min_side,
                                        std::span<const cv::Rect> parts, const Budget& budget);
RawImage decode_png(std::span<const uint8_t> bytes, const ImageLimits& limits,
                    const Budget& budget);
RawImage decode_webp(std::span<const uint8_t> bytes, const ImageLimits& limits,
                     const Budget& budget);

// Throws Error kImageDimensions.
void check_dimensions(int64_t width, int64_t height, const ImageLimits& limits);

// Minimum size in bytes of a buffer for which huge pages are requested. Without them, decoding a
// large image spends most of its time in page faults. Smaller buffers come from malloc's arenas,
// which are reused (see engine.cpp).
constexpr size_t kLargeBuffer = size_t{16} << 20;

// Returns pixels with uninitialised values.
cv::Mat new_pixels(cv::Size size, int type);

// Blends a row of 4-channel BGRA onto white, as browsers show it.
void flatten_onto_white(const uint8_t* bgra, uint8_t* bgr, int width);

}  // namespace facematch
