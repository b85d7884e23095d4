// Face chip -> unit vector.
#pragma once

#include "../image/geometry.h"
#include "../runtime/pack.h"
#include "../runtime/session.h"
#include "../types.h"

namespace facematch {

class Embedder {
 public:
  explicit Embedder(const Pack& pack);

  // Aligns the five points to the pack's template: the transform from the picture to the chip.
  Similarity align(const Landmarks& landmarks) const;

  // The face chip, CV_8UC3, upright.
  void chip(const cv::Mat& bgr, const Similarity& alignment, cv::Mat& out) const;

  // With `mirror` the chip and its mirror image are averaged.
  Embedding embed(const cv::Mat& chip, bool mirror) const;

  int chip_size() const { return spec_.size; }

 private:
  EmbedderSpec spec_;
  Net net_;
};

}  // namespace facematch
