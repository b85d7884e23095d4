// Napi values <-> the core's plain structs, and nothing else.
#pragma once

#include "../core/embedding_cache.h"
#include "../core/error.h"
#include "../core/pipeline.h"
#include "../core/types.h"
#include "node_api.h"

namespace facematch::binding {

// Whether it is a Uint8Array.
bool is_bytes(const Napi::Value& value);
// `value` is a Uint8Array; the bytes are viewed, not copied.
Bytes to_bytes(const Napi::Value& value);
// The part of `body` that a {start, end} object names.
Bytes to_range(Bytes body, const Napi::Value& range);
ImageLimits to_limits(const Napi::Object& object);
DetectOptions to_detect_options(const Napi::Object& object);
MatchOptions to_match_options(const Napi::Object& object);

Napi::Value from_match(Napi::Env env, const MatchResult& result);
Napi::Value from_detect(Napi::Env env, const DetectResult& result, bool with_embeddings);
Napi::Value from_png(Napi::Env env, const std::vector<uint8_t>& png);
Napi::Value from_counts(Napi::Env env, const EmbeddingCache::Counts& counts);
Napi::Value from_error(Napi::Env env, const Error& error);

}  // namespace facematch::binding
