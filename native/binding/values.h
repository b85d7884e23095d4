// Converts between Napi values and the core's plain structs. The binding includes Node-API's
// wrapper only here, so that all its files see the same inline functions.
#pragma once

// After a worker is terminated during a call, its environment can neither create values nor throw.
// Without this setting the wrapper's own exception would end the process.
#define NODE_API_SWALLOW_UNTHROWABLE_EXCEPTIONS

#include <napi.h>

#include <exception>

#include "../core/error.h"
#include "../core/pipeline.h"
#include "../core/runtime/pack.h"
#include "../core/types.h"

namespace facematch::binding {

// Converts C++ exceptions of `act` to JS exceptions.
template <typename Act>
auto throwing(Napi::Env env, Act act) {
  try {
    return act();
  } catch (const Napi::Error&) {
    throw;
  } catch (const std::exception& error) {
    throw Napi::Error::New(env, error.what());
  }
}

// to_pack() and to_analyse_options() throw if a required member is missing or has another type.
Pack to_pack(const std::string& directory, const Napi::Value& manifest);
AnalyseOptions to_analyse_options(const Napi::Object& object);

// Returns [{member, stride, rows, columns}], the outputs of a detector; see OutputShape.
Napi::Value detector_outputs(const Napi::Value& detector);

// Reads {faces, candidates} of an earlier analysis of the image.
EarlierAnalysis to_earlier_analysis(const Napi::Object& object);

Napi::Value from_analysis(Napi::Env env, const Analysis& analysis);
Napi::Value from_error(Napi::Env env, const Error& error);

}  // namespace facematch::binding
