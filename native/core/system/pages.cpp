#include "pages.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

namespace facematch {
namespace {

// Advises the system about the whole pages among the bytes. A failure changes only their cost.
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
  // Private memory reads as zeros afterwards. If madvise fails, the memset has zeroed it.
  advise(bytes, length, MADV_DONTNEED);
}

}  // namespace facematch
