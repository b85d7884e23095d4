// Only in the addon of the npm packages, which has the compiler's C++ library in it and is linked
// against an older C library. What that C++ library needs of a newer one is here.
#include <cstdlib>

#define FACEMATCH_HIDDEN __attribute__((visibility("hidden")))

// NOLINTBEGIN(bugprone-reserved-identifier)
extern "C" {
/** glibc 2.32: true while the process has one thread, which spares atomic instructions. Node has
 * several. */
FACEMATCH_HIDDEN char __libc_single_threaded = 0;

/** glibc 2.38: strtoul() that knows C23's binary numbers. GCC 14 calls it for a setting of its
 * emergency memory, which has none. */
FACEMATCH_HIDDEN unsigned long __isoc23_strtoul(const char* text, char** end, int base) {
  return std::strtoul(text, end, base);
}
}
// NOLINTEND(bugprone-reserved-identifier)
