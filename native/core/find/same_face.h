// Decides which detections are the same face, by their boxes or their landmarks.
#pragma once

#include <vector>

#include "finder.h"

namespace facematch {

// Returns the distance from the mean of a face's landmarks to the centre of its box, in sides of
// the box.
float off_centre(const FoundFace& face);

// Returns true if two faces have their landmarks in the same place. Landmarks of two people are
// further apart.
bool landmarks_coincide(const FoundFace& a, const FoundFace& b);

// Returns true if more than half of the smaller box is inside the other box.
bool overlap(const Box& a, const Box& b);

// Keeps one of several detections of the same face: the one with the lowest `badness`, or the first
// of equals. Its score becomes the maximum of their scores.
void keep_one_of_each(std::vector<FoundFace>& faces, float (*badness)(const FoundFace&));

// Restores the first landmarks of a face if the second prediction returned those of a
// cheek-to-cheek neighbour. Otherwise the two faces would count as one.
void restore_first_landmarks(std::vector<FoundFace>& faces);

// Appends faces that are not known yet. Known faces do not change.
void append_new(std::vector<FoundFace>& faces, std::vector<FoundFace> more);

// Returns the `faces` that are not among `known`.
std::vector<FoundFace> without_known(std::vector<FoundFace> faces,
                                     const std::vector<FoundFace>& known);

}  // namespace facematch
