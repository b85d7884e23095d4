// The first look at an image, which finds nearly every face, and the looks that follow it in a
// large image or where faces are small, so that one face that is found does not hide others.
#pragma once

#include <vector>

#include "finder.h"

namespace facematch {

// Faces that the detector sees in the whole image with at least the pack's min_det_score, each
// confirmed; with the fallback also small ones and, where an upright face was found, rotated ones.
void find_in_whole(Finder& finder, std::vector<FoundFace>& faces, StageTimings& timings_ms);

// Appends faces of the whole image with a score from `min_score` up to the pack's min_det_score.
// The best come first and nothing that is known changes, so that a lower score only adds.
void find_doubtful(Finder& finder, float min_score, std::vector<FoundFace>& faces,
                   StageTimings& timings_ms);

}  // namespace facematch
