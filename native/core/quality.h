// How a face is turned and how good its picture is.
#pragma once

#include "landmarks.h"
#include "types.h"

namespace facematch {

// Fits a mean head to the landmarks under weak perspective: the affine camera by least squares,
// then the rotation nearest to it. Turning the picture by an angle changes roll by that angle and
// nothing else. Landmarks that lie on one line have no pose: all angles are 0.
Pose estimate_pose(const Points68& points);

// `chip` is CV_8UC3; what is measured is its middle, three quarters of its side, where the face is.
//
// sharpness: 1 - the blur effect of Crete, Dolmiere, Ladret and Nicolas (2007): by how much the
// differences between neighbouring pixels shrink when the picture is blurred anew, along the axis
// along which they shrink less. A ratio, so contrast and brightness cancel out; taken at 42 pixels
// across the middle, so the size of the picture and its noise matter little. 0.6 to 0.7 is a sharp
// photo; a Gaussian blur of one fiftieth of the chip's side leaves about 0.5. An even picture has
// 0.
//
// brightness: mean luma / 255 (ITU-R BT.601). face_pixels is passed on.
Quality measure_quality(const cv::Mat& chip, float face_pixels);

}  // namespace facematch
