#include "pages.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

namespace facematch {
namespace {

// Calls madvise for the whole pages within the bytes. A failure affects only performance, so it is
// ignored.
void advise(uint8_t* bytes, size_t length, int advice) {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const auto address = reinterpret_cast<uintptr_t>(bytes);
  const uintptr_t first = (address + page - 1) / page * page;
  const uintptr_t end = (address + length) / page * page;
  if (end > first) madvise(bytes + (first - address), end - first, advice);
}

}  // namespace

void use_huge_pages(uint8_t* bytes, size_t length) { advise(bytes, length, MADV_HUGEPAGE); }

void discard(uint8_t* bytes, size_t length, size_t written) {
  if (length == 0) return;
  std::memset(bytes, 0, written);
  // After MADV_DONTNEED, private memory reads as zeros. If madvise fails, memset has already zeroed
  // the bytes.
  advise(bytes, length, MADV_DONTNEED);
}

}  // namespace facematch
