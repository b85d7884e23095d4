// The fallback for hard pictures: further steps when the first pass found no upright face.
#pragma once

#include <vector>

#include "verifier.h"

namespace facematch {

constexpr size_t kFallbackSteps = 5;

// Runs step `number`, counted from 0, and returns the verified faces, unordered; nothing after
// kMostDetectorRuns or when the budget is used up. `found` are faces known before: of each face the
// candidate with the most stable landmarks is returned.
std::vector<Candidate> run_fallback_step(Verifier& verifier, size_t number,
                                         std::vector<Candidate> found = {});

}  // namespace facematch
