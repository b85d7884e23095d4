#include "pixel_store.h"

#include <array>

namespace facematch {
namespace {

// The first bytes of `memory` as a picture that ends where it ends. OpenCV takes a part of a matrix
// for a window on a larger picture, and some of its functions look over the rim: here at what is
// left of pictures of other requests.
cv::Mat picture_in(const cv::Mat& memory, int rows, size_t bytes) {
  cv::Mat picture = memory.colRange(0, static_cast<int>(bytes)).reshape(3, rows);
  picture.flags &= ~cv::Mat::SUBMATRIX_FLAG;
  picture.datastart = picture.data;
  picture.dataend = picture.data + bytes;
  picture.datalimit = picture.dataend;
  return picture;
}

}  // namespace

cv::Mat picture_memory(int rows, int columns) {
  thread_local std::array<cv::Mat, 2> kept;
  const size_t bytes = static_cast<size_t>(rows) * static_cast<size_t>(columns) * 3;
  if (bytes > 0 && bytes <= kMostKeptBytes) {
    for (cv::Mat& memory : kept) {
      if (memory.empty()) memory.create(1, static_cast<int>(kMostKeptBytes), CV_8UC1);
      const bool in_use = memory.u->refcount > 1;
      if (!in_use) return picture_in(memory, rows, bytes);
    }
  }
  return cv::Mat(rows, columns, CV_8UC3);
}

}  // namespace facematch
