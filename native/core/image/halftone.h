// Prints whose tones are dots on a grid (a halftone screen), as in newspapers.
#pragma once

#include <opencv2/core.hpp>

namespace facematch {

// Pixels from dot to dot where at least a quarter of CV_8UC3 `bgr` is such a print, 0 elsewhere.
// Dots closer than two pixels or further apart than a fifth of the image are not seen.
float dot_pitch(const cv::Mat& bgr);

// The image with its dots merged into tones.
cv::Mat without_dots(const cv::Mat& bgr, float pitch);

}  // namespace facematch
