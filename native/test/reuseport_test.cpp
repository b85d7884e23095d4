#include "../core/system/reuseport.h"

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
  Socket& operator=(Socket&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
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

// Port 0 selects a free one.
Socket listen_on(uint16_t port) {
  Socket made(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0));
  const int yes = 1;
  REQUIRE(setsockopt(made.descriptor(), SOL_SOCKET, SO_REUSEPORT, &yes, sizeof yes) == 0);
  const sockaddr_in address = loopback(port);
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

TEST_SUITE_BEGIN("reuseport");

TEST_CASE("connections go to the newest listener, in every takeover, and the older keeps its own") {
  std::vector<Socket> listeners;
  listeners.push_back(listen_on(0));
  const uint16_t port = port_of(listeners[0]);
  for (int takeover = 0; takeover < 5; ++takeover) {
    CAPTURE(takeover);
    const auto before = connect_many(port);
    listeners.push_back(listen_on(port));
    REQUIRE(prefer_newest_listener(port));
    const auto beside = connect_many(port);
    CHECK(accept_all(listeners[0]) == kMany);
    CHECK(accept_all(listeners[1]) == kMany);
    listeners.erase(listeners.begin());
  }
}

TEST_CASE("a port without a listener gives false") {
  CHECK_FALSE(prefer_newest_listener(0));
  CHECK_FALSE(prefer_newest_listener(1));
  CHECK_FALSE(drop_new_connections(1));
}

TEST_CASE("dropping new connections keeps those that wait, and refuses none") {
  const Socket listener = listen_on(0);
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

TEST_CASE("a single listener works as before, and listeners on another port are not affected") {
  const Socket other = listen_on(0);
  const Socket beside = listen_on(port_of(other));
  const Socket mine = listen_on(0);
  REQUIRE(prefer_newest_listener(port_of(mine)));
  const auto own = connect_many(port_of(mine));
  CHECK(accept_all(mine) == kMany);
  const auto connections = connect_many(port_of(other));
  // Chosen by hash: the chance that one listener gets all of them is 1 in 2^39.
  CHECK(accept_all(other) > 0);
  CHECK(accept_all(beside) > 0);
}

TEST_SUITE_END();

}  // namespace facematch::testing
