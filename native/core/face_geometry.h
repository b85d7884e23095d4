// Whether five points can be a face at all.
#pragma once

#include <span>

#include "types.h"

namespace facematch {

// How far the points are from those of a face, however it is turned and however large it is: root
// mean square after the best fit, as a share of the template's own distance from eyes to mouth.
float template_error(const Landmarks& landmarks, std::span<const Point> template_points);

// `landmarks` are pixels of a view in which the face is upright, `box` is where the detector saw it
// there, `template_points` are the points of a face as the embedder wants them. Judges order,
// proportions, the template_error to the template, and that the points lie about the box.
bool plausible(const Landmarks& landmarks, const Box& box, std::span<const Point> template_points);

}  // namespace facematch
