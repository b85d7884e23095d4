// Results, as tests compare them.
#pragma once

#include <vector>

#include "../core/types.h"

namespace facematch::testing {

// All numbers of a result but the times.
std::vector<float> numbers(const MatchResult& result);

}  // namespace facematch::testing
