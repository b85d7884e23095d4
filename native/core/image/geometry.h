// Similarity transforms and the crops made with them.
#pragma once

#include <span>

#include "../types.h"

namespace facematch {

// Rotation, uniform scale and translation of points: (x, y) -> (a x - b y + tx, b x + a y + ty).
struct Similarity {
  float a = 1;
  float b = 0;
  float tx = 0;
  float ty = 0;

  Point apply(Point p) const { return {a * p.x - b * p.y + tx, b * p.x + a * p.y + ty}; }
  Similarity inverse() const;
  Similarity then(const Similarity& next) const;  // applies this transform, then `next`
  float scale() const;                            // factor for lengths
  float degrees() const;                          // clockwise in the image
};

// Returns the transform that enlarges every pixel to a square of `factor` x `factor` pixels.
Similarity enlarged(float factor);

// Returns the box of the face after `transform`: an upright box around its new centre, not the
// larger one around the rotated box. Between 0 and 90 degrees, width and height are exchanged
// gradually.
Box moved(const Box& box, const Similarity& transform);

// Returns the least-squares similarity from `from` to `to` (Umeyama 1991, without reflection).
Similarity fit_similarity(std::span<const Point> from, std::span<const Point> to);

// Returns the root mean square distance of the points from their counterparts.
float rms_distance(std::span<const Point> points, std::span<const Point> others);

// Returns the transform from a square of `side` source pixels around `centre`, rotated
// clockwise by `degrees`, to an upright square of `size` pixels.
Similarity square_crop(Point centre, float side, float degrees, int size);

struct Corners {
  Point left_top, right_bottom;
};

// Returns the upright rectangle around the area that a crop of `size` pixels shows.
Corners shown_by(const Similarity& crop, int size);

// Colour of a crop outside the image. The mean colour of the crop leaves its contrast unchanged.
enum class Outside { kBlack, kMean };

// Warps `source` by `transform` into a size x size image. If `transform` shrinks by a factor of 2
// or more, the source is averaged first, because bilinear sampling alone would alias. The image is
// black if the crop is outside the source or `transform` is not finite.
void warp(const cv::Mat& source, const Similarity& transform, int size, cv::Mat& out,
          Outside outside = Outside::kBlack);

}  // namespace facematch
