// RetinaFace as trained with PyTorch: an SSD with square priors in the middle of each cell; the
// manifest says strides, priors and variances. Ordered by grid, then by row, column and prior:
// scores n x 2 after softmax, the second is the face's; boxes n x 4 from the prior to the box:
// centre (x, y, in sides of the prior) and logarithm of the sides.
#include <cmath>

#include "family.h"

namespace facematch::families::retinaface {
namespace {

std::vector<OutputShape> outputs_of(const DetectorSpec& spec, cv::Size input) {
  size_t priors = 0;
  for (size_t grid = 0; grid < spec.strides.size(); ++grid)
    priors += cells(input, spec.strides[grid]) * spec.priors[grid].size();
  return {{"scores", 0, priors, 2}, {"boxes", 0, priors, 4}};
}

void decode(const DetectorSpec& spec, cv::Size input, Outputs outputs, float min_score,
            std::vector<Detection>& found) {
  const float* score = outputs[0].data() + 1;
  const float* t = outputs[1].data();
  const auto [of_centre, of_sides] = spec.variances;
  for (size_t grid = 0; grid < spec.strides.size(); ++grid) {
    const float stride = static_cast<float>(spec.strides[grid]);
    const size_t columns = cells_along(input.width, spec.strides[grid]);
    const size_t count = cells(input, spec.strides[grid]);
    for (size_t cell = 0; cell < count; ++cell) {
      const float x = (static_cast<float>(cell % columns) + 0.5f) * stride;
      const float y = (static_cast<float>(cell / columns) + 0.5f) * stride;
      for (const float prior : spec.priors[grid]) {
        if (*score >= min_score) {
          const float width = std::exp(t[2] * of_sides) * prior;
          const float height = std::exp(t[3] * of_sides) * prior;
          found.push_back({{x + t[0] * of_centre * prior - width / 2,
                            y + t[1] * of_centre * prior - height / 2, width, height},
                           *score});
        }
        score += 2;
        t += 4;
      }
    }
  }
}

}  // namespace

extern const DetectorFamily family;
const DetectorFamily family = {"retinaface", 0, outputs_of, decode};

}  // namespace facematch::families::retinaface
