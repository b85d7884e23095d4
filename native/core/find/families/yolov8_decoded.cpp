// YOLOv8 with one class, face, that decodes its own boxes: one for each cell of three grids. The
// output has a row for each number, in pixels of the input: centre of the box (x, y), its sides,
// and the score. Points that follow are ignored.
#include <array>

#include "family.h"

namespace facematch::families::yolov8_decoded {
namespace {

constexpr std::array kStrides = {8, 16, 32};
constexpr size_t kRowsRead = 5;

std::vector<OutputShape> outputs_of(const DetectorSpec&, cv::Size input) {
  size_t boxes = 0;
  for (const int stride : kStrides) boxes += cells(input, stride);
  return {{"boxes", 0, kAnyRows, boxes}};
}

void decode(const DetectorSpec& spec, cv::Size input, Outputs outputs, float min_score,
            std::vector<Detection>& found) {
  const size_t count = outputs_of(spec, input)[0].columns;
  if (outputs[0].size() < kRowsRead * count) return;
  const float* x = outputs[0].data();
  const float *y = x + count, *width = y + count, *height = width + count, *score = height + count;
  for (size_t i = 0; i < count; ++i) {
    if (!(score[i] >= min_score)) continue;
    found.push_back({{x[i] - width[i] / 2, y[i] - height[i] / 2, width[i], height[i]}, score[i]});
  }
}

}  // namespace

extern const DetectorFamily family;
const DetectorFamily family = {"yolov8_decoded", kStrides.back(), outputs_of, decode};

}  // namespace facematch::families::yolov8_decoded
