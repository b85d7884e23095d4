#include "discard.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

namespace facematch {

void discard(uint8_t* bytes, size_t length) {
  if (length == 0) return;
  std::memset(bytes, 0, length);
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const auto address = reinterpret_cast<uintptr_t>(bytes);
  const uintptr_t first = (address + page - 1) / page * page;
  const uintptr_t end = (address + length) / page * page;
  // Private memory reads as zeros afterwards. Where madvise fails, the memset has zeroed it.
  if (end > first) madvise(bytes + (first - address), end - first, MADV_DONTNEED);
}

}  // namespace facematch
