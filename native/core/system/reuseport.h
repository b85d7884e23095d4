// Listening sockets that share a port (SO_REUSEPORT) while one replaces another.
#pragma once

#include <cstdint>

namespace facematch {

// Makes the kernel give every new connection on `port` to the newest socket of this process that
// listens there, where two do; the older one keeps its connections. Without it the kernel spreads
// new connections over both, and closing the older socket resets those whose handshake is not
// complete. A single socket works as before, and so does the next one beside it: one call is
// enough. False where the system does not support it (not Linux, or a sandbox).
bool prefer_newest_listener(uint16_t port);

}  // namespace facematch
