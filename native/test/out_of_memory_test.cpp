// An image must never be reported as damaged if memory runs out.
#include <doctest/doctest.h>

#include <cerrno>
#include <cstdlib>
#include <new>
#include <utility>

#include "../core/image/decode.h"
#include "drawing.h"
#include "support.h"

namespace {

// Makes one allocation of a thread fail: the codecs' and OpenCV's, which call malloc() and similar
// functions.
thread_local long before_refusal = -1;  // allocations; negative: none fails

thread_local size_t least = 0;  // bytes; smaller ones are not counted

bool refused(size_t bytes) {
  if (bytes < least || before_refusal < 0 || before_refusal-- > 0) return false;
  errno = ENOMEM;
  return true;
}

}  // namespace

// The functions below replace those that the libraries call. They call a sanitizer's, or glibc's.
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
  return refused(bytes) ? nullptr : NEXT(malloc)(bytes);
}
__attribute__((visibility("default"))) void* calloc(size_t count, size_t bytes) {
  return refused(count * bytes) ? nullptr : NEXT(calloc)(count, bytes);
}
__attribute__((visibility("default"))) int posix_memalign(void** memory, size_t at, size_t bytes) {
  *memory = refused(bytes) ? nullptr : NEXT(memalign)(at, bytes);
  return *memory == nullptr ? ENOMEM : 0;
}
}

namespace facematch::testing {
namespace {

// Returns true if a decoding in which one allocation fails gives the same image, or reports that
// memory ran out. `failed` is set to whether that allocation was reached.
bool is_told(long allocation, const ByteVector& file, const DecodedImage& whole, bool& failed) {
  const auto disarm = [&] { failed = std::exchange(before_refusal, -1) < 0; };
  try {
    before_refusal = allocation;
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

TEST_CASE("never calls an image damaged, whichever allocation of a decoder fails") {
  for (const Specimen& specimen : specimens()) {
    CAPTURE(std::string(specimen.name));
    const DecodedImage whole = decode(specimen.file, kAnySize, 0);
    // libwebp 1.2 itself crashes without a colour cache of some hundred bytes.
    least = specimen.name[0] == 'w' ? 4096 : 1;
    int refusals = 0;
    bool failed = true;
    for (; failed; ++refusals) {
      CAPTURE(refusals);
      REQUIRE(is_told(refusals, specimen.file, whole, failed));
    }
    CHECK(refusals > 1);
  }
}

TEST_SUITE_END();

}  // namespace facematch::testing
