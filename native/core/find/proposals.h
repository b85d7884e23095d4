// Where faces may be in views of an image: what the detector is sure enough of, and its hints that
// hold when they are looked at enlarged.
#pragma once

#include <vector>

#include "finder.h"

namespace facematch {

// Above this longer side, pixels, a look at the whole image shows so little of its detail that
// more looks follow, whatever was found in it.
constexpr int kLarge = 1400;
inline bool is_large(const Image& image) {
  return std::max(image.width(), image.height()) > kLarge;
}

// Shortest longer side of a face in the detector's frame, pixels, from which the detector is sure
// of it, and from which it gives at least a hint. The rows "beside a larger one" of
// bench/hard-images.mjs say how many of each side are found.
constexpr float kSureSide = 18;
constexpr float kHintSide = 12;

// Pixels of the frame for one of the image, where the whole image is shown in it, rotated by that
// many quarters.
float scale_in_frame(const Finder& finder, size_t quarters);

// Notes that the whole image was searched in the three rotations that are not upright, each filling
// the frame, for faces of that longer side in the frame.
void searched_turned(Finder& finder, float side_in_frame);

struct Proposal {
  Detection detection;
  float roll;  // of an upright face in the view, degrees
};

// The least score of a hint. With half of it scanned pages with small faces take twice the time for
// one face of 72 and two of 96 on pages of a video call; with twice of it two and one are lost.
constexpr float kHintScore = 0.1f;

// Decodes what the faces' landmarks and chips need, in one pass through the file.
void decode_parts_for(Finder& finder, const std::vector<Detection>& detections);

// Whether one of the faces is in that place.
bool is_known(const std::vector<FoundFace>& faces, const Box& box);

// Without hints what scores at least kProposalScore. Best first, each once,
// without the places of faces that are known. Hints are cut from `pixels`, or where that is null
// from the view that gave them.
enum class Hints { kIgnored, kEnlarged };
std::vector<Proposal> proposals_of(Finder& finder, const Detector& detector,
                                   const std::vector<View>& views, Hints hints,
                                   const std::vector<FoundFace>& known = {},
                                   const View* pixels = nullptr);

// Verifies the proposals that are not known yet and appends the faces. Beside a face that is known
// or verified, others with its roll need no stable landmarks.
void verify_new(Finder& finder, const std::vector<Proposal>& proposals, FoundBy found_by,
                std::vector<FoundFace>& faces);

// A proposal that a close-up shows, with unstable landmarks.
struct Unstable {
  Proposal proposal;
  FoundFace face;
};

// The second half of that: those of them that are beside a face with their roll.
void append_beside(std::vector<Unstable> unstable, FoundBy found_by, std::vector<FoundFace>& faces);

// A place where a face may be, and what it is cut from.
struct Hint {
  Proposal proposal;
  const View* pixels;
};

// Those of the hints that the detector is sure of in close-ups, the best first; ends where of
// twelve none is, for those that follow score less.
std::vector<Proposal> enlarged_hints(Finder& finder, const Detector& detector,
                                     std::vector<Hint> hints);

}  // namespace facematch
