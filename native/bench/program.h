// The command line of the bench's programs, and times of named pieces of work, as CPU times of the
// calling thread.
#pragma once

#include <algorithm>
#include <ctime>
#include <functional>
#include <iostream>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "../core/types.h"

namespace facematch::bench {

constexpr float kMinScore = 0.7f;

// Flags with a value, and files.
class Options {
 public:
  // Throws std::invalid_argument for an unknown flag or a flag without its value.
  Options(int count, char** words, const std::set<std::string>& flags) {
    for (int i = 1; i < count; ++i) {
      const std::string word = words[i];
      if (flags.contains(word)) {
        if (++i == count) throw std::invalid_argument(word + " needs a value");
        values_[word] = words[i];
      } else if (word.starts_with("--")) {
        throw std::invalid_argument("unknown argument: " + word);
      } else {
        files_.push_back(word);
      }
    }
  }

  bool has(const std::string& name) const { return values_.contains(name); }

  std::string text(const std::string& name, const std::string& fallback) const {
    return has(name) ? values_.at(name) : fallback;
  }

  // Throws std::invalid_argument unless the value is a number above 0.
  double positive(const std::string& name, double fallback) const {
    const double value = has(name) ? std::stod(values_.at(name)) : fallback;
    if (!(value > 0)) throw std::invalid_argument(name + " must be above 0");
    return value;
  }

  AccuracyMode mode() const {
    const std::string name = text("--mode", "fast");
    if (name == "fast") return AccuracyMode::kFast;
    if (name == "balance") return AccuracyMode::kBalance;
    throw std::invalid_argument("no such mode: " + name);
  }

  const std::vector<std::string>& files() const { return files_; }

 private:
  std::map<std::string, std::string> values_;
  std::vector<std::string> files_;
};

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
  void clear() { all_.clear(); }

  void measure(const std::string& name, const std::function<void()>& work) {
    const double start = thread_milliseconds();
    work();
    all_[name].push_back(thread_milliseconds() - start);
  }

  double median(const std::string& name) {
    auto& all = all_.at(name);
    const auto middle = all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2);
    std::nth_element(all.begin(), middle, all.end());
    return *middle;
  }

 private:
  std::map<std::string, std::vector<double>> all_;
};

// The main() of a program: prints what it measures as JSON, and tells on stderr what went wrong.
template <typename Measure>
int run(int count, char** words, const std::set<std::string>& flags, Measure measure) {
  try {
    std::cout << measure(Options(count, words, flags)).dump(2) << '\n';
    return 0;
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}

}  // namespace facematch::bench
