// The budget must stop the decoder, however often a unit is repeated.
#include <doctest/doctest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <new>

#include "../core/image/decode.h"
#include "drawing.h"
#include "repeated.h"

namespace facematch::testing {
namespace {

// A file of which only the first bytes are readable. Reading other bytes crashes.
class Guarded {
 public:
  Guarded(const ByteVector& file, size_t readable) : size_(file.size()) {
    const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    mapped_ = (size_ + page - 1) / page * page;
    void* memory =
        mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    bytes_ = static_cast<uint8_t*>(memory);
    std::copy(file.begin(), file.end(), bytes_);
    const size_t first = (readable + page - 1) / page * page;
    REQUIRE(first < mapped_);
    REQUIRE(mprotect(bytes_ + first, mapped_ - first, PROT_NONE) == 0);
  }
  ~Guarded() { munmap(bytes_, mapped_); }
  Guarded(const Guarded&) = delete;
  Guarded& operator=(const Guarded&) = delete;

  std::span<const uint8_t> bytes() const { return {bytes_, size_}; }

 private:
  size_t size_;
  size_t mapped_;
  uint8_t* bytes_;
};

}  // namespace

TEST_SUITE_BEGIN("cost");

TEST_CASE("stops reading within 320 KiB after the budget is spent, whichever unit is repeated") {
  constexpr size_t kReadable = size_t{320} << 10, kFile = size_t{400} << 10;
  const Budget spent(0);
  size_t harmless = 0;
  for (const Repeated& unit : repeated_units()) {
    CAPTURE(unit.name);
    const auto error = error_of([&] { decode(unit.file(0), kAnySize, 0); });
    const Guarded file(unit.file(kFile), kReadable);
    const auto stopped = error_of([&] { decode(file.bytes(), kAnySize, 0, spent); });
    REQUIRE(stopped);
    const bool too_complex = stopped->code == ErrorCode::kImageTooComplex;
    // An invalid unit may be reported before the budget is checked.
    CHECK((too_complex || (error && stopped->code == error->code)));
    harmless += error ? 0 : 1;
  }
  CHECK(harmless > 50);
}

TEST_SUITE_END();

}  // namespace facematch::testing
