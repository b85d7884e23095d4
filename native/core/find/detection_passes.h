// What the detector is shown of an image, pass after pass, and how what it finds is checked. The
// first pass finds nearly every face; the others, the fallback, are for images in which it found
// none that is upright.
#pragma once

#include <span>
#include <vector>

#include "finder.h"

namespace facematch {

enum class DetectionPass { kWhole, kRotated, kEnhanced, kPadded, kLargeTiles, kSmallTiles };

// The passes in their order: the first alone, or all.
std::span<const DetectionPass> detection_passes(bool use_heuristic_fallback);

// `faces` becomes what is known after the pass. Of a face that was known before and is found again,
// the one with the more stable landmarks stays.
void run_pass(DetectionPass pass, Finder& finder, std::vector<FoundFace>& faces,
              StageTimings& timings_ms);

// The first pass (first_look.cpp). Faces that the detector sees in the whole image with at least
// the pack's min_det_score, each confirmed; with the fallback also small ones and, where an upright
// face was found, rotated ones.
void find_in_whole(Finder& finder, std::vector<FoundFace>& faces, StageTimings& timings_ms);

// Faces of the whole image with a score from `min_score` up to the pack's min_det_score, the best
// first, that are not among `known`: a lower score only adds.
std::vector<FoundFace> find_doubtful(Finder& finder, float min_score, std::vector<FoundFace> known,
                                     StageTimings& timings_ms);

// Whether no further pass is needed: the first must have found an upright face, of several one that
// is nearly upright; the others any.
bool ends_search(DetectionPass pass, const std::vector<FoundFace>& faces);

// Longer side, pixels, of the image that the first pass needs.
int side_for_first_pass(const Pack& pack);

// Largest first (box area x detection score).
void order(std::vector<Detection>& detections);
void order(std::vector<FoundFace>& faces);

}  // namespace facematch
