// A mean adult head, by which landmarks tell how a face is turned.
#pragma once

#include <array>
#include <cstddef>

namespace facematch {

struct HeadPoint {
  size_t landmark;  // in Points68
  float x, y, z;
};

// Nose and corners of the eyes alone: they sit on bone and cartilage, while a smile or an open
// mouth moves what lies below by as much as five degrees of pitch. Millimetres from the tip of the
// nose where the eye fissures are 90 across: x to the person's left, y down, z away from the
// viewer.
//
// The shape that, turned as a rigid body and seen from far away, explains best where the default
// pack's net puts these points in 2,361 photos of 1,714 people and in their mirror images
// (structure from motion: Tomasi and Kanade 1992). Level is how people hold their heads who look
// straight into the camera for a studio photo.
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

}  // namespace facematch
