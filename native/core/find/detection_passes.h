// The detection passes over an image, and how their detections are checked. The first pass finds
// nearly every face; the others, the fallback, are for images without an upright face in the first.
#pragma once

#include <span>
#include <vector>

#include "finder.h"

namespace facematch {

enum class DetectionPass { kWhole, kRotated, kEnhanced, kPadded, kLargeTiles, kSmallTiles };

// Returns the passes in their order: only the first, or all.
std::span<const DetectionPass> detection_passes(bool use_heuristic_fallback);

// Updates `faces` with the results of the pass. If a known face is found again, the one with the
// more stable landmarks is kept.
void run_pass(DetectionPass pass, Finder& finder, std::vector<FoundFace>& faces,
              StageTimings& timings_ms);

// The first pass (first_look.cpp). Returns faces that the detector finds in the whole image with at
// least the pack's min_det_score, each confirmed; with the fallback also small ones and, if an
// upright face was found, rotated ones.
void find_in_whole(Finder& finder, std::vector<FoundFace>& faces, StageTimings& timings_ms);

// Returns faces that an earlier search missed at its candidates, or found in a wrong rotation.
// Detects each such place again in close-ups of all four rotations.
std::vector<FoundFace> find_further(Finder& finder, const Earlier& earlier,
                                    StageTimings& timings_ms);

// Returns faces of the whole image with a score from `min_score` up to the pack's min_det_score,
// best first, that are not among `known`: a lower score only adds faces.
std::vector<FoundFace> find_doubtful(Finder& finder, float min_score, std::vector<FoundFace> known,
                                     StageTimings& timings_ms);

// Returns true if no further pass is needed: the first must have found an upright face, of several
// one that is nearly upright; the others any.
bool ends_search(DetectionPass pass, const std::vector<FoundFace>& faces);

// Longer side in pixels of the image that the first pass needs.
int side_for_first_pass(const Pack& pack);

// Sorts the largest first (box area x detection score).
void order(std::vector<Detection>& detections);
void order(std::vector<FoundFace>& faces);

}  // namespace facematch
