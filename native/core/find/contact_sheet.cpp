#include "contact_sheet.h"

#include <algorithm>
#include <opencv2/imgproc.hpp>

#include "../runtime/net_input.h"

namespace facematch {

ContactSheet::ContactSheet(cv::Size frame, cv::Size slot)
    : slot_(std::min(slot.width, frame.width), std::min(slot.height, frame.height)),
      columns_(static_cast<size_t>(frame.width / slot_.width)),
      slots_(columns_ * static_cast<size_t>(frame.height / slot_.height)),
      sheet_(frame, CV_8UC3, cv::Scalar::all(0)) {}

cv::Point ContactSheet::corner_of(size_t index) const {
  return {static_cast<int>(index % columns_) * slot_.width,
          static_cast<int>(index / columns_) * slot_.height};
}

void ContactSheet::add(const View& view) {
  const cv::Point corner = corner_of(views_.size());
  const cv::Size size = size_within(view.bgr.size(), slot_);
  const float scale = static_cast<float>(size.width) / static_cast<float>(view.bgr.cols);
  cv::resize(view.bgr, sheet_(cv::Rect(corner, size)), size, 0, 0,
             scale < 1 ? cv::INTER_AREA : cv::INTER_LINEAR);
  const Similarity from_corner{.tx = -static_cast<float>(corner.x),
                               .ty = -static_cast<float>(corner.y)};
  views_.push_back(from_corner.then(enlarged(1 / scale)).then(view.to_image));
}

std::vector<std::vector<Detection>> ContactSheet::detect(Finder& finder, const Detector& detector,
                                                         float min_score) const {
  std::vector<std::vector<Detection>> seen(views_.size());
  for (Detection detection : finder.detect(detector, View(sheet_), min_score)) {
    const Point centre = detection.box.centre();
    const auto column =
        static_cast<size_t>(std::max(0.0f, centre.x)) / static_cast<size_t>(slot_.width);
    const auto row =
        static_cast<size_t>(std::max(0.0f, centre.y)) / static_cast<size_t>(slot_.height);
    const size_t index = row * columns_ + column;
    if (column >= columns_ || index >= views_.size()) continue;
    detection.box = moved(detection.box, views_[index]);
    seen[index].push_back(detection);
  }
  return seen;
}

}  // namespace facematch
