// The addon's calls about ONNX Runtime itself and about files of nets.
#pragma once

#include "node_api.h"

namespace facematch::binding {

void export_onnx_runtime(Napi::Env env, Napi::Object exports);

}  // namespace facematch::binding
