// Results, as tests compare them.
#pragma once

#include <vector>

#include "../core/types.h"

namespace facematch::testing {

// All numbers of an analysis but the times.
std::vector<float> numbers(const Analysis& analysis);

}  // namespace facematch::testing
