// The ladder for hard pictures: other looks at a picture in which the first one found no face.
#pragma once

#include <vector>

#include "examiner.h"

namespace facematch {

// Climbs until a step finds faces that pass the examiner's check; empty where none does, or where
// kMostDetectorRuns are spent before. Unordered.
// With `found`, faces that the first look found turned, only the first step is climbed, for others
// in the same picture; they come back together.
std::vector<Sighting> climb(Examiner& examiner, std::vector<Sighting> found = {});

}  // namespace facematch
