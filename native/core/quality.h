// How a face is turned and how good its picture is.
#pragma once

#include "landmarks.h"
#include "types.h"

namespace facematch {

// Weak-perspective fit (POS: DeMenthon and Davis 1995) of a mean adult head to fourteen of the
// landmarks.
Pose estimate_pose(const Points68& points);

// `chip` is CV_8UC3. sharpness = v / (v + 250), v the variance of the chip's Laplacian in grey
// levels squared; brightness = mean grey / 255; both over the chip's middle, where the face is.
Quality measure_quality(const cv::Mat& chip, float face_pixels);

}  // namespace facematch
