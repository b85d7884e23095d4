// What the families of RetinaFace share.
#pragma once

#include "family.h"

namespace facematch::families::retinaface {

// Numbers of each prior: those of the first, and how many floats later those of the next begin.
struct Rows {
  const float* first;
  size_t step;
};

// How many priors the manifest's grids have.
size_t priors_of(const DetectorSpec& spec, cv::Size input);

// classes: not a face, a face; boxes: from the prior to the box.
void decode_priors(const DetectorSpec& spec, cv::Size input, Rows classes, Rows boxes,
                   float min_score, std::vector<Detection>& found);

}  // namespace facematch::families::retinaface
