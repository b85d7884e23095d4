// The pages of large buffers: bodies, which JavaScript allocated, and pixels.
#pragma once

#include <cstddef>
#include <cstdint>

namespace facematch {

// From now on the system gives whole huge pages (2 MiB; MADV_HUGEPAGE of madvise(2)) for what
// is written there, where it has them: one page fault in place of 512.
void use_huge_pages(uint8_t* bytes, size_t length);

// Copies into shared memory and zeroes it. JavaScript's own `set` and `fill` write shared memory
// one atomic byte or word after the other, some ten times as slowly; nobody else uses these bytes
// yet, or any more.
void copy(uint8_t* to, const uint8_t* from, size_t length);
void wipe(uint8_t* bytes, size_t length);

// Overwrites the first `written` of `length` bytes with zeros. Whole pages among all of them take
// no memory until they are written again.
void discard(uint8_t* bytes, size_t length, size_t written);

}  // namespace facematch
