#include <algorithm>
#include <array>
#include <cmath>

#include "../error.h"
#include "detect_family.h"

namespace facematch {

// Ultra-Light-Fast-Generic-Face-Detector (RFB and slim): an SSD with two or three priors in each
// cell of four grids. Outputs are ordered by grid, then by row, column and prior. scores 1 x n x 2,
// the second is the face's; offsets 1 x n x 4 from the prior to the box: centre (x, y, as shares of
// the prior's sides) and logarithm of the sides. Variances and priors are those of its training.
namespace rfb {
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

// Cells of a grid along a side of the input; the last one may extend beyond it.
size_t cells(int side, int stride) { return static_cast<size_t>((side + stride - 1) / stride); }

std::optional<std::string> mismatch(const DetectorSpec&, cv::Size input,
                                    std::span<const size_t> sizes) {
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

// `prior` is its size; `offsets` are its four numbers.
Box box_of(Point middle, cv::Size2f prior, const float* offsets) {
  const Point centre(middle.x + offsets[0] * kCentreVariance * prior.width,
                     middle.y + offsets[1] * kCentreVariance * prior.height);
  const float width = std::exp(offsets[2] * kSizeVariance) * prior.width;
  const float height = std::exp(offsets[3] * kSizeVariance) * prior.height;
  return {centre.x - width / 2, centre.y - height / 2, width, height};
}

void decode(const DetectorSpec& spec, cv::Size input, Outputs outputs, float min_score,
            std::vector<Detection>& found) {
  const cv::Size whole(spec.width, spec.height);
  // In training no prior was larger than the input, and cells divided it evenly. In a smaller input
  // cells and priors keep those sizes in pixels.
  const cv::Size2f most(whole);
  const float* score = outputs[0].data() + 1;
  const float* offsets = outputs[1].data();
  for (const Grid& grid : kGrids) {
    const Point step(most.width / static_cast<float>(cells(whole.width, grid.stride)),
                     most.height / static_cast<float>(cells(whole.height, grid.stride)));
    const size_t columns = cells(input.width, grid.stride);
    const size_t count = columns * cells(input.height, grid.stride);
    for (size_t cell = 0; cell < count; ++cell) {
      const size_t column = cell % columns;
      const size_t row = cell / columns;
      const Point middle((static_cast<float>(column) + 0.5f) * step.x,
                         (static_cast<float>(row) + 0.5f) * step.y);
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
}  // namespace rfb

// YuNet (libfacedetection): no anchors, one box for each cell of three grids. For each stride, by
// row and column: cls and obj 1 x n x 1, both 0..1; bbox 1 x n x 4, from the cell to the centre of
// the box (x, y, in cells) and the logarithm of its sides (in cells).
namespace yunet {
namespace {

constexpr std::array<int, 3> kStrides = {8, 16, 32};

constexpr OutputMember kOutputs[] = {
    {"cls", kStrides.size()}, {"obj", kStrides.size()}, {"bbox", kStrides.size()}};

std::optional<std::string> mismatch(const DetectorSpec&, cv::Size input,
                                    std::span<const size_t> sizes) {
  if (input.width % kStrides.back() != 0 || input.height % kStrides.back() != 0) {
    return "its width and height must be multiples of " + std::to_string(kStrides.back());
  }
  for (size_t i = 0; i < sizes.size(); ++i) {
    const OutputMember& member = kOutputs[i / kStrides.size()];
    const int stride = kStrides[i % kStrides.size()];
    const size_t cells = static_cast<size_t>(input.area() / (stride * stride));
    const size_t expected = cells * (i / kStrides.size() == 2 ? 4 : 1);
    if (sizes[i] == expected) continue;
    return std::string(member.name) + " for stride " + std::to_string(stride) + " has " +
           std::to_string(sizes[i]) + " numbers instead of " + std::to_string(expected);
  }
  return std::nullopt;
}

void decode(const DetectorSpec&, cv::Size input, Outputs outputs, float min_score,
            std::vector<Detection>& found) {
  for (size_t grid = 0; grid < kStrides.size(); ++grid) {
    const std::span<const float> cls = outputs[grid];
    const std::span<const float> obj = outputs[kStrides.size() + grid];
    const std::span<const float> bbox = outputs[2 * kStrides.size() + grid];
    const float stride = static_cast<float>(kStrides[grid]);
    const size_t columns = static_cast<size_t>(input.width / kStrides[grid]);
    for (size_t i = 0; i < cls.size(); ++i) {
      const float score = std::sqrt(cls[i] * obj[i]);
      if (!(score >= min_score)) continue;
      const float* t = &bbox[4 * i];
      const size_t column = i % columns;
      const size_t row = i / columns;
      const float x = (static_cast<float>(column) + t[0]) * stride;
      const float y = (static_cast<float>(row) + t[1]) * stride;
      const float width = std::exp(t[2]) * stride;
      const float height = std::exp(t[3]) * stride;
      found.push_back({{x - width / 2, y - height / 2, width, height}, score});
    }
  }
}

}  // namespace
}  // namespace yunet

// BlazeFace (MediaPipe, face detection, short range): an anchor is the middle of a cell. Two for
// each cell of stride 8, then six of stride 16, by row and column. boxes 1 x n x 16, pixels of the
// input: from the anchor to the centre of the box (x, y); its width and height; from the anchor to
// six points (right eye, left eye, tip of the nose, middle of the mouth, right ear, left ear; x, y
// of each). scores 1 x n x 1, a logit.
namespace blazeface {
namespace {

struct Grid {
  int stride;
  size_t anchors;  // of a cell
};

constexpr std::array kGrids = {Grid{8, 2}, Grid{16, 6}};
constexpr int kLargestStride = 16;
constexpr size_t kNumbers = 16;  // of a box

// Its boxes reach from the brows to the chin; other detectors take in the forehead, and what comes
// after detection is made for that. The square around the box of RFB is so much larger than this
// one's longer side, and higher by that share of it (medians over faces that both see).
constexpr float kLarger = 1.16f;
constexpr float kHigher = 0.03f;
// Added to the logit: what its maker takes for a face, from 0.5 on, has at least the 0.7 that a
// face must have by the other families.
constexpr float kMoreCertain = 0.8473f;

constexpr OutputMember kOutputs[] = {{"boxes"}, {"scores"}};

std::optional<std::string> mismatch(const DetectorSpec&, cv::Size input,
                                    std::span<const size_t> sizes) {
  if (input.width % kLargestStride != 0 || input.height % kLargestStride != 0) {
    return "its width and height must be multiples of " + std::to_string(kLargestStride);
  }
  size_t anchors = 0;
  for (const Grid& grid : kGrids) {
    anchors += static_cast<size_t>(input.area() / (grid.stride * grid.stride)) * grid.anchors;
  }
  if (sizes[0] == kNumbers * anchors && sizes[1] == anchors) return std::nullopt;
  return "its boxes and scores should have " + std::to_string(kNumbers * anchors) + " and " +
         std::to_string(anchors) + " numbers and have " + std::to_string(sizes[0]) + " and " +
         std::to_string(sizes[1]);
}

void decode(const DetectorSpec&, cv::Size input, Outputs outputs, float min_score,
            std::vector<Detection>& found) {
  const float* box = outputs[0].data();
  const float* logit = outputs[1].data();
  for (const Grid& grid : kGrids) {
    const float stride = static_cast<float>(grid.stride);
    const size_t columns = static_cast<size_t>(input.width / grid.stride);
    const size_t count = columns * static_cast<size_t>(input.height / grid.stride) * grid.anchors;
    for (size_t i = 0; i < count; ++i, ++logit, box += kNumbers) {
      const float score = 1 / (1 + std::exp(-*logit - kMoreCertain));
      if (!(score >= min_score)) continue;
      const size_t cell = i / grid.anchors;
      const Point anchor((static_cast<float>(cell % columns) + 0.5f) * stride,
                         (static_cast<float>(cell / columns) + 0.5f) * stride);
      const Point centre = anchor + Point(box[0], box[1]);
      if (!(box[2] > 0 && box[3] > 0)) continue;  // NaN as well
      const float tight = std::max(box[2], box[3]);
      const float side = kLarger * tight;
      const float top = centre.y - side / 2 - kHigher * tight;
      found.push_back({{centre.x - side / 2, top, side, side}, score});
    }
  }
}

}  // namespace
}  // namespace blazeface

const DetectorFamily kRfb = {"rfb", rfb::kOutputs, 8, rfb::mismatch, rfb::decode};
const DetectorFamily kYunet = {"yunet", yunet::kOutputs, yunet::kStrides.back(), yunet::mismatch,
                               yunet::decode};
const DetectorFamily kBlazeface = {"blazeface", blazeface::kOutputs, blazeface::kLargestStride,
                                   blazeface::mismatch, blazeface::decode};

const DetectorFamily& detector_family(const std::string& name) {
  static constexpr std::array kFamilies = {&kRfb, &kYunet, &kBlazeface, &kScrfd, &kRetinaface};
  std::string known;
  for (const DetectorFamily* family : kFamilies) {
    if (name == family->name) return *family;
    known += known.empty() ? family->name : std::string(", ") + family->name;
  }
  throw Error(ErrorCode::kInternalError,
              "unknown detector family \"" + name + "\"; there are " + known);
}

}  // namespace facematch
