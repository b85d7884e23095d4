// Converts faces from JavaScript, for drawing.
#pragma once

#include <vector>

#include "../core/types.h"
#include "node_api.h"

namespace facematch::binding {

// Reads what is drawn of each face: box, landmarks, detection_score and found_by. Throws Error
// kInternalError for an unknown found_by.
std::vector<Face> to_faces(const Napi::Array& array);

}  // namespace facematch::binding
