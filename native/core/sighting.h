// A face on its way from the detector to the face chip.
#pragma once

#include "detect.h"
#include "landmarks.h"

namespace facematch {

struct Sighting {
  Detection detection;
  Points68 points;        // pixels of the picture that was looked at, as the detection's box
  float wobble = 0;       // see steadiness.h
  bool levelled = false;  // found with the contrast raised; the chip needs that too
};

}  // namespace facematch
