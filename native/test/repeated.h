// Files in which one small unit (a chunk, a segment, a scan) is repeated as often as the limits
// allow: what a decoder pays for each unit, it pays millions of times. The tests, the fuzzer and
// the bench use them.
#pragma once

#include <string>
#include <vector>

#include "support.h"

namespace facematch::testing {

struct Repeated {
  std::string name;  // begins with that of the format
  ByteVector head;
  ByteVector unit;
  ByteVector tail;

  // A valid file, unless the unit itself makes it invalid. The unit is there at least once.
  ByteVector file(size_t bytes) const;
};

std::vector<Repeated> repeated_units();

}  // namespace facematch::testing
