// Decides which detections are the same face, by their boxes or their landmarks.
#pragma once

#include <vector>

#include "finder.h"

namespace facematch {

// Returns the distance of a face's landmarks from the centre of its box, in sides of the box.
float off_centre(const FoundFace& face);

// Returns true if two faces have their landmarks in one place: two people's are further apart.
bool landmarks_coincide(const FoundFace& a, const FoundFace& b);

// Returns true if most of the smaller of two boxes is inside the other one.
bool overlap(const Box& a, const Box& b);

// Of several detections of one face keeps the one with the lowest `badness`, the first of equals,
// and gives it the highest score among them.
void keep_one_of_each(std::vector<FoundFace>& faces, float (*badness)(const FoundFace&));

// Reverts a second look that found the neighbour's landmarks, cheek to cheek, because two faces
// would count as one.
void undo_looks_at_neighbours(std::vector<FoundFace>& faces);

// Appends faces that are not known yet. Known faces do not change.
void append_new(std::vector<FoundFace>& faces, std::vector<FoundFace> more);

// Returns those of `faces` that are not among `known`.
std::vector<FoundFace> without_known(std::vector<FoundFace> faces,
                                     const std::vector<FoundFace>& known);

}  // namespace facematch
