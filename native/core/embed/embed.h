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

  // Returns the transform from the image to the chip, which aligns the five points to the pack's
  // template.
  Similarity align(const Landmarks& landmarks) const;

  // Writes the upright face chip (CV_8UC3) to `out`.
  void chip(const View& view, const Similarity& alignment, cv::Mat& out) const;

  // `mirror`: averages the embeddings of the chip and of its mirror image. Throws Error
  // kInternalError if the net returns numbers that are not finite.
  Embedding embed(const cv::Mat& chip, bool mirror) const;

  // Returns the part of the image to decode for a face in `box`, at a scale at which the chip is as
  // good as one from the full image. A scale above 1 counts as 1.
  Part part_for(const Box& box) const;

  int chip_size() const { return spec_.size; }

 private:
  EmbedderSpec spec_;
  Net net_;
};

}  // namespace facematch
