// Measures the time of a stage.
#pragma once

#include <chrono>

namespace facematch {

// Adds the time until the end of the scope to one stage.
class Timer {
 public:
  explicit Timer(double& milliseconds) : milliseconds_(milliseconds) {}
  ~Timer() {
    const std::chrono::duration<double, std::milli> spent = Clock::now() - start_;
    milliseconds_ += spent.count();
  }
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

 private:
  using Clock = std::chrono::steady_clock;
  double& milliseconds_;
  Clock::time_point start_ = Clock::now();
};

}  // namespace facematch
