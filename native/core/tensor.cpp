#include "tensor.h"

#include <algorithm>

namespace facematch {

void fill_planes(const cv::Mat& picture, const Normalisation& normalisation,
                 std::span<float> planes) {
  const float scale = normalisation.scale;
  const float offset = -normalisation.mean * normalisation.scale;
  const size_t plane = picture.total();
  for (int y = 0; y < picture.rows; ++y) {
    const uint8_t* from = picture.ptr(y);
    float* row = planes.data() + static_cast<size_t>(y) * static_cast<size_t>(picture.cols);
    if (normalisation.channels == Channels::kGrey) {
      for (int x = 0; x < picture.cols; ++x) row[x] = static_cast<float>(from[x]) * scale + offset;
      continue;
    }
    const bool rgb = normalisation.channels == Channels::kRgb;
    float* blue = row + (rgb ? 2 * plane : 0);
    float* green = row + plane;
    float* red = row + (rgb ? 0 : 2 * plane);
    for (int x = 0; x < picture.cols; ++x, from += 3) {
      blue[x] = static_cast<float>(from[0]) * scale + offset;
      green[x] = static_cast<float>(from[1]) * scale + offset;
      red[x] = static_cast<float>(from[2]) * scale + offset;
    }
  }
}

void mirror_planes(std::span<float> planes, int width) {
  const size_t row = static_cast<size_t>(width);
  for (size_t start = 0; start + row <= planes.size(); start += row) {
    std::reverse(planes.begin() + static_cast<std::ptrdiff_t>(start),
                 planes.begin() + static_cast<std::ptrdiff_t>(start + row));
  }
}

}  // namespace facematch
