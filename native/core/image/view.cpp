#include "view.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <opencv2/imgproc.hpp>

#include "../error.h"

namespace facematch {
namespace {

// More than the detector's frame, so that rotated, padded and enhanced copies lose nothing.
constexpr int kOverview = 480;

// Large enough that the smallest tile fills the detector's frame.
constexpr int kDetail = 1600;

// Pixels, longer side.
constexpr int kHuge = 2 * kDetail;

// Rows of the smaller picture between two checks for cancelling.
constexpr int kStrip = 128;

// Side of a tile / distance from tile to tile.
constexpr float kTileOverlap = 1.5f;

// The largest padded view, pixels: no detector uses more.
constexpr int kLargestPadded = 640;

float as_float(int value) { return static_cast<float>(value); }

cv::Mat resized(const cv::Mat& bgr, float scale) {
  const cv::Size size(std::max(1, cvRound(as_float(bgr.cols) * scale)),
                      std::max(1, cvRound(as_float(bgr.rows) * scale)));
  if (size == bgr.size()) return bgr;
  cv::Mat out;
  cv::resize(bgr, out, size, 0, 0, scale < 1 ? cv::INTER_AREA : cv::INTER_LINEAR);
  return out;
}

// Step `index` of `count` equal steps from 0 to `last`, in whole pixels.
int step(int index, int count, int last) { return count < 2 ? 0 : index * last / (count - 1); }

}  // namespace

bool is_huge(const cv::Mat& bgr) { return std::max(bgr.cols, bgr.rows) >= kHuge; }

View shrunk(const View& view, int longest, const Budget& budget) {
  const int times = std::max(view.bgr.cols, view.bgr.rows) / longest;
  if (is_huge(view.bgr) && times > 1 && std::min(view.bgr.cols, view.bgr.rows) >= times) {
    // First by a whole factor, which OpenCV does about five times as fast. Columns and rows at the
    // end that do not fill a pixel are left out.
    const cv::Size size(view.bgr.cols / times, view.bgr.rows / times);
    View whole{.bgr = cv::Mat(size, view.bgr.type()), .to_picture = {}};
    for (int first = 0; first < size.height; first += kStrip) {
      if (budget.cancelled()) throw Error(ErrorCode::kImageTooComplex);
      const int rows = std::min(kStrip, size.height - first);
      cv::Mat strip = whole.bgr.rowRange(first, first + rows);
      cv::resize(view.bgr({0, first * times, size.width * times, rows * times}), strip,
                 strip.size(), 0, 0, cv::INTER_AREA);
    }
    whole.to_picture =
        Similarity{.a = as_float(times), .b = 0, .tx = 0, .ty = 0}.then(view.to_picture);
    return shrunk(whole, longest, budget);
  }
  const float before = as_float(std::max(view.bgr.cols, view.bgr.rows));
  View out{.bgr = resized(view.bgr, std::min(1.0f, as_float(longest) / before)), .to_picture = {}};
  // From the longer side, which has the smallest rounding error.
  const float up = before / as_float(std::max(out.bgr.cols, out.bgr.rows));
  out.to_picture = Similarity{.a = up, .b = 0, .tx = 0, .ty = 0}.then(view.to_picture);
  return out;
}

View rotated(const View& view, int quarters) {
  const float width = as_float(view.bgr.cols);
  const float height = as_float(view.bgr.rows);
  struct Rotation {
    int code;
    Similarity back;
  };
  const std::array<Rotation, 3> rotations = {
      Rotation{cv::ROTATE_90_CLOCKWISE, {.a = 0, .b = -1, .tx = 0, .ty = height}},
      Rotation{cv::ROTATE_180, {.a = -1, .b = 0, .tx = width, .ty = height}},
      Rotation{cv::ROTATE_90_COUNTERCLOCKWISE, {.a = 0, .b = 1, .tx = width, .ty = 0}}};
  if (quarters % 4 == 0) return view;
  const Rotation& rotation = rotations[static_cast<size_t>(quarters % 4 - 1)];
  View out;
  cv::rotate(view.bgr, out.bgr, rotation.code);
  out.to_picture = rotation.back.then(view.to_picture);
  return out;
}

View padded(const View& view, float share) {
  const float longest = as_float(std::max(view.bgr.cols, view.bgr.rows));
  const float scale = std::min(1.0f, as_float(kLargestPadded) * share / longest);
  const cv::Mat inner = resized(view.bgr, scale);
  const int left = cvRound(as_float(inner.cols) * (1 / share - 1) / 2);
  const int top = cvRound(as_float(inner.rows) * (1 / share - 1) / 2);
  View out;
  cv::copyMakeBorder(inner, out.bgr, top, top, left, left,
                     cv::BORDER_CONSTANT | cv::BORDER_ISOLATED, cv::mean(inner));
  const float up = as_float(view.bgr.cols) / as_float(inner.cols);
  const Similarity back{.a = up, .b = 0, .tx = -up * as_float(left), .ty = -up * as_float(top)};
  out.to_picture = back.then(view.to_picture);
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
      const Similarity back{.a = 1, .b = 0, .tx = as_float(x), .ty = as_float(y)};
      out.push_back({.bgr = view.bgr(cv::Rect(x, y, width, height)),
                     .to_picture = back.then(view.to_picture)});
    }
  }
  return out;
}

View cut(const View& view, Point centre, float side, float roll, int size) {
  const Similarity to_view = view.to_picture.inverse();
  const Similarity crop =
      square_crop(to_view.apply(centre), side * to_view.scale(), roll + to_view.degrees(), size);
  View out;
  warp(view.bgr, crop, size, out.bgr, Outside::kMean);
  out.to_picture = crop.inverse().then(view.to_picture);
  return out;
}

Box moved(const Box& box, const Similarity& transform) {
  const Point centre = transform.apply(box.centre());
  const float straight = transform.a * transform.a;
  const float across = transform.b * transform.b;
  const float scale = 1 / transform.scale();  // straight + across is the square of the scale
  const float width = (box.width * straight + box.height * across) * scale;
  const float height = (box.width * across + box.height * straight) * scale;
  return {centre.x - width / 2, centre.y - height / 2, width, height};
}

Points68 moved(const Points68& points, const Similarity& transform) {
  Points68 out;
  std::transform(points.begin(), points.end(), out.begin(),
                 [&](Point point) { return transform.apply(point); });
  return out;
}

Scales::Scales(const cv::Mat& bgr, const Budget& budget)
    : full_{.bgr = bgr, .to_picture = {}}, budget_(budget) {}

const View& Scales::detail() {
  if (!detail_) detail_ = shrunk(full_, kDetail, budget_);
  return *detail_;
}

const View& Scales::overview() {
  if (!overview_) overview_ = shrunk(detail(), kOverview);
  return *overview_;
}

View Scales::closeup(const Box& box, float roll, int size) {
  const float side = 2 * std::max(box.width, box.height);
  // Full pixels only where they add detail. A close-up of a large face in a huge picture would
  // average millions of them each time.
  const bool enough = side >= static_cast<float>(size) * detail().to_picture.scale();
  return cut(enough ? detail() : full_, box.centre(), side, roll, size);
}

}  // namespace facematch
