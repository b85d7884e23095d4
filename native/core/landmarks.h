// Box -> 68 landmarks -> the five that alignment needs.
#pragma once

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
  // always made.
  Points68 find(const cv::Mat& bgr, const Box& box, bool refine) const;

 private:
  Points68 look(const cv::Mat& bgr, const Similarity& crop) const;

  LandmarksSpec spec_;
  Net net_;
};

Landmarks five_points(const Points68& points);

// Angle of the line from the person's right eye to the left, degrees, clockwise in the picture.
float eye_line_degrees(const Landmarks& landmarks);

}  // namespace facematch
