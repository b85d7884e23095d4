// BlazeFace (MediaPipe, face detection, short range). Anchors are the centres of cells: two for
// each cell of stride 8, then six for each cell of stride 16, ordered by row and column.
//
// boxes, n x 16, in pixels of the input: offset from the anchor to the centre of the box (x, y);
// width and height of the box; offsets from the anchor to six points (right eye, left eye, tip of
// the nose, middle of the mouth, right ear, left ear; x, y of each). scores, n x 1: a logit.
#include <algorithm>
#include <array>

#include "family.h"

namespace facematch::families::blazeface {
namespace {

struct Grid {
  int stride;
  size_t anchors;  // per cell
};

constexpr std::array kGrids = {Grid{8, 2}, Grid{16, 6}};
constexpr size_t kNumbers = 16;  // per box

// BlazeFace's boxes begin at the brows. Other detectors include the forehead, which the steps after
// detection expect. These constants convert a box to a square box of RFB: the factor for its longer
// side, and the upward shift as a share of that side (medians over faces that both find).
constexpr float kScaleToRfb = 1.16f;
constexpr float kShiftToRfb = 0.03f;
// Added to the logit, so that the publisher's threshold of 0.5 becomes 0.7, the threshold of the
// other families.
constexpr float kLogitOffset = 0.8473f;

std::vector<OutputShape> outputs_of(const DetectorSpec&, cv::Size input) {
  size_t anchors = 0;
  for (const Grid& grid : kGrids) anchors += cells(input, grid.stride) * grid.anchors;
  return {{"boxes", 0, anchors, kNumbers}, {"scores", 0, anchors, 1}};
}

void decode(const DetectorSpec&, cv::Size input, Outputs outputs, float min_score,
            std::vector<Detection>& found) {
  const float* box = outputs[0].data();
  const float* logit = outputs[1].data();
  for (const Grid& grid : kGrids) {
    const float stride = static_cast<float>(grid.stride);
    const size_t columns = cells_along(input.width, grid.stride);
    const size_t count = cells(input, grid.stride) * grid.anchors;
    for (size_t i = 0; i < count; ++i, ++logit, box += kNumbers) {
      const float score = sigmoid(*logit + kLogitOffset);
      if (!(score >= min_score)) continue;
      const size_t cell = i / grid.anchors;
      const Point anchor((static_cast<float>(cell % columns) + 0.5f) * stride,
                         (static_cast<float>(cell / columns) + 0.5f) * stride);
      const Point centre = anchor + Point(box[0], box[1]);
      if (!(box[2] > 0 && box[3] > 0)) continue;  // false for NaN
      const float tight = std::max(box[2], box[3]);
      const float side = kScaleToRfb * tight;
      const float top = centre.y - side / 2 - kShiftToRfb * tight;
      found.push_back({{centre.x - side / 2, top, side, side}, score});
    }
  }
}

}  // namespace

extern const DetectorFamily family;
const DetectorFamily family = {"blazeface", kGrids.back().stride, outputs_of, decode};

}  // namespace facematch::families::blazeface
