// The manifest, as TypeScript hands it over -> the core's structs.
#pragma once

#include "../core/runtime/pack.h"
#include "node_api.h"

namespace facematch::binding {

// Both throw a Napi::Error where a member that the core needs is missing or of another type.
Pack to_pack(const std::string& directory, const Napi::Value& manifest);
// [{member, stride, rows, columns}] of a detector of that family and size; see OutputShape.
Napi::Value detector_outputs(const Napi::Value& detector);

}  // namespace facematch::binding
