// Code that the families of RetinaFace share.
#pragma once

#include "family.h"

namespace facematch::families::retinaface {

// Numbers of an output, one row per prior: a pointer to the first row, and the distance in floats
// from row to row.
struct Rows {
  const float* first;
  size_t step;
};

// Returns the number of priors in the manifest's grids.
size_t priors_of(const DetectorSpec& spec, cv::Size input);

// `classes`: background, face. `boxes`: offsets from the prior to the box.
void decode_priors(const DetectorSpec& spec, cv::Size input, Rows classes, Rows boxes,
                   float min_score, std::vector<Detection>& found);

}  // namespace facematch::families::retinaface
