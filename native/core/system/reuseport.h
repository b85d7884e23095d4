// Listening sockets that another one replaces, in this process or in the next.
#pragma once

#include <cstdint>

namespace facematch {

// Makes the kernel give every new connection on `port` to the newest socket of this process that
// listens there, where two do; the older one keeps its connections. Without it the kernel spreads
// new connections over both, and closing the older socket resets those whose handshake is not
// complete. A single socket works as before, and so does the next one beside it: one call is
// enough. False where a sandbox forbids it.
bool prefer_newest_listener(uint16_t port);

// Makes the kernel drop requests for new connections on `port`, so that every connection which a
// client takes for open can still be accepted; closing the socket at once would reset those that
// wait in it or whose handshake is under way. Clients repeat such a request after a second, and
// meet whoever listens then. False where a sandbox forbids it.
bool drop_new_connections(uint16_t port);

}  // namespace facematch
