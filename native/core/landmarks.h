// Box -> 68 landmarks -> the five that alignment needs.
#pragma once

#include <algorithm>
#include <array>

#include "geometry.h"
#include "pack.h"
#include "session.h"
#include "types.h"

namespace facematch {

// The iBUG 300-W scheme: 0-16 jaw, 17-26 brows, 27-35 nose, 36-41 the person's right eye, 42-47 the
// left eye, 48-67 mouth. Pixels of the picture that was looked at.
using Points68 = std::array<Point, 68>;

class Landmarker {
 public:
  explicit Landmarker(const Pack& pack);

  // One pass, and an upright second one where the eyes lean; with `refine` the second pass is
  // always made. The first pass takes the face to lean by `lean` degrees (clockwise).
  Points68 find(const cv::Mat& bgr, const Box& box, bool refine, float roll = 0) const;

  // One pass over one crop, as square_crop() makes it for crop_size(). With `mirrored` the net is
  // shown the crop's mirror image: the points come back where they were seen, but with the numbers
  // that they have in the mirror.
  Points68 predict(const cv::Mat& bgr, const Similarity& crop, bool mirrored = false) const;

  float crop_side(const Box& box) const { return std::max(box.width, box.height) * spec_.crop; }
  int crop_size() const { return spec_.size; }

 private:
  LandmarksSpec spec_;
  Net net_;
};

Landmarks five_points(const Points68& points);

// Angle of the line from the person's right eye to the left, degrees, clockwise in the picture.
float eye_line_degrees(const Landmarks& landmarks);

}  // namespace facematch
