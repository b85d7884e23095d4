// An SSD that decodes its own boxes, such as Ultra-Light-Fast-Generic-Face-Detector with
// postprocessing. scores, n x 2, after softmax: background, face. boxes, n x 4: corners (left, top,
// right, bottom) as shares of the input.
#include <algorithm>

#include "family.h"

namespace facematch::families::ssd_decoded {
namespace {

std::vector<OutputShape> outputs_of(const DetectorSpec&, cv::Size) {
  return {{"scores", 0, kAnyRows, 2}, {"boxes", 0, kAnyRows, 4}};
}

void decode(const DetectorSpec&, cv::Size input, Outputs outputs, float min_score,
            std::vector<Detection>& found) {
  const size_t count = std::min(outputs[0].size() / 2, outputs[1].size() / 4);
  const auto width = static_cast<float>(input.width), height = static_cast<float>(input.height);
  for (size_t i = 0; i < count; ++i) {
    const float score = outputs[0][2 * i + 1];
    if (!(score >= min_score)) continue;
    const float* corner = &outputs[1][4 * i];
    found.push_back({{corner[0] * width, corner[1] * height, (corner[2] - corner[0]) * width,
                      (corner[3] - corner[1]) * height},
                     score});
  }
}

}  // namespace

extern const DetectorFamily family;
const DetectorFamily family = {"ssd_decoded", 1, outputs_of, decode};

}  // namespace facematch::families::ssd_decoded
