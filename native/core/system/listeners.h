// Listening sockets that those of another process replace.
#pragma once

#include <cstdint>

namespace facematch {

// Makes the kernel drop requests for new connections on `port`, so that every connection which a
// client takes for open can still be accepted; closing the socket at once would reset those that
// wait in it or whose handshake is under way. Clients repeat such a request after a second, and
// meet whoever listens then. False where a sandbox forbids it.
bool drop_new_connections(uint16_t port);

}  // namespace facematch
