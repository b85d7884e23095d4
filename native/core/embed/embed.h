// Face chip -> unit vector.
#pragma once

#include "../image/image.h"
#include "../runtime/pack.h"
#include "../runtime/session.h"
#include "../types.h"

namespace facematch {

class Embedder {
 public:
  explicit Embedder(const Pack& pack);

  // Aligns the five points to the pack's template: the transform from the image to the chip.
  Similarity align(const Landmarks& landmarks) const;

  // The face chip, CV_8UC3, upright.
  void chip(const View& view, const Similarity& alignment, cv::Mat& out) const;

  // With `mirror` the chip and its mirror image are averaged. Throws Error kInternalError when the
  // net's numbers are not finite.
  Embedding embed(const cv::Mat& chip, bool mirror) const;

  // What to decode of an image, and at which scale (at most 1 is ever needed), so that the chip of
  // a face in that box is as good as one of the full image.
  Part part_for(const Box& box) const;

  int chip_size() const { return spec_.size; }

 private:
  EmbedderSpec spec_;
  Net net_;
};

}  // namespace facematch
