// Picture -> boxes, with a net of any family.
#pragma once

#include <vector>

#include "detect_family.h"
#include "pack.h"
#include "session.h"
#include "types.h"

namespace facematch {

class Detector {
 public:
  explicit Detector(const Pack& pack);

  // Faces in `bgr` that score at least `min_score`, best first, overlaps removed.
  std::vector<Detection> detect(const cv::Mat& bgr, float min_score) const;

  // The net's input for a picture: no larger than need be where the net leaves its sides open.
  cv::Size frame_for(cv::Size picture) const;

 private:
  DetectorSpec spec_;
  const DetectorFamily& family_;
  Net net_;
};

// Whether a detection can be a face of a picture of that size: a score of 0..1, finite numbers,
// neither tiny nor far larger than the picture, its middle within.
bool is_possible(const Detection& detection, cv::Size picture);

// Intersection over union.
float intersection_over_union(const Box& a, const Box& b);

// Keeps the best of every group that overlaps by more than `iou`. Leaves them best first.
void non_max_suppression(std::vector<Detection>& detections, float iou);

}  // namespace facematch
