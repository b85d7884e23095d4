// Compiled only into the addon of the npm packages. That addon contains the compiler's C++ library
// and is linked against an older glibc. Defines the symbols that this C++ library needs from a
// newer glibc.
#include <cstdlib>

#define FACEMATCH_HIDDEN __attribute__((visibility("hidden")))

// NOLINTBEGIN(bugprone-reserved-identifier)
extern "C" {
/** glibc 2.32: true while the process has one thread, so that atomic instructions can be skipped.
 * Node always has several threads. */
FACEMATCH_HIDDEN char __libc_single_threaded = 0;

/** glibc 2.38: strtoul() that also parses C23's binary literals. GCC 14 calls it to read the size
 * of its emergency exception pool, which needs no binary literals. */
FACEMATCH_HIDDEN unsigned long __isoc23_strtoul(const char* text, char** end, int base) {
  return std::strtoul(text, end, base);
}
}
// NOLINTEND(bugprone-reserved-identifier)
