// The command line of the bench's programs: flags with a value, switches, and files.
#pragma once

#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "../core/types.h"

namespace facematch::bench {

constexpr float kMinScore = 0.7f;

class Options {
 public:
  // Throws std::invalid_argument for an unknown flag or a flag without its value.
  Options(int count, char** words, const std::set<std::string>& flags,
          const std::set<std::string>& switches) {
    for (int i = 1; i < count; ++i) {
      const std::string word = words[i];
      if (switches.contains(word)) {
        values_[word] = "";
      } else if (flags.contains(word)) {
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

}  // namespace facematch::bench
