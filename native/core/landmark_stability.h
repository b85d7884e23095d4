// Whether landmarks lie on something: those of a face stay with the face when the crop that the net
// looks at is mirrored, turned or shifted. On anything else, and on a face that is not upright in
// the crop, the net draws its average face wherever the crop is.
#pragma once

#include <span>

#include "landmarks.h"
#include "types.h"

namespace facematch {

// Another look at the same face: how its crop differs from the first.
struct Perturbation {
  bool mirrored = false;
  float degrees = 0;
  float right = 0;  // shift, as a share of the crop's side
  float down = 0;
};

// One look tells most faces; five, each of which fails on others, tell nearly all.
std::span<const Perturbation> quick_perturbations();
std::span<const Perturbation> thorough_perturbations();

// How far `points`, found in `bgr` for a face in `box`, are from those of further looks: root mean
// square over brows, nose, eyes and mouth, as a share of the crop's side; over several looks their
// geometric mean, so that one unlucky look does not decide.
float instability(const Landmarker& landmarker, const cv::Mat& bgr, const Box& box,
                  const Points68& points, std::span<const Perturbation> perturbations);

}  // namespace facematch
