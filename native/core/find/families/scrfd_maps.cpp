// SCRFD (InsightFace) with the raw maps of its head. For each stride, an output consists of planes
// of the grid's size, ordered by anchor: one plane per anchor for scores, four for boxes. Scores
// are 0..1 or, from a head without sigmoid, logits. Boxes are as in the family scrfd. Points, if a
// net has them, are ignored.
#include <algorithm>

#include "family.h"

namespace facematch::families::scrfd_maps {
namespace {

constexpr size_t kSides = 4;

std::vector<OutputShape> outputs_of(const DetectorSpec& spec, cv::Size input) {
  std::vector<OutputShape> all;
  const auto add = [&](const char* member, size_t planes) {
    for (const int stride : spec.strides) {
      const size_t rows =
          cells_along(input.height, stride) * static_cast<size_t>(spec.anchors) * planes;
      all.push_back({member, stride, rows, cells_along(input.width, stride)});
    }
  };
  add("scores", 1);
  add("boxes", kSides);
  return all;
}

// Nearly every cell shows no face, so its logit is negative. A probability never is.
bool has_logits(Outputs scores) {
  return std::any_of(scores.begin(), scores.end(), [](std::span<const float> map) {
    return std::any_of(map.begin(), map.end(), [](float score) { return score < 0; });
  });
}

void decode(const DetectorSpec& spec, cv::Size input, Outputs outputs, float min_score,
            std::vector<Detection>& found) {
  const size_t grids = spec.strides.size();
  const bool logits = has_logits(outputs.first(grids));
  for (size_t grid = 0; grid < grids; ++grid) {
    const float stride = static_cast<float>(spec.strides[grid]);
    const size_t columns = cells_along(input.width, spec.strides[grid]);
    const size_t count = cells(input, spec.strides[grid]);
    const std::span<const float> scores = outputs[grid];
    for (size_t i = 0; i < scores.size(); ++i) {
      const float score = logits ? sigmoid(scores[i]) : scores[i];
      if (!(score >= min_score)) continue;
      const size_t anchor = i / count, cell = i % count;
      const float* side = outputs[grids + grid].data() + anchor * kSides * count + cell;
      const float left = side[0], top = side[count], right = side[2 * count],
                  bottom = side[3 * count];
      const float x = static_cast<float>(cell % columns), y = static_cast<float>(cell / columns);
      found.push_back({{(x - left) * stride, (y - top) * stride, (left + right) * stride,
                        (top + bottom) * stride},
                       score});
    }
  }
}

}  // namespace

extern const DetectorFamily family;
const DetectorFamily family = {"scrfd_maps", 0, outputs_of, decode};

}  // namespace facematch::families::scrfd_maps
