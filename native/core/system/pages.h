// Controls the memory pages of large buffers: request bodies, which JavaScript allocated, and
// pixels.
#pragma once

#include <cstddef>
#include <cstdint>

namespace facematch {

// Makes the system use huge pages (2 MiB; MADV_HUGEPAGE of madvise(2)) for later writes to this
// memory, if it supports them: one page fault instead of 512.
void use_huge_pages(uint8_t* bytes, size_t length);

// Overwrites the first `written` of `length` bytes with zeros. Returns whole pages among all these
// bytes to the system until they are written again.
void discard(uint8_t* bytes, size_t length, size_t written);

}  // namespace facematch
