// Picture -> boxes. One small decoder for each detector family.
#pragma once

#include <vector>

#include "pack.h"
#include "session.h"
#include "types.h"

namespace facematch {

struct Detection {
  Box box;  // pixels of the picture that was looked at
  float score = 0;
  FoundBy found_by = FoundBy::kPrimary;
};

class Detector {
 public:
  explicit Detector(const Pack& pack);

  // Faces in `bgr` that score at least `min_score`, best first, overlaps removed.
  std::vector<Detection> detect(const cv::Mat& bgr, float min_score) const;

 private:
  DetectorSpec spec_;
  Net net_;
};

// Intersection over union.
float overlap(const Box& a, const Box& b);

// Keeps the best of every group that overlaps by more than `iou`. Leaves them best first.
void suppress_overlaps(std::vector<Detection>& detections, float iou);

}  // namespace facematch
