#include "reuseport.h"

#ifdef __linux__
#include <dirent.h>
#include <linux/filter.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdlib>
#include <memory>

namespace facematch {
namespace {

// Port of a TCP socket that listens; 0 for any other descriptor.
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

bool steer(int descriptor) {
  // Selects the second socket of the group, which is ordered by time of listening. Without a second
  // one the kernel chooses by itself.
  sock_filter second = BPF_STMT(BPF_RET | BPF_K, 1);
  const sock_fprog program = {1, &second};
  return setsockopt(descriptor, SOL_SOCKET, SO_ATTACH_REUSEPORT_CBPF, &program, sizeof program) ==
         0;
}

}  // namespace

// µWebSockets.js does not expose the descriptors of its sockets, so this searches for them.
bool prefer_newest_listener(uint16_t port) {
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(opendir("/proc/self/fd"), closedir);
  if (folder == nullptr || port == 0) return false;
  // The stream is this call's own. NOLINTNEXTLINE(concurrency-mt-unsafe)
  while (const dirent* entry = readdir(folder.get())) {
    const int descriptor = std::atoi(entry->d_name);  // 0 for "." and ".."
    // The BPF program applies to the whole reuseport group: attaching it to any socket is enough.
    if (listening_port(descriptor) == port && steer(descriptor)) return true;
  }
  return false;
}

}  // namespace facematch
#else
namespace facematch {

bool prefer_newest_listener(uint16_t) { return false; }

}  // namespace facematch
#endif
