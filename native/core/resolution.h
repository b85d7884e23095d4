// How many of a picture's pixels the stages need: a JPEG is decoded no finer than that.
#pragma once

#include <vector>

#include "engine.h"
#include "types.h"
#include "verifier.h"

namespace facematch {

// Length of the longer side, pixels, that shows the detector all that it can see at once, and a
// large face in enough detail.
int side_for_detector(const Pack& pack);

// Length of the longer side at which every one of the faces, found in `image`, fills its chip; as
// long as the picture's at most, and never less than now.
int side_for_faces(const Pack& pack, const Image& image, const std::vector<Detection>& faces);

// The same in a copy of the picture that is `finer` times as large.
Detection scaled(Detection detection, float finer);
Candidate scaled(Candidate candidate, float finer);

}  // namespace facematch
