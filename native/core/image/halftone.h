// Prints whose tones are dots: on a grid (a halftone screen), as in newspapers, or of two levels
// only, as a fax and a thermal printer make them.
#pragma once

#include <opencv2/core.hpp>

namespace facematch {

// Returns the pixels from dot to dot if at least a quarter of CV_8UC3 `bgr` is such a print,
// otherwise 0. Dots closer than two pixels or further apart than a fifth of the image are not
// detected.
float dot_pitch(const cv::Mat& bgr);

// Returns the approximate pixels from dot to dot if CV_8UC3 `bgr` has two levels of grey that
// change from pixel to pixel, otherwise 0. For any other image it samples some thousand pixels.
float two_tone_pitch(const cv::Mat& bgr);

// Returns the image with its dots merged into tones.
cv::Mat without_dots(const cv::Mat& bgr, float pitch);

}  // namespace facematch
