// Memory that goes back to the system while somebody still holds it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace facematch {

// Overwrites `length` bytes with zeros; whole pages of them take no memory afterwards until they
// are written again.
void discard(uint8_t* bytes, size_t length);

}  // namespace facematch
