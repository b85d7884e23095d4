// The detection passes over an image, and how their detections are checked. The first pass finds
// nearly every face. The other passes are the fallback for images in which the first pass finds no
// upright face.
#pragma once

#include <span>
#include <vector>

#include "finder.h"

namespace facematch {

enum class DetectionPass { kWhole, kRotated, kEnhanced, kPadded, kLargeTiles, kSmallTiles };

// Returns the passes in their order: only the first, or all.
std::span<const DetectionPass> detection_passes(bool use_heuristic_fallback);

// Updates `faces` with the results of the pass. If a pass finds a known face again, the face with
// the more stable landmarks is kept.
void run_pass(DetectionPass pass, Finder& finder, std::vector<FoundFace>& faces,
              StageTimings& timings_ms);

// The first pass (first_pass.cpp). Adds the confirmed faces of the whole image that score at least
// the pack's min_det_score. With the fallback, it also adds small faces and, if an upright face was
// found, rotated ones.
void find_in_whole(Finder& finder, std::vector<FoundFace>& faces, StageTimings& timings_ms);

// Searches again at the candidates of an earlier search, in close-ups of all four rotations.
// Returns faces that the earlier search missed or found in a wrong rotation.
std::vector<FoundFace> find_further(Finder& finder, const EarlierAnalysis& earlier,
                                    StageTimings& timings_ms);

// Returns faces of the whole image that score at least `min_score` but less than the pack's
// min_det_score, best first. Omits faces among `known`, so that a lower `min_score` adds faces but
// changes none of the known ones.
std::vector<FoundFace> find_doubtful(Finder& finder, float min_score, std::vector<FoundFace> known,
                                     StageTimings& timings_ms);

// Returns true if no further pass is needed. After the first pass, this requires a face with
// found_by `primary` that is the only face or nearly upright. After any other pass, any face is
// enough.
bool ends_search(DetectionPass pass, const std::vector<FoundFace>& faces);

// Longer side in pixels of the image that the first pass needs.
int side_for_first_pass(const Pack& pack);

// Sorts by box area x detection score, largest first.
void order(std::vector<Detection>& detections);
void order(std::vector<FoundFace>& faces);

}  // namespace facematch
