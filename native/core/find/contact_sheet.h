// Many small views side by side in one frame of a detector, so that one run looks at all of them.
#pragma once

#include <vector>

#include "finder.h"

namespace facematch {

class ContactSheet {
 public:
  // `slot`: the size of a view on the sheet, pixels; larger ones are shrunk, smaller ones enlarged.
  ContactSheet(cv::Size frame, cv::Size slot);

  bool full() const { return views_.size() == slots_; }
  bool empty() const { return views_.empty(); }

  void add(const View& view);

  // What the detector sees in each view, in their order, in pixels of the image.
  std::vector<std::vector<Detection>> detect(Finder& finder, const Detector& detector,
                                             float min_score) const;

 private:
  cv::Point corner_of(size_t index) const;

  cv::Size slot_;
  size_t columns_, slots_;
  cv::Mat sheet_;
  std::vector<Similarity> views_;  // pixels of the sheet -> pixels of the image
};

}  // namespace facematch
