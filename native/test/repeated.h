// Files in which one small unit (a chunk, a segment, a scan) is repeated as often as the limits
// allow: the cost of a unit for the decoder is multiplied by millions. The tests, the fuzzer and
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

  // Returns a valid file, unless the unit itself makes it invalid. The unit occurs at least once.
  ByteVector file(size_t bytes) const;
};

std::vector<Repeated> repeated_units();

}  // namespace facematch::testing
