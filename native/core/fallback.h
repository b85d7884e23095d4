// The ladder for hard pictures: other looks at a picture in which the first one found no face.
#pragma once

#include <vector>

#include "verifier.h"

namespace facematch {

constexpr size_t kFallbackSteps = 5;

// What a step of the ladder finds that passes the verifier's check, 0 the first; nothing once
// kMostDetectorRuns or the picture's budget are spent. Unordered. `found`: what is known already;
// of one face, the candidate with the most stable landmarks comes back.
std::vector<Candidate> run_fallback_step(Verifier& verifier, size_t number,
                                         std::vector<Candidate> found = {});

}  // namespace facematch
