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

  // Predicts the landmarks on a crop rotated by `roll` (degrees clockwise). Predicts them again on
  // an upright crop if `refine` is set, or if the face's roll differs from `roll` by more than
  // upright_degrees.
  Points68 find(const View& view, const Box& box, bool refine, float roll = 0) const;

  // Runs the net once on a crop of crop_size() pixels; `crop` is the transform from the image.
  // `mirrored`: runs it on the mirror image of the crop. Positions are converted back, but points
  // keep the order of the mirror image. Throws Error kInternalError if the net returns numbers that
  // are not finite.
  Points68 predict(const View& view, const Similarity& crop, bool mirrored = false) const;

  float crop_side(const Box& box) const { return box.longer_side() * spec_.crop; }
  int crop_size() const { return spec_.size; }

 private:
  LandmarksSpec spec_;
  Net net_;
};

Points68 moved(const Points68& points, const Similarity& transform);

Landmarks five_points(const Points68& points);

// Returns the angle of the line from the person's right eye to the left eye, in degrees, clockwise
// in the image.
float eye_line_degrees(const Landmarks& landmarks);

// Returns the angle between `roll` and the eye line, 0 to 180 degrees.
float degrees_from(float roll, const Landmarks& landmarks);

}  // namespace facematch
