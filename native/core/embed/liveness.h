// Presentation attack detection: how likely a face is live rather than a photo or a screen.
#pragma once

#include <optional>
#include <vector>

#include "../image/image.h"
#include "../runtime/pack.h"
#include "../runtime/session.h"

namespace facematch {

// Returns the crop for a liveness net, in whole pixels of the full image. The box is enlarged by
// `scale`, or less if the image is too small, and shifted into the image
// (Silent-Face-Anti-Spoofing, generate_patches.py).
cv::Rect liveness_crop(const Box& box, cv::Size image, float scale);

// The nets of a pack that distinguish a live face from a photo or a screen; a pack may have none.
class Liveness {
 public:
  explicit Liveness(const Pack& pack);

  // Returns the mean score of the nets, 0..1; a higher score is more likely live. Returns nothing
  // if the pack has no nets. Uses the pixels of the full image if time allows, because the nets
  // were trained on crops of full images. Throws Cancelled, and Error kInternalError if a net
  // returns numbers that are not finite.
  std::optional<float> score(Image& image, const Box& box) const;

 private:
  struct Member {
    LivenessSpec spec;
    Net net;
  };
  std::vector<Member> nets_;
};

}  // namespace facematch
