// Small valid pictures, one for each way in which a decoder reads a file: what the tests of damaged
// pictures and the fuzzer change.
#pragma once

#include "support.h"

namespace facematch::testing {

struct Specimen {
  const char* name;
  ByteVector file;
};

std::vector<Specimen> specimens();

}  // namespace facematch::testing
