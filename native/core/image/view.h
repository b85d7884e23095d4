// Pixels and their place in an image: the whole image or a part of it, possibly scaled, rotated or
// with a border.
#pragma once

#include <vector>

#include "../runtime/budget.h"
#include "../types.h"
#include "geometry.h"

namespace facematch {

struct View {
  cv::Mat bgr;          // CV_8UC3
  Similarity to_image;  // pixels of the view -> pixels of the image

  View() = default;
  // The view covers the full image by default.
  View(cv::Mat pixels, const Similarity& transform = {})
      : bgr(std::move(pixels)), to_image(transform) {}

  int longer_side() const { return std::max(bgr.cols, bgr.rows); }

  // Pixels of the view per pixel of the image.
  float scale() const { return 1 / to_image.scale(); }

  // Returns the roll in the image of a face that is upright in the view, in degrees clockwise.
  float roll() const { return to_image.degrees(); }

  // Writes a crop of size x size pixels to `out`. `transform` maps the image to the crop.
  void crop(const Similarity& transform, int size, cv::Mat& out,
            Outside outside = Outside::kBlack) const {
    warp(bgr, to_image.then(transform), size, out, outside);
  }
};

// Returns the same view with a longer side of at most `max_side` pixels. Throws Cancelled; ignores
// the budget's time.
View shrunk(const View& view, int max_side, const Budget& budget = {});

// Returns the view with its sides divided by `times`. OpenCV shrinks by whole numbers about five
// times as fast as by others. Drops columns and rows at the end that do not fill a pixel.
View shrunk_by(const View& view, int times, const Budget& budget = {});

// Returns the view rotated clockwise by multiples of 90 degrees.
View rotated(const View& view, int quarters);

// Returns the view rotated by each number of quarter turns from `first` to 3.
std::vector<View> rotations(const View& view, int first);

// Returns the view inside a border of its mean colour. Each side of the view is `share` of the
// padded side. Shrinks the view so that the longer padded side has at most `max_side` pixels.
View padded(const View& view, float share, int max_side);

// Returns `across` x `across` tiles that cover the view. Neighbours overlap by a third of a tile,
// so that a face of up to this size is complete in one of them.
std::vector<View> tiles(const View& view, int across);

}  // namespace facematch
