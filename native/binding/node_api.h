// Node-API's C++ wrapper. The binding includes it only through this file, so that all its files see
// the same inline functions.
#pragma once

// After a worker is terminated during a call, its environment can neither create values nor throw.
// Without this setting the wrapper's own exception would end the process.
#define NODE_API_SWALLOW_UNTHROWABLE_EXCEPTIONS

#include <napi.h>

#include <exception>

namespace facematch::binding {

// Calls that report failures as JS exceptions go through it.
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

}  // namespace facematch::binding
