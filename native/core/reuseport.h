// Listening sockets that share a port (SO_REUSEPORT), while one takes over from another.
#pragma once

#include <cstdint>

namespace facematch {

// Lets the kernel give every new connection on `port` to the socket of this process that listens
// there last, where two do; the older one keeps what it had begun. Without it the kernel spreads
// them over both, and closing the older one resets those whose handshake it had not finished.
// One socket alone goes on as before, and so does the next one beside it: the order is not to be
// given again. False where the system has no such thing (not Linux, or a sandbox).
bool prefer_newest_listener(uint16_t port);

}  // namespace facematch
