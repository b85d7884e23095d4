// Predicts 68 landmarks in a box, and the five that alignment needs.
#pragma once

#include <array>

#include "../image/view.h"
#include "../runtime/pack.h"
#include "../runtime/session.h"
#include "../types.h"

namespace facematch {

// The iBUG 300-W scheme: 0-16 jaw, 17-26 brows, 27-35 nose, 36-41 the person's right eye, 42-47 the
// left eye, 48-67 mouth.
using Points68 = std::array<Point, 68>;

class Landmarker {
 public:
  explicit Landmarker(const Pack& pack);

  // Predicts once, and again on an upright crop if the roll differs from the expected one (`roll`,
  // degrees clockwise) by more than upright_degrees; with `refine` always twice.
  Points68 find(const View& view, const Box& box, bool refine, float roll = 0) const;

  // Runs the net once on the crop of crop_size() pixels that `crop` makes of the image. `mirrored`:
  // the net gets the mirror image of the crop; positions are converted back, but the numbering
  // stays that of the mirror image. Points are finite; throws Error kInternalError if the net's are
  // not.
  Points68 predict(const View& view, const Similarity& crop, bool mirrored = false) const;

  float crop_side(const Box& box) const { return box.longer_side() * spec_.crop; }
  int crop_size() const { return spec_.size; }

 private:
  LandmarksSpec spec_;
  Net net_;
};

Points68 moved(const Points68& points, const Similarity& transform);

Landmarks five_points(const Points68& points);

// Returns the angle of the line from the person's right eye to the left, degrees, clockwise in the
// image.
float eye_line_degrees(const Landmarks& landmarks);

// Returns the angle between a roll and that of the eye line, 0 to 180.
float degrees_from(float roll, const Landmarks& landmarks);

}  // namespace facematch
