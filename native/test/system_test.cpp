// Base64 and listening sockets: core/system.
#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "../core/system/base64.h"
#include "../core/system/listeners.h"

namespace facematch::testing {
namespace {

struct DecodedText {
  size_t read;
  std::string text;
};

// The memory has exactly that size, so that the sanitizers see a byte too far.
DecodedText decode_text(const std::string& text) {
  std::vector<uint8_t> bytes(text.begin(), text.end());
  bytes.shrink_to_fit();
  const auto [read, written] = decode_base64_groups(bytes);
  REQUIRE(read <= bytes.size());
  REQUIRE(written <= read);
  CHECK(std::string(bytes.begin() + static_cast<std::ptrdiff_t>(read), bytes.end()) ==
        text.substr(read));
  return {read, std::string(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(written))};
}

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

TEST_SUITE_BEGIN("system");

// RFC 4648, section 10.
TEST_CASE("whole groups are decoded, padding and the rest are left") {
  const auto check = [](const std::string& text, size_t read, const std::string& expected) {
    CAPTURE(text);
    CHECK(decode_text(text).read == read);
    CHECK(decode_text(text).text == expected);
  };
  check("", 0, "");
  check("Zg==", 0, "");
  check("Zm9v", 4, "foo");
  check("Zm9vYg==", 4, "foo");
  check("Zm9vYmFy", 8, "foobar");
  check("Zm9vYmF", 4, "foo");
  check("Zm9v-_-_", 4, "foo");
  check("Zm9v Zm9v", 4, "foo");
  check("\\u005am9v", 9, "foo");
  check("\\u005Am9v\\u0059mFy", 18, "foobar");
  check("\\/\\/\\/\\/", 8, "\xff\xff\xff");
}

TEST_CASE("an escape that is no letter, or is cut short, ends it") {
  for (const std::string wrong : {"\\", "\\u", "\\u0", "\\u00", "\\u005", "\\u00g1", "\\u0141",
                                  "\\u003d", "\\n", "\\\\", "=", "\x80", "\xff"}) {
    CAPTURE(wrong);
    for (const std::string before : {"", "Z", "Zm", "Zm9"}) {
      CHECK(decode_text("Zm9v" + before + wrong).read == 4);
      CHECK(decode_text("Zm9v" + before + wrong + "Zm9v").read == 4);
    }
  }
}

TEST_CASE("every byte and every four-digit escape counts as RFC 4648 says") {
  const std::string letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  for (int byte = 0; byte < 256; ++byte) {
    const auto letter = static_cast<char>(byte);
    const size_t value = letters.find(letter);
    const bool known = value != std::string::npos;
    CAPTURE(byte);
    const DecodedText plain = decode_text(std::string("AAA") + letter);
    CHECK(plain.read == (known ? 4 : 0));
    if (known) CHECK(plain.text == std::string("\0\0", 2) + static_cast<char>(value));
    char escape[8];
    std::snprintf(escape, sizeof escape, "\\u%04x", byte);
    CHECK(decode_text(std::string("AAA") + escape).text == plain.text);
  }
}

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
