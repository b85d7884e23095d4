// RetinaFace as trained with PyTorch: an SSD with square priors in the centre of each cell. The
// manifest defines strides, priors and variances. Both outputs are ordered by grid, row, column and
// prior. Scores, n x 2: background, face. Boxes, n x 4, relative to the prior: centre (x, y, in
// units of the prior's side) and logarithm of the sides.
#include "retinaface.h"

#include <cmath>

namespace facematch::families::retinaface {
namespace {

// Some nets end with softmax; others return logits.
float face_probability(const float* classes) {
  const float other = classes[0], face = classes[1];
  const bool are_probabilities = other >= 0 && face >= 0 && std::abs(other + face - 1) < 1e-3f;
  return are_probabilities ? face : sigmoid(face - other);
}

std::vector<OutputShape> outputs_of(const DetectorSpec& spec, cv::Size input) {
  const size_t priors = priors_of(spec, input);
  return {{"scores", 0, priors, 2}, {"boxes", 0, priors, 4}};
}

void decode(const DetectorSpec& spec, cv::Size input, Outputs outputs, float min_score,
            std::vector<Detection>& found) {
  decode_priors(spec, input, {outputs[0].data(), 2}, {outputs[1].data(), 4}, min_score, found);
}

}  // namespace

size_t priors_of(const DetectorSpec& spec, cv::Size input) {
  size_t priors = 0;
  for (size_t grid = 0; grid < spec.strides.size(); ++grid)
    priors += cells(input, spec.strides[grid]) * spec.priors[grid].size();
  return priors;
}

void decode_priors(const DetectorSpec& spec, cv::Size input, Rows classes, Rows boxes,
                   float min_score, std::vector<Detection>& found) {
  const float* t = boxes.first;
  const auto [of_centre, of_sides] = spec.variances;
  for (size_t grid = 0; grid < spec.strides.size(); ++grid) {
    const float stride = static_cast<float>(spec.strides[grid]);
    const size_t columns = cells_along(input.width, spec.strides[grid]);
    const size_t count = cells(input, spec.strides[grid]);
    for (size_t cell = 0; cell < count; ++cell) {
      const float x = (static_cast<float>(cell % columns) + 0.5f) * stride;
      const float y = (static_cast<float>(cell / columns) + 0.5f) * stride;
      for (const float prior : spec.priors[grid]) {
        const float score = face_probability(classes.first);
        if (score >= min_score) {
          const float width = std::exp(t[2] * of_sides) * prior;
          const float height = std::exp(t[3] * of_sides) * prior;
          found.push_back({{x + t[0] * of_centre * prior - width / 2,
                            y + t[1] * of_centre * prior - height / 2, width, height},
                           score});
        }
        classes.first += classes.step;
        t += boxes.step;
      }
    }
  }
}

extern const DetectorFamily family;
const DetectorFamily family = {"retinaface", 0, outputs_of, decode};

}  // namespace facematch::families::retinaface
