// Ultra-Light-Fast-Generic-Face-Detector (RFB and slim): an SSD with two or three priors at each
// cell of four grids, which lie one after the other, rows of cells from left to right and top to
// bottom. scores 1 x n x 2, the second being the face's; offsets 1 x n x 4 from the prior to the
// box: centre (x, y, in shares of the prior's side), logarithm of the sides. The variances and
// priors are those that its author trained it with.
#include <algorithm>
#include <array>
#include <cmath>

#include "detect_family.h"

namespace facematch {
namespace {

struct Grid {
  int stride;                    // pixels from cell to cell
  std::span<const float> sides;  // of the priors, pixels
};

constexpr std::array kSmall = {10.0f, 16.0f, 24.0f};
constexpr std::array kMiddle = {32.0f, 48.0f};
constexpr std::array kLarge = {64.0f, 96.0f};
constexpr std::array kLargest = {128.0f, 192.0f, 256.0f};
constexpr std::array kGrids = {Grid{8, kSmall}, Grid{16, kMiddle}, Grid{32, kLarge},
                               Grid{64, kLargest}};

constexpr float kCentreVariance = 0.1f;
constexpr float kSizeVariance = 0.2f;

constexpr OutputMember kOutputs[] = {{"scores"}, {"offsets"}};

// Cells of a grid along a side of the input: the last one may reach out of it.
size_t cells(int side, int stride) { return static_cast<size_t>((side + stride - 1) / stride); }

std::optional<std::string> mismatch(cv::Size input, std::span<const size_t> sizes) {
  size_t priors = 0;
  for (const Grid& grid : kGrids) {
    priors +=
        cells(input.width, grid.stride) * cells(input.height, grid.stride) * grid.sides.size();
  }
  if (sizes[0] == 2 * priors && sizes[1] == 4 * priors) return std::nullopt;
  return "its scores and offsets should have " + std::to_string(2 * priors) + " and " +
         std::to_string(4 * priors) + " numbers and have " + std::to_string(sizes[0]) + " and " +
         std::to_string(sizes[1]);
}

// `prior` is its width and height, `offsets` those of one of its boxes.
Box box_of(Point middle, cv::Size2f prior, const float* offsets) {
  const Point centre(middle.x + offsets[0] * kCentreVariance * prior.width,
                     middle.y + offsets[1] * kCentreVariance * prior.height);
  const float width = std::exp(offsets[2] * kSizeVariance) * prior.width;
  const float height = std::exp(offsets[3] * kSizeVariance) * prior.height;
  return {centre.x - width / 2, centre.y - height / 2, width, height};
}

void decode(cv::Size input, cv::Size whole, Outputs outputs, float min_score,
            std::vector<Detection>& found) {
  // Of the pictures that the net learnt from: no prior was larger than these, and their cells
  // shared them evenly. In a smaller input cells and priors keep their pixels.
  const cv::Size2f most(whole);
  const float* score = outputs[0].data() + 1;
  const float* offsets = outputs[1].data();
  for (const Grid& grid : kGrids) {
    const Point step(most.width / static_cast<float>(cells(whole.width, grid.stride)),
                     most.height / static_cast<float>(cells(whole.height, grid.stride)));
    const size_t columns = cells(input.width, grid.stride);
    const size_t count = columns * cells(input.height, grid.stride);
    for (size_t cell = 0; cell < count; ++cell) {
      const Point middle((static_cast<float>(cell % columns) + 0.5f) * step.x,
                         (static_cast<float>(cell / columns) + 0.5f) * step.y);
      for (const float side : grid.sides) {
        if (*score >= min_score) {
          const cv::Size2f prior(std::min(side, most.width), std::min(side, most.height));
          found.push_back({box_of(middle, prior, offsets), *score});
        }
        score += 2;
        offsets += 4;
      }
    }
  }
}

}  // namespace

const DetectorFamily kRfb = {"rfb", kOutputs, 8, mismatch, decode};

}  // namespace facematch
