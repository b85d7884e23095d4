// Ultra-Light-Fast-Generic-Face-Detector (RFB): the net decodes its own boxes. scores 1 x n x 2,
// the second being the face's; boxes 1 x n x 4, corners as shares of the input.
#include "detect_family.h"

namespace facematch {
namespace {

constexpr OutputMember kOutputs[] = {{"scores"}, {"boxes"}};

std::optional<std::string> misfit(cv::Size, std::span<const size_t> sizes) {
  if (sizes[0] * 2 == sizes[1]) return std::nullopt;
  return "its scores and boxes do not belong together: " + std::to_string(sizes[0]) + " and " +
         std::to_string(sizes[1]) + " numbers";
}

void decode(cv::Size input, Outputs outputs, float min_score, std::vector<Detection>& found) {
  const std::span<const float> scores = outputs[0];
  const std::span<const float> boxes = outputs[1];
  const float width = static_cast<float>(input.width);
  const float height = static_cast<float>(input.height);
  for (size_t i = 0; i < scores.size() / 2; ++i) {
    const float score = scores[2 * i + 1];
    if (!(score >= min_score)) continue;
    const float* corners = &boxes[4 * i];
    const Box box{corners[0] * width, corners[1] * height, (corners[2] - corners[0]) * width,
                  (corners[3] - corners[1]) * height};
    found.push_back({box, score});
  }
}

}  // namespace

const DetectorFamily kRfb = {"rfb", kOutputs, misfit, decode};

}  // namespace facematch
