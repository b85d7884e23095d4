// YOLOv8-face: no anchors, one box for each cell of three grids. For each stride, one
// output consists of planes of the grid's size. The first 64 planes are logits of 16 distances from
// the centre of the cell (0 to 15 cells) for each side of the box (left, top, right, bottom). The
// next plane is the logit of a face. Planes for points follow and are ignored.
#include <array>
#include <cmath>

#include "family.h"

namespace facematch::families::yolov8_face {
namespace {

constexpr std::array kStrides = {8, 16, 32};
constexpr size_t kDistances = 16;
constexpr size_t kFace = 4 * kDistances;

std::vector<OutputShape> outputs_of(const DetectorSpec&, cv::Size input) {
  std::vector<OutputShape> all;
  for (const int stride : kStrides)
    all.push_back({"grids", stride, kAnyRows, cells_along(input.width, stride)});
  return all;
}

// Returns the expected distance of a side in cells. `logits` points to the logit of distance 0; the
// others follow at intervals of `count` numbers.
float expected(const float* logits, size_t count) {
  float max_logit = logits[0];
  for (size_t i = 1; i < kDistances; ++i) max_logit = std::fmax(max_logit, logits[i * count]);
  float sum = 0, weighted = 0;
  for (size_t i = 0; i < kDistances; ++i) {
    const float weight = std::exp(logits[i * count] - max_logit);
    sum += weight;
    weighted += weight * static_cast<float>(i);
  }
  return weighted / sum;
}

void decode(const DetectorSpec&, cv::Size input, Outputs outputs, float min_score,
            std::vector<Detection>& found) {
  for (size_t grid = 0; grid < kStrides.size(); ++grid) {
    const float stride = static_cast<float>(kStrides[grid]);
    const size_t columns = cells_along(input.width, kStrides[grid]);
    const size_t count = cells(input, kStrides[grid]);
    if (outputs[grid].size() < (kFace + 1) * count) continue;
    const float* planes = outputs[grid].data();
    for (size_t cell = 0; cell < count; ++cell) {
      const float score = sigmoid(planes[kFace * count + cell]);
      if (!(score >= min_score)) continue;
      std::array<float, 4> side;
      for (size_t i = 0; i < side.size(); ++i)
        side[i] = expected(planes + i * kDistances * count + cell, count);
      const float x = static_cast<float>(cell % columns) + 0.5f;
      const float y = static_cast<float>(cell / columns) + 0.5f;
      found.push_back({{(x - side[0]) * stride, (y - side[1]) * stride,
                        (side[0] + side[2]) * stride, (side[1] + side[3]) * stride},
                       score});
    }
  }
}

}  // namespace

extern const DetectorFamily family;
const DetectorFamily family = {"yolov8_face", kStrides.back(), outputs_of, decode};

}  // namespace facematch::families::yolov8_face
