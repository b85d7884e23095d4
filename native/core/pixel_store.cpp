#include "pixel_store.h"

#include <array>

namespace facematch {

cv::Mat picture_memory(int rows, int columns) {
  thread_local std::array<cv::Mat, 2> kept;
  const size_t bytes = static_cast<size_t>(rows) * static_cast<size_t>(columns) * 3;
  if (bytes > 0 && bytes <= kMostKeptBytes) {
    for (cv::Mat& memory : kept) {
      if (memory.empty()) memory.create(1, static_cast<int>(kMostKeptBytes), CV_8UC1);
      const bool in_use = memory.u->refcount > 1;
      if (!in_use) return memory.colRange(0, static_cast<int>(bytes)).reshape(3, rows);
    }
  }
  return {rows, columns, CV_8UC3};
}

}  // namespace facematch
