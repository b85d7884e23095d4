// Which of the faces that were found are one and the same: their boxes or their landmarks decide.
#pragma once

#include <vector>

#include "finder.h"

namespace facematch {

// How far a face's landmarks are from the middle of its box, in sides of the box.
float off_centre(const FoundFace& face);

// Whether most of the smaller of two boxes lies in the other one.
bool overlap(const Box& a, const Box& b);

// Of detections of one face keeps the one for which `badness` is least, the first of equals, and
// gives it the highest score among them.
void keep_one_of_each(std::vector<FoundFace>& faces, float (*badness)(const FoundFace&));

// Appends those that are not known yet. Nothing that is known changes.
void append_new(std::vector<FoundFace>& faces, std::vector<FoundFace> more);

}  // namespace facematch
