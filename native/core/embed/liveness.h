// Face in its picture -> how likely it stands before the camera itself.
#pragma once

#include <optional>
#include <vector>

#include "../image/picture.h"
#include "../runtime/pack.h"
#include "../runtime/session.h"

namespace facematch {

// What a liveness net of this scale sees of a picture of that size, in whole pixels of the full
// picture: the box enlarged by `scale`, or by as much as the picture allows, and shifted into it
// (Silent-Face-Anti-Spoofing, generate_patches.py).
cv::Rect liveness_crop(const Box& box, cv::Size picture, float scale);

// The nets of a pack that tell a live face from a photo or a screen; a pack may have none.
class Liveness {
 public:
  explicit Liveness(const Pack& pack);

  bool present() const { return !nets_.empty(); }

  // 0..1, higher: more likely live; the mean over the nets, nothing without any. Takes the pixels
  // of the full picture, where its time suffices: the nets are trained on crops that are not
  // averaged. Throws Error kImageTooComplex when the call is cancelled, kInternalError when a net's
  // numbers are not finite.
  std::optional<float> score(Picture& picture, const Box& box) const;

 private:
  struct Member {
    LivenessSpec spec;
    Net net;
  };
  std::vector<Member> nets_;
};

}  // namespace facematch
