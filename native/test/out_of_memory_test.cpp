// Where memory runs out, an image is never told to be damaged.
#include <doctest/doctest.h>

#include <cerrno>
#include <cstdlib>

#include "../core/image/decode.h"
#include "drawing.h"
#include "support.h"

namespace {

// Refuses one allocation of a thread: the codecs' and OpenCV's, which call malloc() and its like.
thread_local long before_refusal = -1;  // allocations; negative: none is refused

thread_local size_t least = 0;  // bytes; smaller ones are not counted

bool refused(size_t bytes) {
  if (bytes < least || before_refusal < 0 || before_refusal-- > 0) return false;
  errno = ENOMEM;
  return true;
}

}  // namespace

// A sanitizer's own, under which the program's replace what the libraries call.
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

// What a decoding gives in which the allocation behind so many fails.
enum class Outcome { kSame, kNoMemory, kOther };

Outcome decode_without(long allocation, const ByteVector& file, const DecodedImage& whole,
                       bool& failed) {
  const auto armed = [&](auto act) {
    before_refusal = allocation;
    try {
      act();
      failed = before_refusal < 0;
      before_refusal = -1;
    } catch (...) {
      failed = true;
      before_refusal = -1;
      throw;
    }
  };
  try {
    DecodedImage image;
    armed([&] { image = decode(file, kAnySize, 0); });
    const bool same =
        image.orientation == whole.orientation && largest_difference(image.bgr, whole.bgr) == 0;
    return same ? Outcome::kSame : Outcome::kOther;
  } catch (const Error& error) {
    return error.code == ErrorCode::kInternalError ? Outcome::kNoMemory : Outcome::kOther;
  } catch (const cv::Exception& error) {
    return error.code == cv::Error::StsNoMem ? Outcome::kNoMemory : Outcome::kOther;
  }
}

}  // namespace

TEST_SUITE_BEGIN("out_of_memory");

TEST_CASE("whichever allocation of a decoder fails, the image is not called damaged") {
  for (const Specimen& specimen : specimens()) {
    CAPTURE(std::string(specimen.name));
    const DecodedImage whole = decode(specimen.file, kAnySize, 0);
    // libwebp 1.2 itself crashes without a colour cache, of some hundred bytes.
    least = specimen.name[0] == 'w' ? 4096 : 1;
    int refusals = 0;
    bool failed = true;
    for (; failed; ++refusals) {
      CAPTURE(refusals);
      REQUIRE(decode_without(refusals, specimen.file, whole, failed) != Outcome::kOther);
    }
    CHECK(refusals > 1);
  }
}

TEST_SUITE_END();

}  // namespace facematch::testing
