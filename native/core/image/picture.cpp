#include "picture.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "../error.h"
#include "../runtime/timer.h"
#include "screen.h"

namespace facematch {
namespace {

// A picture with a longer side of twice as many pixels is huge: all levels come from one of this
// size, so that its pixels are read once.
constexpr int kBase = 1600;

// In a copy of this longer side every dot that hides a face from the detector can be seen.
constexpr int kSmallest = 480;

// Pixels of a dot that are enough to merge it with its neighbours.
constexpr float kPixelsOfDot = 8;

// Where a copy has as many pixels for each pixel of the crop, warp() would average those of a
// larger one.
constexpr float kAveraged = 2;

}  // namespace

Picture::Picture(std::span<const uint8_t> bytes, const ImageLimits& limits, int min_side,
                 const Budget& budget)
    : bytes_(bytes), limits_(limits), budget_(budget) {
  const Timer timer(decode_ms_);
  decoded_ = decode(bytes_, limits_, min_side, budget_);
}

Picture::Picture(cv::Mat bgr, const Budget& budget) : budget_(budget) {
  decoded_.width = bgr.cols;
  decoded_.height = bgr.rows;
  decoded_.bgr = std::move(bgr);
}

void Picture::decode_at_least(int min_side) {
  const int wanted = std::min(min_side, std::max(width(), height()));
  if (decoded_.longer_side() >= wanted || bytes_.empty() || cut_short_) return;
  const Timer timer(decode_ms_);
  try {
    // The coarser copy is kept until the finer one is complete.
    decoded_ = decode(bytes_, limits_, wanted, budget_);
  } catch (const Error& error) {
    if (error.code != ErrorCode::kImageTooComplex || budget_.cancelled()) throw;
    cut_short_ = true;
  }
}

const View& Picture::at_least(int min_side) {
  decode_at_least(min_side);
  const bool huge = decoded_.longer_side() >= 2 * kBase;
  return huge && min_side <= kBase ? level(kBase) : decoded_;
}

const View& Picture::level(int max_side) {
  const auto known = levels_.find(max_side);
  if (known != levels_.end()) return known->second;
  decode_at_least(max_side);
  const View& from = max_side < kBase ? at_least(max_side) : decoded_;
  return levels_[max_side] = shrunk(from, max_side, budget_);
}

const View& Picture::for_crops(float scale) {
  for (const auto& [side, view] : levels_) {
    if (view.scale() >= kAveraged * scale) return view;
  }
  refine(scale);
  return decoded_;
}

void Picture::refine(float scale) {
  if (!(decoded_.scale() < std::min(scale, 1.0f))) return;
  const auto longer = static_cast<float>(std::max(width(), height()));
  decode_at_least(static_cast<int>(std::ceil(std::min(scale, 1.0f) * longer)));
}

float Picture::dot_pitch() {
  const View& small = level(kSmallest);
  return facematch::dot_pitch(small.bgr) / small.scale();
}

Picture Picture::without_dots(float pitch) {
  const float longer = static_cast<float>(std::max(width(), height()));
  const float wanted = longer * kPixelsOfDot / pitch;
  const View& view = level(static_cast<int>(std::clamp<float>(wanted, kSmallest, kBase)));
  Image merged = decoded_;
  merged.bgr = facematch::without_dots(view.bgr, pitch * view.scale());
  merged.to_picture = view.to_picture;
  return {std::move(merged), budget_};
}

View Picture::closeup(const Box& box, float roll, int size) {
  const float side = 2 * std::max(box.width, box.height);
  const Similarity crop = square_crop(box.centre(), side, roll, size);
  View out;
  out.to_picture = crop.inverse();
  for_crops(crop.scale()).crop(crop, size, out.bgr, Outside::kMean);
  return out;
}

}  // namespace facematch
