// Returns memory to the system while it is still allocated.
#pragma once

#include <cstddef>
#include <cstdint>

namespace facematch {

// Overwrites `length` bytes with zeros. Whole pages among them take no memory until they are
// written again.
void discard(uint8_t* bytes, size_t length);

}  // namespace facematch
