// Converts an image to a net's input: resizes it, orders its channels and normalises them, in one
// pass from bytes to floats. Sizes and channels are not checked.
#pragma once

#include <opencv2/core.hpp>
#include <span>

#include "pack.h"

namespace facematch {

// Returns the maximum size of the image that fits into `frame` with the same aspect ratio.
cv::Size size_within(cv::Size image, cv::Size frame);

// Writes the image, resized to `size`, to the top left of `planes` (3 × frame.height ×
// frame.width), and fills the rest with black. Shrinking averages the area of each pixel, like
// cv::INTER_AREA; enlarging is bilinear. Results are not rounded.
void letterbox(const cv::Mat& bgr, const Normalisation& normalisation, cv::Size size,
               cv::Size frame, std::span<float> planes);

// Writes `image` (CV_8UC3 BGR, or CV_8UC1 for kGrey) as three normalised planes or one, ordered
// channel, row, column.
void fill_planes(const cv::Mat& image, const Normalisation& normalisation, std::span<float> planes);

// Mirrors each row of each plane in place.
void mirror_planes(std::span<float> planes, int width);

}  // namespace facematch
