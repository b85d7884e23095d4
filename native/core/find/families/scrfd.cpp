// SCRFD (InsightFace). Anchors are at the top left corners of cells; the manifest defines the
// strides and the number of anchors per cell. Outputs for each stride, ordered by row, column and
// anchor: scores, n x 1, 0..1, and boxes, n x 4, distances from the anchor to left, top, right and
// bottom, in cells. Five points, if a net has them, are ignored, because the pack's landmark net
// predicts its own.
#include "family.h"

namespace facematch::families::scrfd {
namespace {

std::vector<OutputShape> outputs_of(const DetectorSpec& spec, cv::Size input) {
  std::vector<OutputShape> all;
  const auto add = [&](const char* member, size_t columns) {
    for (const int stride : spec.strides) {
      const size_t rows = cells(input, stride) * static_cast<size_t>(spec.anchors);
      all.push_back({member, stride, rows, columns});
    }
  };
  add("scores", 1);
  add("boxes", 4);
  return all;
}

void decode(const DetectorSpec& spec, cv::Size input, Outputs outputs, float min_score,
            std::vector<Detection>& found) {
  const size_t grids = spec.strides.size();
  const size_t each = static_cast<size_t>(spec.anchors);
  for (size_t grid = 0; grid < grids; ++grid) {
    const float stride = static_cast<float>(spec.strides[grid]);
    const size_t columns = cells_along(input.width, spec.strides[grid]);
    const std::span<const float> scores = outputs[grid];
    const float* side = outputs[grids + grid].data();
    for (size_t i = 0; i < scores.size(); ++i, side += 4) {
      if (!(scores[i] >= min_score)) continue;
      const size_t cell = i / each;
      const float x = static_cast<float>(cell % columns), y = static_cast<float>(cell / columns);
      found.push_back({{(x - side[0]) * stride, (y - side[1]) * stride,
                        (side[0] + side[2]) * stride, (side[1] + side[3]) * stride},
                       scores[i]});
    }
  }
}

}  // namespace

extern const DetectorFamily family;
const DetectorFamily family = {"scrfd", 0, outputs_of, decode};

}  // namespace facematch::families::scrfd
