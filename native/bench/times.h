// Times of named pieces of work, as CPU times of the calling thread.
#pragma once

#include <algorithm>
#include <ctime>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace facematch::bench {

// CPU time, so that other programs on the machine do not count.
inline double thread_milliseconds() {
  timespec now = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
}

// Named pieces of work, each measured once in every round.
class Times {
 public:
  // Forgets what was measured during the warm-up.
  void clear() { milliseconds_.clear(); }

  void measure(const std::string& name, const std::function<void()>& work) {
    const double start = thread_milliseconds();
    work();
    milliseconds_[name].push_back(thread_milliseconds() - start);
  }

  double median(const std::string& name) {
    auto& all = milliseconds_.at(name);
    const auto middle = all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2);
    std::nth_element(all.begin(), middle, all.end());
    return *middle;
  }

 private:
  std::map<std::string, std::vector<double>> milliseconds_;
};

}  // namespace facematch::bench
