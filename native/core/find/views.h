// What the detector is shown of an image.
#pragma once

#include <vector>

#include "finder.h"

namespace facematch {

// Pixels of the frame for one of the image, where the whole image is shown in it.
float scale_in_frame(const Detector& detector, const Image& image);

// Above this longer side, pixels, a look at the whole image shows so little of its detail that
// more looks follow, whatever was found in it.
constexpr int kLarge = 1400;
bool is_large(const Image& image);

// The view rotated by `first` to three quarters.
std::vector<View> rotations(const View& view, int first);

// As it would be in an image with a border; by the close detector or, where there is none, more of
// them for the other one.
std::vector<View> padded_views(const View& view, bool close);

// The contrast is raised in two ways, each in all four rotations.
std::vector<View> enhanced_views(View view);

// Parts of the view that fill a frame each, and together show all of it. A face of up to a fifth of
// the frame's height is complete in one of them.
std::vector<View> frames_of(const View& view, cv::Size frame);

}  // namespace facematch
