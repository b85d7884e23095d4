// Pose of a face and quality of its image.
#pragma once

#include <array>
#include <cstddef>

#include "../find/landmarks.h"
#include "../types.h"

namespace facematch {

struct HeadPoint {
  size_t landmark;  // index in Points68
  float x, y, z;
};

// A mean adult head, from which the pose is estimated. It has only the nose and the corners of the
// eyes, which are fixed to bone and cartilage. A smile or an open mouth moves the lower points,
// which would change the pitch by up to five degrees. Coordinates are in millimetres from the tip
// of the nose: x to the person's left, y down, z away from the viewer. The outer corners of the
// eyes are 90 mm apart.
//
// Fitted by structure from motion (Tomasi and Kanade 1992) as the rigid shape that, under
// orthographic projection, best explains the points that the default pack's net predicts in 2,361
// photos of 1,714 people and in their mirror images. Zero pitch is how people hold their heads when
// they look straight into the camera for a studio photo.
constexpr std::array<HeadPoint, 13> kHead = {{
    {27, 0, -35.1f, 24.1f},       // root of the nose
    {28, 0, -23.5f, 16.5f},       // bridge
    {29, 0, -12.0f, 8.1f},        // bridge
    {30, 0, 0, 0},                // tip
    {31, -15.8f, 10.4f, 21.4f},   // right wing
    {32, -8.2f, 12.8f, 17.3f},    // right nostril
    {33, 0, 14.6f, 14.8f},        // below the nose
    {34, 8.2f, 12.8f, 17.3f},     // left nostril
    {35, 15.8f, 10.4f, 21.4f},    // left wing
    {36, -45, -31.4f, 48.7f},     // right eye, outer corner
    {39, -19.1f, -30.3f, 41.7f},  // right eye, inner corner
    {42, 19.1f, -30.3f, 41.7f},   // left eye, inner corner
    {45, 45, -31.4f, 48.7f},      // left eye, outer corner
}};

// Fits the mean head to the landmarks under weak perspective: the affine camera by least squares,
// then the nearest rotation. Rotating the image by an angle changes roll by that angle and nothing
// else. Collinear landmarks have no pose: all angles are 0.
Pose estimate_pose(const Points68& points);

// Returns the factor, at least 1, by which the image was stretched along one axis. Without
// stretching, the axes of the affine camera are perpendicular and equally long in every pose.
float stretch(const Points68& points);

// Corrects a yaw beyond 20 degrees to either side. The net was trained on few profiles and places
// the landmarks of turned faces as if the faces were turned less.
Pose correct_yaw(Pose pose);

// Measures `chip` (CV_8UC3) in the central three quarters of its side, where the face is.
//
// sharpness: 1 minus the blur metric of Crete, Dolmiere, Ladret and Nicolas (2007), that is, the
// share of the differences between neighbouring pixels that a second blur removes. The axis with
// the smaller share is used. Contrast and brightness cancel out in this share. It is measured at 42
// x 42 pixels, so image size and noise matter little. A sharp photo has 0.6 to 0.7; a Gaussian blur
// of one fiftieth of the chip's side leaves about 0.5. A uniform image has 0.
//
// brightness: mean luma / 255 (ITU-R BT.601). face_pixels is copied; dot_pitch is 0 and stretch 1.
Quality measure_quality(const cv::Mat& chip, float face_pixels);

}  // namespace facematch
