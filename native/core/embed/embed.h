// Computes the embedding of a face chip as a unit vector.
#pragma once

#include "../image/image.h"
#include "../runtime/pack.h"
#include "../runtime/session.h"
#include "../types.h"

namespace facematch {

class Embedder {
 public:
  explicit Embedder(const Pack& pack);

  // Aligns the five points to the pack's template: returns the transform from the image to the
  // chip.
  Similarity align(const Landmarks& landmarks) const;

  // Returns the face chip, CV_8UC3, upright.
  void chip(const View& view, const Similarity& alignment, cv::Mat& out) const;

  // `mirror`: averages the chip and its mirror image. Throws Error kInternalError if the net's
  // numbers are not finite.
  Embedding embed(const cv::Mat& chip, bool mirror) const;

  // Returns the part of an image to decode, and its scale (at most 1 is ever needed), so that the
  // chip of a face in that box is as good as one of the full image.
  Part part_for(const Box& box) const;

  int chip_size() const { return spec_.size; }

 private:
  EmbedderSpec spec_;
  Net net_;
};

}  // namespace facematch
