// A picture brought to a net's frame: shrunk or enlarged, its channels ordered and normalised, in
// one pass from bytes to the net's input.
#pragma once

#include <opencv2/core.hpp>
#include <span>

#include "pack.h"

namespace facematch {

// The size of the picture where it keeps its shape and touches `frame` on both sides of one
// direction.
cv::Size size_within(cv::Size picture, cv::Size frame);

// The picture, resized to `size`, lies at the top left of `planes` (3 × frame.height ×
// frame.width); what it does not cover is black. Shrinking averages what each pixel covers, as
// cv::INTER_AREA does, enlarging is bilinear; neither rounds.
void letterbox(const cv::Mat& bgr, const Normalisation& normalisation, cv::Size size,
               cv::Size frame, std::span<float> planes);

// Writes `picture` (CV_8UC3 BGR, or CV_8UC1 for kGrey) as normalised planes: channel, row, column.
void fill_planes(const cv::Mat& picture, const Normalisation& normalisation,
                 std::span<float> planes);

// Mirrors each row of each plane in place.
void mirror_planes(std::span<float> planes, int width);

}  // namespace facematch
