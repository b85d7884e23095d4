// BGR -> PNG.
#pragma once

#include <cstdint>
#include <vector>

#include "types.h"

namespace facematch {

// `bgr` is CV_8UC3 and not empty. Lossless, 8 bits, without metadata; packed quickly rather than
// tightly. Throws Error kInternalError.
std::vector<uint8_t> write_png(const cv::Mat& bgr);

}  // namespace facematch
