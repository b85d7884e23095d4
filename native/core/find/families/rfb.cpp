// Ultra-Light-Fast-Generic-Face-Detector (RFB and slim): an SSD with two or three priors in each
// cell of four grids. Outputs are ordered by grid, then by row, column and prior. scores, n x 2:
// background, face. offsets, n x 4, from the prior to the box: centre (x, y, as shares of the
// prior's sides) and logarithm of the sides. Variances and priors are those of its training.
#include <algorithm>
#include <array>
#include <cmath>

#include "family.h"

namespace facematch::families::rfb {
namespace {

struct Grid {
  int stride;
  std::span<const float> sides;  // sides of the priors, pixels
};

constexpr std::array kSmall = {10.0f, 16.0f, 24.0f};
constexpr std::array kMiddle = {32.0f, 48.0f};
constexpr std::array kLarge = {64.0f, 96.0f};
constexpr std::array kLargest = {128.0f, 192.0f, 256.0f};
constexpr std::array kGrids = {Grid{8, kSmall}, Grid{16, kMiddle}, Grid{32, kLarge},
                               Grid{64, kLargest}};

constexpr float kCentreVariance = 0.1f;
constexpr float kSizeVariance = 0.2f;

std::vector<OutputShape> outputs_of(const DetectorSpec&, cv::Size input) {
  size_t priors = 0;
  for (const Grid& grid : kGrids) priors += cells(input, grid.stride) * grid.sides.size();
  return {{"scores", 0, priors, 2}, {"offsets", 0, priors, 4}};
}

// `prior`: the prior's size in pixels. `offsets`: the net's four numbers for it.
Box box_of(Point middle, cv::Size2f prior, const float* offsets) {
  const Point centre(middle.x + offsets[0] * kCentreVariance * prior.width,
                     middle.y + offsets[1] * kCentreVariance * prior.height);
  const float width = std::exp(offsets[2] * kSizeVariance) * prior.width;
  const float height = std::exp(offsets[3] * kSizeVariance) * prior.height;
  return {centre.x - width / 2, centre.y - height / 2, width, height};
}

void decode(const DetectorSpec& spec, cv::Size input, Outputs outputs, float min_score,
            std::vector<Detection>& found) {
  // In training, priors were at most as large as the input, and cells divided it evenly. Cells and
  // priors keep these sizes in pixels if the input is smaller.
  const cv::Size2f training_size(cv::Size(spec.width, spec.height));
  const float* score = outputs[0].data() + 1;
  const float* offsets = outputs[1].data();
  for (const Grid& grid : kGrids) {
    const Point step(
        training_size.width / static_cast<float>(cells_along(spec.width, grid.stride)),
        training_size.height / static_cast<float>(cells_along(spec.height, grid.stride)));
    const size_t columns = cells_along(input.width, grid.stride);
    const size_t count = cells(input, grid.stride);
    for (size_t cell = 0; cell < count; ++cell) {
      const Point middle((static_cast<float>(cell % columns) + 0.5f) * step.x,
                         (static_cast<float>(cell / columns) + 0.5f) * step.y);
      for (const float side : grid.sides) {
        if (*score >= min_score) {
          const cv::Size2f prior(std::min(side, training_size.width),
                                 std::min(side, training_size.height));
          found.push_back({box_of(middle, prior, offsets), *score});
        }
        score += 2;
        offsets += 4;
      }
    }
  }
}

}  // namespace

extern const DetectorFamily family;
const DetectorFamily family = {"rfb", 8, outputs_of, decode};

}  // namespace facematch::families::rfb
