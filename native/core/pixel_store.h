// Memory for decoded pictures of ordinary size, kept by each thread from one picture to the next.
#pragma once

#include <cstddef>
#include <opencv2/core.hpp>

namespace facematch {

// A thread keeps two pictures' worth of at most so many bytes. JPEGs of any size are read at less
// than 960 pixels a side for the first look, which fits.
constexpr size_t kMostKeptBytes = size_t{3} * 1024 * 1024;

// CV_8UC3 of undefined content. Large blocks come from the system page by page, and each fresh page
// costs a fault and is cleared; what fits is therefore taken from what the thread kept, unless both
// pictures are still in use.
cv::Mat picture_memory(int rows, int columns);

}  // namespace facematch
