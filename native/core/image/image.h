// One image: its bytes, its budget and its pixels at the requested scales.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <span>
#include <utility>

#include "../runtime/budget.h"
#include "decode.h"
#include "view.h"

namespace facematch {

// A crop: its area in pixels of the full, upright image, and its scale (pixels of the crop per
// pixel of the image).
struct Part {
  Box area;
  float scale = 1;
};

// Returns the part that a square crop of `size` pixels shows.
Part part_of(const Similarity& crop, int size);

// Returns the area from which landmarks and chips of a face are cropped at any roll: a square of
// twice the longer side of the box.
Box around_face(const Box& box);

// Hides the scale at which pixels were decoded: callers get a View, and all their coordinates are
// in pixels of the full, upright image. A JPEG is decoded no finer than the stages need, and a huge
// image is read once. Not thread-safe. The bytes must outlive the object.
//
// whole() always returns the same pixels. Other views are cropped or shrunk from the finest copy
// decoded so far. Which copy this is affects only the last bits of a view's pixels, not its place.
// Every view has at least the requested size.
class Image {
 public:
  // Decodes with a longer side of at least `min_side` pixels, if the file has that many. Throws the
  // same as decode().
  Image(std::span<const uint8_t> bytes, const ImageLimits& limits, int min_side,
        const Budget& budget = {});
  // Wraps pixels that are already decoded.
  explicit Image(cv::Mat bgr, const Budget& budget = {});

  int width() const { return decoded_.width; }  // of the full, upright image
  int height() const { return decoded_.height; }
  Format format() const { return decoded_.format; }
  int orientation() const { return decoded_.orientation; }  // EXIF, 1..8

  // Returns the whole image as the constructor decoded it. Shrinks a huge image if the
  // constructor's `min_side` allows it. Decodes nothing, and does not change when a finer copy is
  // decoded.
  View whole();

  // Returns the whole image with a longer side of `max_side` pixels, or in its full size if
  // smaller. Decodes if the existing copy is coarser, and caches the result.
  View shrink_whole(int max_side);

  // Returns pixels for a crop of that part: at least one per pixel of the crop, if the file has
  // that many. The view may show more, or the whole image. Decodes the part if the existing copy is
  // coarser.
  View decode_part(const Part& part);

  // Decodes what decode_part() will need for all these parts, in one pass through the file.
  void decode_parts(std::span<const Part> parts);

  // Returns the distance between the dots of a halftone print (see halftone.h) in pixels of the
  // full image, if a small copy shows them; otherwise 0.
  float dot_pitch();

  // Does the same for a print of two tones (see halftone.h). Decodes nothing.
  float two_tone_pitch();

  // Returns a reduced copy in which dots of this pitch are merged into tones.
  Image without_dots(float pitch);

  const Budget& budget() const { return budget_; }

  // Returns true if the budget was spent before a finer copy was complete. The coarser copy is then
  // used instead.
  bool timed_out() const { return timed_out_; }

  // Milliseconds spent on decoding.
  const double& decode_ms() const { return decode_ms_; }

 private:
  Image(DecodedImage decoded, const Budget& budget)
      : budget_(budget), decoded_(std::move(decoded)), first_(decoded_) {}
  void decode_whole(int min_side);
  static bool is_huge(const View& view);
  template <typename Decode>
  void decode_in_time(Decode decode);
  const View* fine_enough(const Part& part) const;

  std::span<const uint8_t> bytes_;  // empty if nothing finer can be decoded
  ImageLimits limits_;
  int min_side_ = 0;
  Budget budget_;
  DecodedImage decoded_;        // the finest whole copy
  View first_;                  // as the constructor decoded it
  std::map<int, View> levels_;  // by longer side
  std::deque<View> parts_;      // finer than decoded_
  int passes_ = 0;              // through the file, for parts
  bool timed_out_ = false;
  double decode_ms_ = 0;
};

// Returns a close-up of a face with that roll (degrees, clockwise): a square of size x size pixels
// that shows twice the longer side of `box`, with the face upright in the centre.
View closeup(Image& image, const Box& box, float roll, int size);

}  // namespace facematch
