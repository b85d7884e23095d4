// Converts between Napi values and the core's plain structs.
#pragma once

#include "../core/error.h"
#include "../core/pipeline.h"
#include "../core/types.h"
#include "node_api.h"

namespace facematch::binding {

// Whether it is a Uint8Array.
bool is_bytes(const Napi::Value& value);
// `value` is a Uint8Array; returns a view of its bytes.
Bytes to_bytes(const Napi::Value& value);
AnalyseOptions to_analyse_options(const Napi::Object& object);

Napi::Value from_analysis(Napi::Env env, const Analysis& analysis);
Napi::Value from_error(Napi::Env env, const Error& error);

}  // namespace facematch::binding
