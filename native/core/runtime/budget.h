// Limits the CPU time of one image, so that no image occupies a worker for long.
#pragma once

#include <time.h>

#include <atomic>
#include <cstdint>
#include <limits>

#include "../error.h"

namespace facematch {

// Counts the CPU time of the thread that created it; only that thread may use it. Each check is a
// system call that takes less than a microsecond.
class Budget {
 public:
  Budget() = default;  // no limit
  explicit Budget(double milliseconds, const std::atomic<uint8_t>* cancelled = nullptr)
      : start_(now()), end_(start_ + milliseconds), cancelled_(cancelled) {}

  // Returns the CPU time in milliseconds since construction; without a limit, of the whole thread.
  double used_ms() const { return now() - start_; }

  // Returns true if the time limit is reached or the call was cancelled.
  bool spent() const {
    return cancelled() || (end_ < std::numeric_limits<double>::infinity() && now() >= end_);
  }

  bool cancelled() const {
    return cancelled_ != nullptr && cancelled_->load(std::memory_order_relaxed) != 0;
  }

  // Throws Cancelled if the call was cancelled.
  void check_cancelled() const {
    if (cancelled()) throw Cancelled();
  }

  // Throws Cancelled or Error kImageTooComplex; to be called once the budget is spent.
  [[noreturn]] void stop() const {
    check_cancelled();
    throw Error(ErrorCode::kImageTooComplex);
  }

 private:
  static double now() {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) / 1e6;
  }

  double start_ = 0;
  double end_ = std::numeric_limits<double>::infinity();
  const std::atomic<uint8_t>* cancelled_ = nullptr;
};

}  // namespace facematch
