// Faces that come back from JavaScript to be drawn.
#pragma once

#include <vector>

#include "../core/types.h"
#include "node_api.h"

namespace facematch::binding {

// Of each face what is drawn of it: box, landmarks, detection_score and found_by. Throws Error
// kInternalError for a word in found_by that is none.
std::vector<Face> to_faces(const Napi::Array& array);

}  // namespace facematch::binding
