// Prints whose tones are made of dots: on a grid (a halftone screen), as in newspapers, or of two
// levels only, as from a fax or a thermal printer.
#pragma once

#include <opencv2/core.hpp>

namespace facematch {

// Returns the distance between dots in pixels if at least a quarter of CV_8UC3 `bgr` is a halftone
// print, otherwise 0. Detects dots that are at least 2.2 pixels and at most a sixteenth of the
// shorter side apart.
float dot_pitch(const cv::Mat& bgr);

// Returns the approximate distance between dots in pixels if CV_8UC3 `bgr` has two levels of grey
// that change from pixel to pixel, otherwise 0. Rejects other images by a sample of a few thousand
// pixels.
float two_tone_pitch(const cv::Mat& bgr);

// Returns the image with its dots merged into tones.
cv::Mat without_dots(const cv::Mat& bgr, float pitch);

}  // namespace facematch
