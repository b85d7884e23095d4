// The resolution that the stages need: a JPEG is decoded no finer than that.
#pragma once

#include <vector>

#include "../engine.h"
#include "../types.h"
#include "verifier.h"

namespace facematch {

// Longer side, pixels, that fills the detector's input and shows a large face in enough detail.
int side_for_detector(const Pack& pack);

// Longer side at which each of the faces found in `image` fills its chip: at least the present one,
// at most that of the full picture.
int side_for_faces(const Pack& pack, const Image& image, const std::vector<Detection>& faces);

// The same face in a copy of the picture that is `finer` times as large.
Detection scaled(Detection detection, float finer);
Candidate scaled(Candidate candidate, float finer);

}  // namespace facematch
