#include "../core/system/listeners.h"

#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <utility>
#include <vector>

namespace facematch::testing {
namespace {

class Socket {
 public:
  explicit Socket(int descriptor) : descriptor_(descriptor) {}
  Socket(Socket&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  ~Socket() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  int descriptor() const { return descriptor_; }

 private:
  int descriptor_;
};

sockaddr_in loopback(uint16_t port) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

// It listens on a free port.
Socket listening() {
  Socket made(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0));
  const sockaddr_in address = loopback(0);
  REQUIRE(bind(made.descriptor(), reinterpret_cast<const sockaddr*>(&address), sizeof address) ==
          0);
  REQUIRE(listen(made.descriptor(), 256) == 0);
  return made;
}

uint16_t port_of(const Socket& socket) {
  sockaddr_in address = {};
  socklen_t size = sizeof address;
  REQUIRE(getsockname(socket.descriptor(), reinterpret_cast<sockaddr*>(&address), &size) == 0);
  return ntohs(address.sin_port);
}

constexpr int kMany = 40;

// Connections that are not accepted yet.
std::vector<Socket> connect_many(uint16_t port) {
  std::vector<Socket> made;
  for (int count = 0; count < kMany; ++count) {
    made.emplace_back(socket(AF_INET, SOCK_STREAM, 0));
    const sockaddr_in address = loopback(port);
    REQUIRE(connect(made.back().descriptor(), reinterpret_cast<const sockaddr*>(&address),
                    sizeof address) == 0);
  }
  return made;
}

int accept_all(const Socket& listener) {
  int count = 0;
  for (int one; (one = accept(listener.descriptor(), nullptr, nullptr)) >= 0; ++count) close(one);
  return count;
}

}  // namespace

TEST_SUITE_BEGIN("listeners");

TEST_CASE("a port without a listener gives false") {
  CHECK_FALSE(drop_new_connections(0));
  CHECK_FALSE(drop_new_connections(1));
}

TEST_CASE("dropping new connections keeps those that wait, and refuses none") {
  const Socket listener = listening();
  const auto waiting = connect_many(port_of(listener));
  REQUIRE(drop_new_connections(port_of(listener)));
  const Socket late(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0));
  const sockaddr_in address = loopback(port_of(listener));
  CHECK(connect(late.descriptor(), reinterpret_cast<const sockaddr*>(&address), sizeof address) ==
        -1);
  // Neither connected nor refused: on loopback either would have happened within the call.
  int state = -1;
  socklen_t size = sizeof state;
  REQUIRE(getsockopt(late.descriptor(), SOL_SOCKET, SO_ERROR, &state, &size) == 0);
  CHECK(state == 0);
  CHECK(accept_all(listener) == kMany);
}

TEST_SUITE_END();

}  // namespace facematch::testing
