#include "process.h"

#include <dirent.h>
#include <linux/filter.h>
#include <netinet/in.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <iterator>
#include <memory>

namespace facematch {
namespace {

// Returns the port of a listening TCP socket; 0 for any other descriptor.
uint16_t listening_port(int descriptor) {
  int listens = 0;
  socklen_t size = sizeof listens;
  if (getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) != 0 || listens == 0)
    return 0;
  // IPv4 and IPv6 addresses have the port at the same offset.
  sockaddr_in6 address = {};
  size = sizeof address;
  if (getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &size) != 0) return 0;
  const bool internet = address.sin6_family == AF_INET || address.sin6_family == AF_INET6;
  return internet ? ntohs(address.sin6_port) : uint16_t{0};
}

bool drop_first_segments(int descriptor) {
  // Tests the flags of a TCP header. A first segment has SYN (2) and not ACK (16).
  sock_filter drop[] = {
      BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 13),          BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 0x12),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0x02, 0, 1), BPF_STMT(BPF_RET | BPF_K, 0),
      BPF_STMT(BPF_RET | BPF_K, 0xffffffff),
  };
  const sock_fprog program = {std::size(drop), drop};
  return setsockopt(descriptor, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program) == 0;
}

}  // namespace

// µWebSockets.js does not expose the descriptors of its sockets, so this function searches for
// them.
bool drop_new_connections(uint16_t port) {
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(opendir("/proc/self/fd"), closedir);
  if (folder == nullptr || port == 0) return false;
  bool dropped = false;
  // No other thread uses this stream. NOLINTNEXTLINE(concurrency-mt-unsafe)
  while (const dirent* entry = readdir(folder.get())) {
    const int descriptor = std::atoi(entry->d_name);  // 0 for "." and ".."
    if (listening_port(descriptor) == port && drop_first_segments(descriptor)) dropped = true;
  }
  return dropped;
}

bool end_with_parent(int parent) {
  if (prctl(PR_SET_PDEATHSIG, parent == 0 ? 0 : SIGTERM) != 0) return false;
  if (parent != 0 && getppid() != parent) raise(SIGTERM);
  return true;
}

void end_now(int code) { _exit(code); }

double thread_cpu_ms() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) / 1e6;
}

}  // namespace facematch
