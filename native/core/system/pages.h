// The pages of memory of large buffers: request bodies, which JavaScript allocated, and pixels.
#pragma once

#include <cstddef>
#include <cstdint>

namespace facematch {

// From now on the system uses huge pages (2 MiB; MADV_HUGEPAGE of madvise(2)) for writes to this
// memory, if it has them: one page fault instead of 512.
void use_huge_pages(uint8_t* bytes, size_t length);

// Overwrites the first `written` of `length` bytes with zeros. Whole pages among all of them take
// no memory until they are written again.
void discard(uint8_t* bytes, size_t length, size_t written);

}  // namespace facematch
