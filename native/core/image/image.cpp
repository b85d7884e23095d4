#include "image.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "../error.h"
#include "../runtime/timer.h"
#include "halftone.h"

namespace facematch {
namespace {

// Longer side in pixels of the copy from which all smaller copies of a huge image are made, so that
// its pixels are read once. An image with a longer side of at least twice this is huge.
constexpr int kBase = 1600;

// Longer side in pixels of the copy in which dots are searched for. It shows all dots that are
// coarse enough to hide a face from the detector.
constexpr int kDotCheckSide = 480;

// Pixels per dot that are enough to merge the dots.
constexpr float kPixelsOfDot = 8;

// Maximum useful number of pixels of a copy per pixel of the crop, because warp() averages the
// pixels of a larger copy.
constexpr float kAveraged = 2;

// Margin of decoded parts: a box moves a little from pass to pass.
constexpr float kSlack = 1.25f;

// Maximum number of passes through the file for parts, after which the whole file is decoded.
constexpr int kMaxPasses = 3;

Box enlarged_by(const Box& box, float times) {
  const Point centre = box.centre();
  const float width = times * box.width, height = times * box.height;
  return {centre.x - width / 2, centre.y - height / 2, width, height};
}

// Returns the area in whole pixels, clipped to the image.
cv::Rect pixels_of(const Box& area, int width, int height) {
  const auto within = [](float value, int max) {
    if (value >= static_cast<float>(max)) return max;
    return value > 0 ? static_cast<int>(value) : 0;  // 0 for NaN
  };
  const cv::Point from(within(std::floor(area.x), width), within(std::floor(area.y), height));
  const cv::Point to(within(std::ceil(area.x + area.width), width),
                     within(std::ceil(area.y + area.height), height));
  return {from, to};
}

// Returns the area that a view shows, in pixels of the image.
cv::Rect area_of(const View& view) {
  const Box all{0, 0, static_cast<float>(view.bgr.cols), static_cast<float>(view.bgr.rows)};
  const Box area = moved(all, view.to_image);
  return {cvRound(area.x), cvRound(area.y), cvRound(area.width), cvRound(area.height)};
}

}  // namespace

Box around_face(const Box& box) { return enlarged_by(box.square(), 2); }

Part part_of(const Similarity& crop, int size) {
  const auto [from, to] = shown_by(crop, size);
  return {{from.x, from.y, to.x - from.x, to.y - from.y}, crop.scale()};
}

Image::Image(std::span<const uint8_t> bytes, const ImageLimits& limits, int min_side,
             const Budget& budget)
    : bytes_(bytes), limits_(limits), min_side_(min_side), budget_(budget) {
  const Timer timer(decode_ms_);
  decoded_ = decode(bytes_, limits_, min_side, budget_);
  first_ = decoded_;
}

Image::Image(cv::Mat bgr, const Budget& budget) : budget_(budget) {
  decoded_.width = bgr.cols;
  decoded_.height = bgr.rows;
  decoded_.bgr = std::move(bgr);
  first_ = decoded_;
}

template <typename Decode>
void Image::decode_in_time(Decode decode) {
  if (bytes_.empty() || timed_out_) return;
  const Timer timer(decode_ms_);
  try {
    decode();  // replaces the coarser copy only when the finer one is complete
  } catch (const Error& error) {
    if (error.code != ErrorCode::kImageTooComplex) throw;
    timed_out_ = true;
  }
}

void Image::decode_whole(int min_side) {
  const int wanted = std::min(min_side, std::max(width(), height()));
  if (decoded_.longer_side() >= wanted) return;
  decode_in_time([&] { decoded_ = decode(bytes_, limits_, wanted, budget_); });
}

bool Image::is_huge(const View& view) { return view.longer_side() >= 2 * kBase; }

View Image::whole() { return is_huge(first_) && min_side_ <= kBase ? shrink_whole(kBase) : first_; }

View Image::shrink_whole(int max_side) {
  const auto known = levels_.find(max_side);
  if (known != levels_.end()) return known->second;
  decode_whole(max_side);
  const View from = is_huge(decoded_) && max_side < kBase ? shrink_whole(kBase) : View(decoded_);
  return levels_[max_side] = shrunk(from, max_side, budget_);
}

// Returns the finest decoded copy that shows the part; null if its scale is too low.
const View* Image::fine_enough(const Part& part) const {
  const cv::Rect area = pixels_of(part.area, width(), height());
  const View* finest = &decoded_;
  for (const View& view : parts_) {
    if (view.scale() > finest->scale() && (area & area_of(view)) == area) finest = &view;
  }
  return finest->scale() < std::min(part.scale, 1.0f) ? nullptr : finest;
}

void Image::decode_parts(std::span<const Part> parts) {
  std::vector<cv::Rect> areas;
  float scale = 0;
  for (const Part& part : parts) {
    if (fine_enough(part) != nullptr) continue;
    areas.push_back(pixels_of(enlarged_by(part.area, kSlack), width(), height()));
    scale = std::max(scale, part.scale);
  }
  std::erase_if(areas, [](const cv::Rect& area) { return area.empty(); });
  if (areas.empty()) return;
  const auto longer = static_cast<float>(std::max(width(), height()));
  const int side = static_cast<int>(std::ceil(std::min(scale, 1.0f) * longer));
  if (++passes_ > kMaxPasses) return decode_whole(side);
  decode_in_time([&] {
    for (View& view : facematch::decode_parts(bytes_, decoded_, side, areas, budget_)) {
      parts_.push_back(std::move(view));
    }
  });
}

View Image::decode_part(const Part& part) {
  for (const auto& [side, view] : levels_) {
    if (view.scale() >= kAveraged * part.scale) return view;
  }
  decode_parts({&part, 1});
  const View* view = fine_enough(part);
  return view == nullptr ? View(decoded_) : *view;
}

float Image::dot_pitch() {
  const View small = shrink_whole(kDotCheckSide);
  return facematch::dot_pitch(small.bgr) / small.scale();
}

float Image::two_tone_pitch() {
  const View& view = whole();
  return facematch::two_tone_pitch(view.bgr) / view.scale();
}

Image Image::without_dots(float pitch) {
  const float longer = static_cast<float>(std::max(width(), height()));
  const float wanted = longer * kPixelsOfDot / pitch;
  const View view = shrink_whole(static_cast<int>(std::clamp<float>(wanted, kDotCheckSide, kBase)));
  DecodedImage merged = decoded_;
  merged.bgr = facematch::without_dots(view.bgr, pitch * view.scale());
  merged.to_image = view.to_image;
  return {std::move(merged), budget_};
}

View closeup(Image& image, const Box& box, float roll, int size) {
  const float side = 2 * box.longer_side();
  const Similarity crop = square_crop(box.centre(), side, roll, size);
  View out;
  out.to_image = crop.inverse();
  image.decode_part(part_of(crop, size)).crop(crop, size, out.bgr, Outside::kMean);
  return out;
}

}  // namespace facematch
