// Checks that predicted landmarks belong to a face: by their layout and by their stability.
#pragma once

#include <span>

#include "../types.h"
#include "landmarks.h"

namespace facematch {

// Returns the root mean square distance of the points from the template after the best fit of
// position, rotation and scale, as a share of the template's distance from eyes to mouth.
float template_error(const Landmarks& landmarks, std::span<const Point> template_points);

// Checks the layout: order and proportions of the points, their position in the box, and
// template_error(). `landmarks` and `box` are in pixels of a view in which the face is upright;
// `template_points` are those of the embedder.
bool plausible(const Landmarks& landmarks, const Box& box, std::span<const Point> template_points);

// Landmark stability: on an upright face, landmarks stay on the face when the crop is mirrored,
// rotated or shifted. Anywhere else the net returns its average face, which moves with the crop.
//
// A perturbation describes how another crop of the same face differs from the first.
struct Perturbation {
  bool mirrored = false;
  float degrees = 0;
  float right = 0;  // shift, as a share of the crop's side
  float down = 0;
};

// The quick check uses one perturbation and recognises most faces. The thorough check uses five and
// recognises nearly all faces, because the five fail on different faces.
std::span<const Perturbation> quick_perturbations();
std::span<const Perturbation> thorough_perturbations();

// Returns the distance of `points`, predicted in `view` for a face in `box`, from the points of the
// perturbed crops. It is the root mean square over brows, nose, eyes and mouth, as a share of the
// crop's side. The geometric mean over the perturbations limits the effect of a single failure.
float instability(const Landmarker& landmarker, const View& view, const Box& box,
                  const Points68& points, std::span<const Perturbation> perturbations);

}  // namespace facematch
