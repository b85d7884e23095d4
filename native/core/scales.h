// One picture at the scales in which it is looked at. The only place where a look that is not the
// first asks for the picture's full pixels.
#pragma once

#include <optional>

#include "view.h"

namespace facematch {

// The copies are made when they are first asked for, each from the next larger, so that a huge
// picture is gone through once. For one thread, and for as long as the picture lives.
class Scales {
 public:
  explicit Scales(const cv::Mat& bgr);

  // The whole picture for a detector that looks at it as a whole: longer side at most 480 pixels.
  const View& overview();

  // The whole picture for a detector that looks at parts of it: longer side at most 1600 pixels.
  const View& detail();

  // What a face is cut out of that leans by `lean` degrees (clockwise): a square of size x size
  // pixels that shows twice the longer side of `box`, the face upright in its middle.
  View closeup(const Box& box, float lean, int size);

 private:
  View full_;
  std::optional<View> detail_, overview_;
};

}  // namespace facematch
