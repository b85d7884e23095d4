// Node-API's C++ wrapper; the binding includes it through here only, so that both files see the
// same inline functions.
#pragma once

// A worker that is terminated in the middle of a call comes back to an environment in which no
// value can be made and nothing can be thrown. Without this the wrapper's own Error escapes and
// ends the whole process.
#define NODE_API_SWALLOW_UNTHROWABLE_EXCEPTIONS

#include <napi.h>
