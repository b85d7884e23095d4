// A mean adult head, by which landmarks tell how a face is turned.
#pragma once

#include <array>
#include <cstddef>

namespace facematch {

struct HeadPoint {
  size_t landmark;  // in Points68
  float x, y, z;
};

// Millimetres from the tip of the nose: x to the person's left, y down, z away from the viewer.
// Rounded anthropometric means (eye fissures 32 apart and 90 across, mouth 50 wide, ...).
constexpr std::array<HeadPoint, 14> kHead = {{
    {27, 0, -40, 16},    // nose bridge
    {30, 0, 0, 0},       // tip of the nose
    {33, 0, 12, 12},     // below the nose
    {31, -14, 8, 16},    // right wing of the nose
    {35, 14, 8, 16},     // left wing
    {36, -45, -36, 34},  // right eye, outer corner
    {39, -16, -35, 27},  // right eye, inner corner
    {42, 16, -35, 27},   // left eye, inner corner
    {45, 45, -36, 34},   // left eye, outer corner
    {48, -25, 30, 23},   // right corner of the mouth
    {54, 25, 30, 23},    // left corner
    {51, 0, 24, 10},     // upper lip
    {57, 0, 38, 12},     // lower lip
    {8, 0, 74, 18},      // chin
}};

}  // namespace facematch
