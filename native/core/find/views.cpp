#include "views.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "../image/contrast.h"

namespace facematch {
namespace {

constexpr std::array kPaddedShares = {0.5f, 0.3f};
// For the close detector: of borders from none to three tenths of the image it finds most with
// this one (hard-images, close-ups).
constexpr float kCloseShare = 0.7f;

constexpr float kShared = 0.2f;  // of the frame's height, with the neighbouring frame

void append(std::vector<View>& views, std::vector<View> more) {
  std::move(more.begin(), more.end(), std::back_inserter(views));
}

// Where frames of that side begin, so that they cover the whole length.
std::vector<int> starts(int length, int side, int shared) {
  const int last = std::max(0, length - side);
  const int steps = (last + side - shared - 1) / (side - shared);
  std::vector<int> out = {0};
  for (int i = 1; i <= steps; ++i) out.push_back(i * last / steps);
  return out;
}

}  // namespace

float scale_in_frame(const Detector& detector, const Image& image) {
  const auto share = [](int side, int of) {
    return static_cast<float>(side) / static_cast<float>(of);
  };
  return std::min(share(detector.spec().width, image.width()),
                  share(detector.spec().height, image.height()));
}

bool is_large(const Image& image) { return std::max(image.width(), image.height()) > kLarge; }

std::vector<View> rotations(const View& view, int first) {
  std::vector<View> views;
  for (int quarters = first; quarters < 4; ++quarters) views.push_back(rotated(view, quarters));
  return views;
}

std::vector<View> padded_views(const View& view, bool close) {
  if (close) return {padded(view, kCloseShare)};
  std::vector<View> views;
  for (const float share : kPaddedShares) append(views, rotations(padded(view, share), 0));
  return views;
}

std::vector<View> enhanced_views(View view) {
  view.bgr = stretch_contrast(view.bgr);
  std::vector<View> views = rotations(view, 0);
  view.bgr = equalised(view.bgr);
  append(views, rotations(view, 0));
  return views;
}

std::vector<View> frames_of(const View& view, cv::Size frame) {
  const cv::Size size(std::min(frame.width, view.bgr.cols), std::min(frame.height, view.bgr.rows));
  const int shared = static_cast<int>(kShared * static_cast<float>(frame.height));
  std::vector<View> out;
  for (const int y : starts(view.bgr.rows, size.height, shared)) {
    for (const int x : starts(view.bgr.cols, size.width, shared)) {
      const Similarity moved{.tx = static_cast<float>(x), .ty = static_cast<float>(y)};
      out.emplace_back(view.bgr(cv::Rect({x, y}, size)), moved.then(view.to_image));
    }
  }
  return out;
}

}  // namespace facematch
