// Files in which one small unit (a chunk, a segment, a scan) is repeated to a given size, which
// multiplies its cost for the decoder. The tests, the fuzzer and the benchmark use them.
#pragma once

#include <string>
#include <vector>

#include "support.h"

namespace facematch::testing {

struct Repeated {
  std::string name;  // begins with the name of the format
  ByteVector head;
  ByteVector unit;
  ByteVector tail;

  // Returns a file of about `bytes` bytes, which is valid unless the unit itself makes it invalid.
  // The unit occurs at least once.
  ByteVector file(size_t bytes) const;
};

std::vector<Repeated> repeated_units();

}  // namespace facematch::testing
