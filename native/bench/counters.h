// Instructions and cycles of the calling thread, where the kernel and the machine have counters for
// them (perf_event_open(2)): virtual machines often have none.
#pragma once

#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <optional>

namespace facematch::bench {

class Counters {
 public:
  struct Reading {
    double instructions = 0;
    double cycles = 0;
  };

  Counters() {
    leader_ = open(PERF_COUNT_HW_INSTRUCTIONS, -1);
    if (leader_ >= 0) follower_ = open(PERF_COUNT_HW_CPU_CYCLES, leader_);
  }
  ~Counters() {
    if (follower_ >= 0) close(follower_);
    if (leader_ >= 0) close(leader_);
  }
  Counters(const Counters&) = delete;
  Counters& operator=(const Counters&) = delete;

  // So far; nothing where there are no counters.
  std::optional<Reading> read() const {
    struct {
      uint64_t count;
      uint64_t values[2];
    } group = {};
    if (follower_ < 0 || ::read(leader_, &group, sizeof group) != sizeof group) return {};
    return Reading{static_cast<double>(group.values[0]), static_cast<double>(group.values[1])};
  }

 private:
  static int open(uint64_t event, int group) {
    perf_event_attr attributes = {};
    attributes.size = sizeof attributes;
    attributes.type = PERF_TYPE_HARDWARE;
    attributes.config = event;
    attributes.read_format = PERF_FORMAT_GROUP;
    // What an unprivileged user may count.
    attributes.exclude_kernel = 1;
    attributes.exclude_hv = 1;
    return static_cast<int>(syscall(SYS_perf_event_open, &attributes, 0, -1, group, 0));
  }

  int leader_ = -1;
  int follower_ = -1;
};

}  // namespace facematch::bench
