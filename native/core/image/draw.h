// Draws faces onto the picture in which they were found, and encodes it as PNG.
#pragma once

#include <cstdint>
#include <vector>

#include "../types.h"

namespace facematch {

// Draws onto the full picture (CV_8UC3): the box and five landmarks of each face, and a label with
// index, detection score and found_by. Parts outside the picture are cut off. Lines and letters
// grow with the picture.
void draw_faces(const std::vector<Face>& faces, cv::Mat& bgr);

// `bgr` is CV_8UC3 and not empty. Lossless, 8 bits, without metadata; packed quickly rather than
// tightly. Throws Error kInternalError.
std::vector<uint8_t> write_png(const cv::Mat& bgr);

}  // namespace facematch
