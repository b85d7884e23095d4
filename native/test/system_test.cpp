// Tests of core/system: base64 and listening sockets.
#include <doctest/doctest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "../core/system/base64.h"
#include "../core/system/process.h"

namespace facematch::testing {

TEST_SUITE_BEGIN("system");

// RFC 4648, section 10. test/native/addon.test.ts compares valid and invalid base64 with Node.
TEST_CASE("decodes complete groups, and leaves padding and incomplete groups") {
  struct Case {
    std::string text;
    size_t read;
    std::string expected;
  };
  const Case cases[] = {{"", 0, ""},
                        {"Zg==", 0, ""},
                        {"Zm9v", 4, "foo"},
                        {"Zm9vYg==", 4, "foo"},
                        {"Zm9vYmFy", 8, "foobar"},
                        {"Zm9vYmF", 4, "foo"},
                        {"\\u005Am9v\\u0059mFy", 18, "foobar"},
                        {"\\/\\/\\/\\/Z\\u0", 8, "\xff\xff\xff"}};
  for (const Case& c : cases) {
    // The size is exact, so that the sanitizers detect an access past the end.
    std::vector<uint8_t> bytes(c.text.begin(), c.text.end());
    bytes.shrink_to_fit();
    const auto [read, written] = decode_base64_groups(bytes);
    CAPTURE(c.text);
    CHECK(read == c.read);
    CHECK(std::string(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(written)) ==
          c.expected);
  }
}

TEST_CASE("returns false for a port without a listener") {
  CHECK_FALSE(drop_new_connections(0));
  CHECK_FALSE(drop_new_connections(1));
}

TEST_CASE("drops new connections, keeps queued ones, and resets none") {
  constexpr int kMany = 40;
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  socklen_t size = sizeof address;
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
  REQUIRE(bind(listener, any, size) == 0);
  REQUIRE(getsockname(listener, any, &size) == 0);
  REQUIRE(listen(listener, 256) == 0);
  std::vector<int> opened = {listener};
  for (int count = 0; count < kMany; ++count) {
    opened.push_back(socket(AF_INET, SOCK_STREAM, 0));
    REQUIRE(connect(opened.back(), any, size) == 0);
  }
  REQUIRE(drop_new_connections(ntohs(address.sin_port)));
  const int late = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
  opened.push_back(late);
  CHECK(connect(late, any, size) == -1);
  // The connection is neither open nor refused; on loopback, connect() would report either at once.
  int state = -1;
  size = sizeof state;
  REQUIRE(getsockopt(late, SOL_SOCKET, SO_ERROR, &state, &size) == 0);
  CHECK(state == 0);
  int waiting = 0;
  for (int one; (one = accept(listener, nullptr, nullptr)) >= 0; ++waiting) opened.push_back(one);
  CHECK(waiting == kMany);
  for (const int descriptor : opened) close(descriptor);
}

TEST_SUITE_END();

}  // namespace facematch::testing
