// Times of named pieces of work, as CPU times of the calling thread, with instructions and cycles
// where the machine counts them.
#pragma once

#if __has_include(<valgrind/callgrind.h>)
#include <valgrind/callgrind.h>
#endif

#include <algorithm>
#include <ctime>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "counters.h"

namespace facematch::bench {

// CPU time, so that what else runs on the machine does not count.
inline double thread_milliseconds() {
  timespec now = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
}

// Of what lies between construction and end, callgrind writes one profile with that name, also when
// it was started with --instr-atstart=no; outside of callgrind, or built without its header, it
// does nothing.
class Profile {
 public:
#ifdef CALLGRIND_ZERO_STATS
  explicit Profile(const std::string& name) : name_(name) {
    CALLGRIND_START_INSTRUMENTATION;
    CALLGRIND_ZERO_STATS;
  }
  ~Profile() {
    CALLGRIND_DUMP_STATS_AT(name_.c_str());
    CALLGRIND_STOP_INSTRUMENTATION;
  }
#else
  explicit Profile(const std::string& name) : name_(name) {}
  ~Profile() = default;
#endif
  Profile(const Profile&) = delete;
  Profile& operator=(const Profile&) = delete;

 private:
  std::string name_;
};

// Named pieces of work, each measured once a round.
class Times {
 public:
  // Ends the warming up: forgets what was measured so far, and lets callgrind see what follows.
  void begin() {
    milliseconds_.clear();
    instructions_.clear();
    cycles_.clear();
    begun_ = true;
  }

  void measure(const std::string& name, const std::function<void()>& work) {
    std::optional<Profile> profile;
    if (begun_) profile.emplace(name);
    const auto before = counters_.read();
    const double start = thread_milliseconds();
    work();
    milliseconds_[name].push_back(thread_milliseconds() - start);
    const auto after = counters_.read();
    if (!before || !after) return;
    instructions_[name].push_back(after->instructions - before->instructions);
    cycles_[name].push_back(after->cycles - before->cycles);
  }

  double median(const std::string& name) { return middle(milliseconds_, name); }

  // Instructions and cycles; false where nothing counts them.
  bool counted() const { return !instructions_.empty(); }
  double instructions(const std::string& name) { return middle(instructions_, name); }
  double cycles(const std::string& name) { return middle(cycles_, name); }

 private:
  using Named = std::map<std::string, std::vector<double>>;

  static double middle(Named& named, const std::string& name) {
    auto& all = named.at(name);
    const auto middle = all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2);
    std::nth_element(all.begin(), middle, all.end());
    return *middle;
  }

  bool begun_ = false;
  Counters counters_;
  Named milliseconds_, instructions_, cycles_;
};

}  // namespace facematch::bench
