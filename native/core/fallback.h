// The ladder for hard pictures: other looks at a picture in which the first one found no face.
#pragma once

#include <vector>

#include "verifier.h"

namespace facematch {

// Runs the steps until one finds faces that pass the verifier's check; empty where none does, or
// where kMostDetectorRuns or the picture's budget are spent before. Unordered. With `found`, faces
// that the first look found turned, only the first step runs, for others in the same picture; they
// come back together.
std::vector<Candidate> run_fallback(Verifier& verifier, std::vector<Candidate> found = {});

}  // namespace facematch
