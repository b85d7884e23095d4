// Faces drawn onto the picture that they were found in, for people to look at, and a PNG of it.
#pragma once

#include <cstdint>
#include <vector>

#include "types.h"

namespace facematch {

// Draws onto `image.bgr`: of each face its box, its five landmarks and a label of index, detection
// score and found_by. Faces are in pixels of the full picture, as detect() gives them; what lies
// outside is cut off. Lines and letters grow with the picture.
void draw_faces(const std::vector<Face>& faces, Image& image);

// `bgr` is CV_8UC3 and not empty. Lossless, 8 bits, without metadata; packed quickly rather than
// tightly. Throws Error kInternalError.
std::vector<uint8_t> write_png(const cv::Mat& bgr);

}  // namespace facematch
