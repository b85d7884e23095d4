// Which of the faces that were found are one and the same: their boxes or their landmarks decide.
#pragma once

#include <vector>

#include "finder.h"

namespace facematch {

// How far a face's landmarks are from the middle of its box, in sides of the box.
float off_centre(const FoundFace& face);

// Whether two faces have their landmarks in one place: two people's are further apart.
bool landmarks_coincide(const FoundFace& a, const FoundFace& b);

// Whether most of the smaller of two boxes lies in the other one.
bool overlap(const Box& a, const Box& b);

// Of detections of one face keeps the one for which `badness` is least, the first of equals, and
// gives it the highest score among them.
void keep_one_of_each(std::vector<FoundFace>& faces, float (*badness)(const FoundFace&));

// Takes back a second look that found the neighbour's landmarks, cheek to cheek: two faces would
// count as one.
void undo_looks_at_neighbours(std::vector<FoundFace>& faces);

// Appends those that are not known yet. Nothing that is known changes.
void append_new(std::vector<FoundFace>& faces, std::vector<FoundFace> more);

// Those of `faces` that are not among `known`.
std::vector<FoundFace> without_known(std::vector<FoundFace> faces,
                                     const std::vector<FoundFace>& known);

}  // namespace facematch
