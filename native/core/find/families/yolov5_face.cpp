// YOLOv5-face: three boxes for each cell of three grids, with the anchors of its training. Outputs
// for each stride, ordered by anchor, row and column, are 16 logits: centre and sides of the box,
// objectness, five points, and the score of a face.
#include <array>

#include "family.h"

namespace facematch::families::yolov5_face {
namespace {

struct Grid {
  int stride;
  std::array<cv::Size2f, 3> anchors;  // pixels
};

constexpr size_t kNumbers = 16;  // per box
constexpr size_t kObjectness = 4, kFace = 15;

const std::array kGrids = {
    Grid{8, {{{4, 5}, {8, 10}, {13, 16}}}},
    Grid{16, {{{23, 29}, {43, 55}, {73, 105}}}},
    Grid{32, {{{146, 217}, {231, 300}, {335, 433}}}},
};

std::vector<OutputShape> outputs_of(const DetectorSpec&, cv::Size input) {
  std::vector<OutputShape> all;
  for (const Grid& grid : kGrids)
    all.push_back(
        {"grids", grid.stride, grid.anchors.size() * cells(input, grid.stride), kNumbers});
  return all;
}

void decode(const DetectorSpec&, cv::Size input, Outputs outputs, float min_score,
            std::vector<Detection>& found) {
  for (size_t i = 0; i < kGrids.size(); ++i) {
    const float stride = static_cast<float>(kGrids[i].stride);
    const size_t columns = cells_along(input.width, kGrids[i].stride);
    const size_t count = cells(input, kGrids[i].stride);
    const float* t = outputs[i].data();
    for (const cv::Size2f& anchor : kGrids[i].anchors) {
      for (size_t cell = 0; cell < count; ++cell, t += kNumbers) {
        const float score = sigmoid(t[kObjectness]) * sigmoid(t[kFace]);
        if (!(score >= min_score)) continue;
        // The centre may be up to half a cell outside the cell.
        const float x = (static_cast<float>(cell % columns) + 2 * sigmoid(t[0]) - 0.5f) * stride;
        const float y = (static_cast<float>(cell / columns) + 2 * sigmoid(t[1]) - 0.5f) * stride;
        const float wide = 2 * sigmoid(t[2]), high = 2 * sigmoid(t[3]);
        const float width = wide * wide * anchor.width, height = high * high * anchor.height;
        found.push_back({{x - width / 2, y - height / 2, width, height}, score});
      }
    }
  }
}

}  // namespace

extern const DetectorFamily family;
const DetectorFamily family = {"yolov5_face", kGrids.back().stride, outputs_of, decode};

}  // namespace facematch::families::yolov5_face
