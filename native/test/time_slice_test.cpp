#include "../core/time_slice.h"

#include <doctest/doctest.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <thread>

namespace facematch::testing {
namespace {

// Linux 6.12 and later.
bool kernel_has_slices() {
  utsname name = {};
  int major = 0;
  int minor = 0;
  uname(&name);
  std::sscanf(name.release, "%d.%d", &major, &minor);
  return major > 6 || (major == 6 && minor >= 12);
}

// Nanoseconds; 0 where the kernel does not tell.
uint64_t time_slice() {
  uint64_t attributes[6] = {sizeof attributes};
  syscall(SYS_sched_getattr, 0, attributes, sizeof attributes, 0);
  return attributes[3];
}

int niceness() { return getpriority(PRIO_PROCESS, static_cast<id_t>(syscall(SYS_gettid))); }

}  // namespace

TEST_SUITE_BEGIN("time_slice");

TEST_CASE("a thread gets long turns where the kernel has them, and another one does not") {
  const uint64_t before = time_slice();
  bool taken = false;
  uint64_t after = 0;
  std::thread([&] {
    taken = lengthen_time_slice();
    after = time_slice();
  }).join();
  CHECK(taken == kernel_has_slices());
  CHECK(after == (kernel_has_slices() ? 100'000'000 : before));
  CHECK(time_slice() == before);
}

TEST_CASE("policy and niceness stay") {
  std::thread([] {
    const sched_param none = {};
    REQUIRE(sched_setscheduler(0, SCHED_BATCH, &none) == 0);
    const int wanted = niceness() + 3;
    REQUIRE(setpriority(PRIO_PROCESS, static_cast<id_t>(syscall(SYS_gettid)), wanted) == 0);
    lengthen_time_slice();
    CHECK(sched_getscheduler(0) == SCHED_BATCH);
    CHECK(niceness() == wanted);
  }).join();
}

TEST_CASE("a thread of another policy is left alone") {
  std::thread([] {
    const sched_param none = {};
    REQUIRE(sched_setscheduler(0, SCHED_IDLE, &none) == 0);
    CHECK_FALSE(lengthen_time_slice());
    CHECK(sched_getscheduler(0) == SCHED_IDLE);
  }).join();
}

TEST_SUITE_END();

}  // namespace facematch::testing
