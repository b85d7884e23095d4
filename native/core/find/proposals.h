// Possible faces in views of an image: confident detections, and hints that are confirmed when they
// are enlarged.
#pragma once

#include <vector>

#include "finder.h"

namespace facematch {

// Above this longer side in pixels, the whole image in one frame shows so little detail that more
// looks follow, whatever the first one finds.
constexpr int kLarge = 1400;
inline bool is_large(const Image& image) {
  return std::max(image.width(), image.height()) > kLarge;
}

// Minimum longer side of a face in the detector's frame, in pixels, for a confident detection, and
// for at least a hint. The rows "beside a larger one" of bench/hard-images.mjs report how many of
// each side are found.
constexpr float kSureSide = 18;
constexpr float kHintSide = 12;

// Returns the pixels of the frame per pixel of the image if the whole image is shown in it, rotated
// by that many quarters.
float scale_in_frame(const Finder& finder, size_t quarters);

// Records that the whole image was searched in the three rotations that are not upright, each
// filling the frame, for faces of that longer side in the frame.
void searched_turned(Finder& finder, float side_in_frame);

struct Proposal {
  Detection detection;
  float roll;  // of an upright face in the view, degrees
};

// Minimum score of a hint. With half of it, scanned pages with small faces take twice the time for
// one face of 72 and two of 96 on pages of a video call; with twice of it, two and one are lost.
constexpr float kHintScore = 0.1f;

// Minimum score of a candidate, just above the detector's score for a plain surface. In the upright
// image a rotated face scores less than an upright one, but more than its surroundings.
constexpr float kCandidateScore = 0.072f;

// Decodes what the faces' landmarks and chips need, in one pass through the file.
void decode_parts_for(Finder& finder, const std::vector<Detection>& detections);

// Returns true if one of the faces is in that place.
bool is_known(const std::vector<FoundFace>& faces, const Box& box);

// Returns detections: without hints those that score at least kProposalScore. Best first, each
// once, without the places of known faces. Hints are cropped from `pixels`, or, if that is null,
// from the view in which they were found.
enum class Hints { kIgnored, kEnlarged };
std::vector<Proposal> proposals_of(Finder& finder, const Detector& detector,
                                   const std::vector<View>& views, Hints hints,
                                   const std::vector<FoundFace>& known = {},
                                   const View* pixels = nullptr);

// Verifies the proposals that are not known yet and appends the faces. Next to a face that is known
// or verified, others with its roll need no stable landmarks.
void verify_new(Finder& finder, const std::vector<Proposal>& proposals, FoundBy found_by,
                std::vector<FoundFace>& faces);

// A proposal that was found in a close-up, with unstable landmarks.
struct Unstable {
  Proposal proposal;
  FoundFace face;
};

// The second half of that: returns those of them that are next to a face with their roll.
void append_beside(std::vector<Unstable> unstable, FoundBy found_by, std::vector<FoundFace>& faces);

// A place where a face may be, and the view to crop it from.
struct Hint {
  Proposal proposal;
  const View* pixels;
};

// Returns the hints that the detector is sure of in close-ups, best first; stops when none of
// twelve is, because those that follow score less.
std::vector<Proposal> enlarged_hints(Finder& finder, const Detector& detector,
                                     std::vector<Hint> hints);

}  // namespace facematch
