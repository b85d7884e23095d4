#include "view.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <opencv2/imgproc.hpp>

namespace facematch {
namespace {

// Longer side in pixels above which it saves time to shrink by a whole factor first.
constexpr int kHuge = 3200;

// Number of rows of the smaller image between two checks for cancellation.
constexpr int kRowsAtOnce = 128;

// Ratio of the side of a tile to the distance from tile to tile.
constexpr float kTileOverlap = 1.5f;

float as_float(int value) { return static_cast<float>(value); }

cv::Mat resized(const cv::Mat& bgr, float scale) {
  const cv::Size size(std::max(1, cvRound(as_float(bgr.cols) * scale)),
                      std::max(1, cvRound(as_float(bgr.rows) * scale)));
  if (size == bgr.size()) return bgr;
  cv::Mat out;
  cv::resize(bgr, out, size, 0, 0, scale < 1 ? cv::INTER_AREA : cv::INTER_LINEAR);
  return out;
}

Similarity moved_by(int x, int y) { return {.a = 1, .b = 0, .tx = as_float(x), .ty = as_float(y)}; }

// Returns step `index` of `count` equal steps from 0 to `last`, in whole pixels.
int step(int index, int count, int last) { return count < 2 ? 0 : index * last / (count - 1); }

}  // namespace

View shrunk_by(const View& view, int times, const Budget& budget) {
  const cv::Size size(view.bgr.cols / times, view.bgr.rows / times);
  View out(cv::Mat(size, view.bgr.type()), enlarged(as_float(times)).then(view.to_image));
  for (int first = 0; first < size.height; first += kRowsAtOnce) {
    budget.check_cancelled();
    const int rows = std::min(kRowsAtOnce, size.height - first);
    cv::Mat strip = out.bgr.rowRange(first, first + rows);
    cv::resize(view.bgr({0, first * times, size.width * times, rows * times}), strip, strip.size(),
               0, 0, cv::INTER_AREA);
  }
  return out;
}

View shrunk(const View& view, int max_side, const Budget& budget) {
  const int times = view.longer_side() / max_side;
  if (view.longer_side() >= kHuge && times > 1 && std::min(view.bgr.cols, view.bgr.rows) >= times) {
    return shrunk(shrunk_by(view, times, budget), max_side, budget);
  }
  View out(resized(view.bgr, std::min(1.0f, as_float(max_side) / as_float(view.longer_side()))));
  // Computed from the longer side, which has the smallest rounding error.
  const float up = as_float(view.longer_side()) / as_float(out.longer_side());
  out.to_image = enlarged(up).then(view.to_image);
  return out;
}

View rotated(const View& view, int quarters) {
  const float right = as_float(view.bgr.cols - 1);
  const float bottom = as_float(view.bgr.rows - 1);
  struct Rotation {
    int code;
    Similarity back;
  };
  const std::array<Rotation, 3> rotations = {
      Rotation{cv::ROTATE_90_CLOCKWISE, {.a = 0, .b = -1, .tx = 0, .ty = bottom}},
      Rotation{cv::ROTATE_180, {.a = -1, .b = 0, .tx = right, .ty = bottom}},
      Rotation{cv::ROTATE_90_COUNTERCLOCKWISE, {.a = 0, .b = 1, .tx = right, .ty = 0}}};
  if (quarters % 4 == 0) return view;
  const Rotation& rotation = rotations[static_cast<size_t>(quarters % 4 - 1)];
  View out;
  cv::rotate(view.bgr, out.bgr, rotation.code);
  out.to_image = rotation.back.then(view.to_image);
  return out;
}

std::vector<View> rotations(const View& view, int first) {
  std::vector<View> views;
  for (int quarters = first; quarters < 4; ++quarters) views.push_back(rotated(view, quarters));
  return views;
}

View padded(const View& view, float share, int max_side) {
  const float scale = std::min(1.0f, as_float(max_side) * share / as_float(view.longer_side()));
  const cv::Mat inner = resized(view.bgr, scale);
  const int left = cvRound(as_float(inner.cols) * (1 / share - 1) / 2);
  const int top = cvRound(as_float(inner.rows) * (1 / share - 1) / 2);
  View out;
  cv::copyMakeBorder(inner, out.bgr, top, top, left, left,
                     cv::BORDER_CONSTANT | cv::BORDER_ISOLATED, cv::mean(inner));
  const float up = as_float(view.bgr.cols) / as_float(inner.cols);
  out.to_image = moved_by(-left, -top).then(enlarged(up)).then(view.to_image);
  return out;
}

std::vector<View> tiles(const View& view, int across) {
  const float share = kTileOverlap / (as_float(across) - 1 + kTileOverlap);
  const int width = std::max(1, cvRound(as_float(view.bgr.cols) * share));
  const int height = std::max(1, cvRound(as_float(view.bgr.rows) * share));
  std::vector<View> out;
  for (int row = 0; row < across; ++row) {
    for (int column = 0; column < across; ++column) {
      const int x = step(column, across, view.bgr.cols - width);
      const int y = step(row, across, view.bgr.rows - height);
      out.emplace_back(view.bgr(cv::Rect(x, y, width, height)), moved_by(x, y).then(view.to_image));
    }
  }
  return out;
}

}  // namespace facematch
