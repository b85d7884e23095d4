// What a detector is shown of a picture, and where that lies in the picture.
#pragma once

#include <optional>
#include <vector>

#include "budget.h"
#include "geometry.h"
#include "landmarks.h"
#include "types.h"

namespace facematch {

struct View {
  cv::Mat bgr;            // CV_8UC3
  Similarity to_picture;  // pixels of the view -> pixels of the picture

  // How much a face that is upright in the view leans in the picture, degrees clockwise.
  float roll() const { return to_picture.degrees(); }
};

// Whether to scale the picture takes longer than to look at it.
bool is_huge(const cv::Mat& bgr);

// The same view, its longer side at most `longest` pixels. Throws Error kImageTooComplex when it is
// cancelled; the time is not asked for.
View shrunk(const View& view, int longest, const Budget& budget = {});

// The view turned clockwise by quarters of a circle.
View rotated(const View& view, int quarters);

// The view amid a border of its mean colour, so that its sides take `share` of the new one's.
View padded(const View& view, float share);

// across x across tiles, together all of the view. Each overlaps its neighbours by half of what it
// has to itself, so that a face up to that size is whole in one of them.
std::vector<View> tiles(const View& view, int across);

// A square of size x size pixels that shows `side` pixels of the picture about `centre`, turned so
// that what leans by `lean` degrees (clockwise) in the picture is upright.
View cut(const View& view, Point centre, float side, float roll, int size);

// The upright box around what `box` holds after `transform`. Of a slanted face it is the box of the
// face turned upright about its centre, not the larger one around the slanted box: the sides go
// over into one another between 0 and 90 degrees.
Box moved(const Box& box, const Similarity& transform);

Points68 moved(const Points68& points, const Similarity& transform);

// One picture at the scales in which it is looked at. The only place where a look that is not the
// first asks for the picture's full pixels.
//
// The copies are made when they are first asked for, each from the next larger, so that a huge
// picture is gone through once. For one thread, and for as long as the picture lives.
class Scales {
 public:
  explicit Scales(const cv::Mat& bgr, const Budget& budget = {});

  // The whole picture for a detector that looks at it as a whole: longer side at most 480 pixels.
  const View& overview();

  // The whole picture for a detector that looks at parts of it: longer side at most 1600 pixels.
  const View& detail();

  // What a face is cut out of that leans by `lean` degrees (clockwise): a square of size x size
  // pixels that shows twice the longer side of `box`, the face upright in its middle.
  View closeup(const Box& box, float roll, int size);

 private:
  View full_;
  Budget budget_;
  std::optional<View> detail_, overview_;
};

}  // namespace facematch
