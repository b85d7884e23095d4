// Possible faces in views of an image: confident detections, and hints that an enlarged crop
// confirms.
#pragma once

#include <vector>

#include "finder.h"

namespace facematch {

// Longer side in pixels. In a larger image, one frame shows too little detail, so hints are
// enlarged.
constexpr int kLarge = 1400;
inline bool is_large(const Image& image) {
  return std::max(image.width(), image.height()) > kLarge;
}

// Minimum longer side of a face in the detector's frame, in pixels, for a confident detection and
// for a hint. bench/hard-images.mjs reports how many faces of each side are found ("beside a larger
// face").
constexpr float kConfidentSide = 18;
constexpr float kHintSide = 12;

// Returns the pixels of the detector's frame per pixel of the image if the frame shows the whole
// image, rotated by `quarters` times 90 degrees.
float scale_in_frame(const Finder& finder, size_t quarters);

// Records that the whole image was searched in the three other rotations, for faces with a longer
// side of at least `side_in_frame` pixels in the frame.
void mark_rotations_searched(Finder& finder, float side_in_frame);

struct Proposal {
  Detection detection;
  float roll;  // degrees in the image, if the face is upright in the view
};

// Minimum score of a hint. With 0.05, scanned pages with small faces take twice the time, and one
// more face of 72 is found. On pages of a video call, two more of 96 are found. With 0.2, two of
// the 72 and one of the 96 are missed.
constexpr float kHintScore = 0.1f;

// Minimum score of a candidate, just above the detector's score for a plain surface. In the upright
// image a rotated face scores less than an upright one, but more than its surroundings.
constexpr float kCandidateScore = 0.072f;

// Decodes the parts of the image that the faces' landmarks and chips need, in one pass through the
// file.
void decode_parts_for(Finder& finder, const std::vector<Detection>& detections);

// Returns true if one of the faces overlaps the box.
bool is_known(const std::vector<FoundFace>& faces, const Box& box);

enum class Hints { kIgnored, kEnlarged };

// Returns the detections in the views that score at least kProposalScore and, with kEnlarged, the
// hints that an enlarged crop confirms. They are sorted by score, without duplicates and known
// faces. Hints are cropped from `pixels`, or from their own view if `pixels` is null.
std::vector<Proposal> proposals_of(Finder& finder, const Detector& detector,
                                   const std::vector<View>& views, Hints hints,
                                   const std::vector<FoundFace>& known = {},
                                   const View* pixels = nullptr);

// Verifies the proposals that are not known yet and appends the faces. Accepts unstable landmarks
// if a known or verified face has about the same roll.
void verify_new(Finder& finder, const std::vector<Proposal>& proposals, FoundBy found_by,
                std::vector<FoundFace>& faces);

// A proposal that was detected in a close-up, but with unstable landmarks.
struct Unstable {
  Proposal proposal;
  FoundFace face;
};

// Appends the unstable faces that are not known yet and have about the roll of a face in `faces`.
void append_beside(std::vector<Unstable> unstable, FoundBy found_by, std::vector<FoundFace>& faces);

// A place where a face may be, and the view to crop it from.
struct Hint {
  Proposal proposal;
  const View* pixels;
};

// Returns the hints that the detector confirms when they are enlarged, best first. Stops after a
// frame without a confirmed hint, because the remaining hints score less.
std::vector<Proposal> enlarged_hints(Finder& finder, const Detector& detector,
                                     std::vector<Hint> hints);

}  // namespace facematch
