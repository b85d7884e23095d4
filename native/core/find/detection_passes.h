// The looks at a picture, one after the other: what the detector is shown, and how what it finds is
// checked. The first look finds nearly every face; the others, the fallback, are for pictures in
// which it found none that is upright.
#pragma once

#include <span>
#include <vector>

#include "finder.h"

namespace facematch {

struct Look {
  FoundBy found_by;
  std::vector<View> (*views)(Finder& finder);
  bool first = false;               // at the whole picture; has no views
  bool close = false;               // by the close detector, where the pack has one
  bool contrast_stretched = false;  // stretches close-ups and chips too
};

// The first look alone, or all.
std::span<const Look> looks(bool use_heuristic_fallback);

// Looks once: `faces` becomes what is known after it. Of a face that was known before and is found
// again, the one with the more stable landmarks stays.
void look_once(Finder& finder, const Look& look, std::vector<FoundFace>& faces,
               StageTimings& timings_ms);

// Of detections of one face, by their boxes or their landmarks, keeps the one for which `badness`
// is least, the first of equals.
void keep_one_of_each(std::vector<FoundFace>& faces, float (*badness)(const FoundFace&));

// Whether no further look is needed: the first must have found an upright face, the others any.
bool ends_search(const Look& look, const std::vector<FoundFace>& faces);

// Longer side, pixels, of the picture that the first look needs.
int side_for_first_look(const Pack& pack);

// Largest first (box area x detection score), at most kMaxFaces.
void order(std::vector<FoundFace>& faces);

}  // namespace facematch
