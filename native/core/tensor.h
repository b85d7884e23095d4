// Pixels -> the planes of floats that a net reads.
#pragma once

#include <span>

#include "pack.h"
#include "types.h"

namespace facematch {

// Writes `picture` (CV_8UC3 BGR, or CV_8UC1 for kGrey) as normalised planes: channel, row, column.
void fill_planes(const cv::Mat& picture, const Normalisation& normalisation,
                 std::span<float> planes);

// Mirrors each row of each plane in place.
void mirror_planes(std::span<float> planes, int width);

}  // namespace facematch
