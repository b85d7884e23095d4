#include "scales.h"

#include <algorithm>

namespace facematch {
namespace {

// More than the detector's frame, so that turned, padded and enhanced copies lose nothing.
constexpr int kOverview = 480;

// Enough that the smallest tile fills the detector's frame.
constexpr int kDetail = 1600;

}  // namespace

Scales::Scales(const cv::Mat& bgr) : full_{.bgr = bgr, .to_picture = {}} {}

const View& Scales::detail() {
  if (!detail_) detail_ = shrunk(full_, kDetail);
  return *detail_;
}

const View& Scales::overview() {
  if (!overview_) overview_ = shrunk(detail(), kOverview);
  return *overview_;
}

View Scales::closeup(const Box& box, float lean, int size) {
  const float side = 2 * std::max(box.width, box.height);
  // Full pixels only where they show more. A close-up of a large face in a huge picture would
  // average millions of them each time.
  const bool enough = side >= static_cast<float>(size) * detail().to_picture.scale();
  return cut(enough ? detail() : full_, box.center(), side, lean, size);
}

}  // namespace facematch
