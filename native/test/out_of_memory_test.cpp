// An image must never be reported as damaged if memory runs out.
#include <doctest/doctest.h>

#include <cerrno>
#include <cstdlib>
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

// A sanitizer's own functions, under which the program's replace what the libraries call.
extern "C" {
void* __interceptor_malloc(size_t) __attribute__((weak));
void* __interceptor_calloc(size_t, size_t) __attribute__((weak));
int __interceptor_posix_memalign(void**, size_t, size_t) __attribute__((weak));

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
__attribute__((visibility("default"))) void* malloc(size_t bytes) {
  return refused(bytes) ? nullptr : __interceptor_malloc(bytes);
}
__attribute__((visibility("default"))) void* calloc(size_t count, size_t bytes) {
  return refused(count * bytes) ? nullptr : __interceptor_calloc(count, bytes);
}
__attribute__((visibility("default"))) int posix_memalign(void** memory, size_t at, size_t bytes) {
  return refused(bytes) ? ENOMEM : __interceptor_posix_memalign(memory, at, bytes);
}
#endif
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
