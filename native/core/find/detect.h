// Detects face boxes in an image, with a net of any family.
#pragma once

#include <vector>

#include "../image/view.h"
#include "../runtime/pack.h"
#include "../runtime/session.h"
#include "../types.h"
#include "families/family.h"

namespace facematch {

class Detector {
 public:
  // `directory`: directory of the pack.
  Detector(const std::string& directory, const DetectorSpec& spec);

  // Returns the detections in the view that score at least `min_score`, best first, after nms().
  std::vector<Detection> detect(const View& view, float min_score) const;

  const DetectorSpec& spec() const { return spec_; }

  // Returns the size of the net's input for an image: no larger than needed if the net accepts any
  // size.
  cv::Size frame_for(cv::Size image) const;

 private:
  DetectorSpec spec_;
  const DetectorFamily& family_;
  Net net_;
};

// Returns true if a detection can be a face in an image of that size. Its numbers must be finite,
// its score 0..1 and its centre inside; its box may be neither tiny nor much larger than the image.
bool is_possible(const Detection& detection, cv::Size image);

float intersection_over_union(const Box& a, const Box& b);

// Sorts best first, keeps the best 512, and drops each box whose intersection over union with a
// better box that was kept exceeds `iou`.
void nms(std::vector<Detection>& detections, float iou);

}  // namespace facematch
