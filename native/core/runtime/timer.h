// Measures the time of a stage.
#pragma once

#include <chrono>

namespace facematch {

// Adds the time until the end of the scope to one stage. Leaves out the time that is added to
// `other` within the scope.
class Timer {
 public:
  explicit Timer(double& milliseconds) : milliseconds_(milliseconds) {}
  Timer(double& milliseconds, const double& other)
      : milliseconds_(milliseconds), other_(&other), other_before_(other) {}
  ~Timer() {
    const std::chrono::duration<double, std::milli> spent = Clock::now() - start_;
    milliseconds_ += spent.count();
    if (other_ != nullptr) milliseconds_ -= *other_ - other_before_;
  }
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

 private:
  using Clock = std::chrono::steady_clock;
  double& milliseconds_;
  const double* other_ = nullptr;
  double other_before_ = 0;
  Clock::time_point start_ = Clock::now();
};

}  // namespace facematch
