// Views of a picture for the detector: parts of it, resized, rotated or padded, with the transform
// back to the picture.
#pragma once

#include <optional>
#include <vector>

#include "../find/landmarks.h"
#include "../runtime/budget.h"
#include "../types.h"
#include "geometry.h"

namespace facematch {

struct View {
  cv::Mat bgr;            // CV_8UC3
  Similarity to_picture;  // pixels of the view -> pixels of the picture

  // Roll in the picture of a face that is upright in the view, degrees clockwise.
  float roll() const { return to_picture.degrees(); }
};

// Whether scaling the picture takes longer than detecting faces in it.
bool is_huge(const cv::Mat& bgr);

// The same view with a longer side of at most `longest` pixels. Throws Error kImageTooComplex when
// the call is cancelled; ignores the budget's time.
View shrunk(const View& view, int longest, const Budget& budget = {});

// The view rotated clockwise by multiples of 90 degrees.
View rotated(const View& view, int quarters);

// The view inside a border of its mean colour; each side of the view is `share` of the padded one.
View padded(const View& view, float share);

// across x across tiles that cover the view. Neighbours overlap by half of the tile step, so that a
// face up to that size is complete in one of them.
std::vector<View> tiles(const View& view, int across);

// A square of size x size pixels that shows `side` pixels of the picture around `centre`, rotated
// so that a face with a roll of `roll` degrees (clockwise) is upright.
View cut(const View& view, Point centre, float side, float roll, int size);

// The box of the face after `transform`: the box that the face would have upright, around its new
// centre, not the larger one around the rotated box. Between 0 and 90 degrees width and height
// change gradually into one another.
Box moved(const Box& box, const Similarity& transform);

Points68 moved(const Points68& points, const Similarity& transform);

// Copies of one picture at the scales that the detector needs. Every pass after the first gets its
// pixels here.
//
// Copies are made on first use, each from the next larger one, so that a huge picture is read once.
// For one thread; the picture must outlive it.
class Scales {
 public:
  explicit Scales(const cv::Mat& bgr, const Budget& budget = {});

  // For detection in the whole picture: longer side at most 480 pixels.
  const View& overview();

  // For detection in parts of the picture: longer side at most 1600 pixels.
  const View& detail();

  // A close-up of a face with that roll (degrees, clockwise): a square of size x size pixels that
  // shows twice the longer side of `box`, with the face upright in the middle.
  View closeup(const Box& box, float roll, int size);

 private:
  View full_;
  Budget budget_;
  std::optional<View> detail_, overview_;
};

}  // namespace facematch
