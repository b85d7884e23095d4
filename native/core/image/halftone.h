// Prints whose tones are dots: on a grid (a halftone screen), as in newspapers, or of two levels
// only, as a fax and a thermal printer make them.
#pragma once

#include <opencv2/core.hpp>

namespace facematch {

// Pixels from dot to dot where at least a quarter of CV_8UC3 `bgr` is such a print, 0 elsewhere.
// Dots closer than two pixels or further apart than a fifth of the image are not seen.
float dot_pitch(const cv::Mat& bgr);

// Pixels from dot to dot, about, where CV_8UC3 `bgr` has two levels of grey that change from pixel
// to pixel, 0 elsewhere. Looks at some thousand pixels of any other image.
float two_tone_pitch(const cv::Mat& bgr);

// The image with its dots merged into tones.
cv::Mat without_dots(const cv::Mat& bgr, float pitch);

}  // namespace facematch
