// Tests that an image is never reported as damaged if memory runs out.
#include <doctest/doctest.h>

#include <cerrno>
#include <cstdlib>
#include <new>
#include <utility>

#include "../core/image/decode.h"
#include "drawing.h"
#include "support.h"

namespace {

// Makes one allocation of a thread fail. The codecs and OpenCV allocate with malloc() and similar
// functions.
thread_local long allocations_left = -1;  // before the one that fails; negative: none fails

thread_local size_t min_bytes = 0;  // smaller allocations are not counted

bool must_fail(size_t bytes) {
  if (bytes < min_bytes || allocations_left < 0 || allocations_left-- > 0) return false;
  errno = ENOMEM;
  return true;
}

}  // namespace

// The functions below replace those that the libraries call, and call those of a sanitizer or of
// glibc.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define NEXT(name) __interceptor_##name
#else
#define NEXT(name) __libc_##name
#endif

extern "C" {
void* NEXT(malloc)(size_t);
void* NEXT(calloc)(size_t, size_t);
void* NEXT(memalign)(size_t, size_t);

__attribute__((visibility("default"))) void* malloc(size_t bytes) {
  return must_fail(bytes) ? nullptr : NEXT(malloc)(bytes);
}
__attribute__((visibility("default"))) void* calloc(size_t count, size_t bytes) {
  return must_fail(count * bytes) ? nullptr : NEXT(calloc)(count, bytes);
}
__attribute__((visibility("default"))) int posix_memalign(void** memory, size_t at, size_t bytes) {
  *memory = must_fail(bytes) ? nullptr : NEXT(memalign)(at, bytes);
  return *memory == nullptr ? ENOMEM : 0;
}
}

namespace facematch::testing {
namespace {

// Makes one allocation fail. Returns true if decode() returns the same image or reports that memory
// ran out. Sets `failed` to whether that allocation was reached.
bool tolerates_failure(long allocation, const ByteVector& file, const DecodedImage& whole,
                       bool& failed) {
  const auto disarm = [&] { failed = std::exchange(allocations_left, -1) < 0; };
  try {
    allocations_left = allocation;
    const DecodedImage image = decode(file, kAnySize, 0);
    disarm();
    return image.orientation == whole.orientation && largest_difference(image.bgr, whole.bgr) == 0;
  } catch (const Error& error) {
    disarm();
    return error.code == ErrorCode::kInternalError;
  } catch (const cv::Exception& error) {
    disarm();
    return error.code == cv::Error::StsNoMem;
  } catch (const std::bad_alloc&) {  // the binding reports it like kInternalError
    disarm();
    return true;
  }
}

}  // namespace

TEST_SUITE_BEGIN("out_of_memory");

TEST_CASE("never reports an image as damaged, whichever allocation of a decoder fails") {
  for (const Specimen& specimen : specimens()) {
    CAPTURE(std::string(specimen.name));
    const DecodedImage whole = decode(specimen.file, kAnySize, 0);
    // libwebp 1.2 itself crashes if it cannot allocate a colour cache of a few hundred bytes.
    min_bytes = specimen.name[0] == 'w' ? 4096 : 1;
    int allocation = 0;
    bool failed = true;
    for (; failed; ++allocation) {
      CAPTURE(allocation);
      REQUIRE(tolerates_failure(allocation, specimen.file, whole, failed));
    }
    CHECK(allocation > 1);
  }
}

TEST_SUITE_END();

}  // namespace facematch::testing
