// Turns an image into a net's input: resizes it, orders its channels and normalises them, in one
// pass from bytes to floats. Images and planes have the sizes and channels that are described.
#pragma once

#include <opencv2/core.hpp>
#include <span>

#include "pack.h"

namespace facematch {

// Returns the largest size of the image that fits into `frame` and keeps the aspect ratio.
cv::Size size_within(cv::Size image, cv::Size frame);

// Writes the image, resized to `size`, to the top left of `planes` (3 × frame.height ×
// frame.width); the rest becomes black. Shrinking averages the area of each pixel like
// cv::INTER_AREA, enlarging is bilinear; neither rounds.
void letterbox(const cv::Mat& bgr, const Normalisation& normalisation, cv::Size size,
               cv::Size frame, std::span<float> planes);

// Writes `image` (CV_8UC3 BGR, or CV_8UC1 for kGrey) as normalised planes, three or one of the
// image's size: channel, row, column.
void fill_planes(const cv::Mat& image, const Normalisation& normalisation, std::span<float> planes);

// Mirrors each row of each plane in place.
void mirror_planes(std::span<float> planes, int width);

}  // namespace facematch
