// System calls for shutdown and for the CPU time of threads.
#pragma once

#include <cstdint>

namespace facematch {

// Makes the kernel drop requests for new connections on `port`. Connections that a client considers
// open can then still be accepted; closing the socket at once would reset those in the socket's
// queue and those with a pending handshake. Clients repeat a dropped request after a second, and
// then reach a new listener. Returns false if no socket listens on `port`, or if a sandbox forbids
// the change.
bool drop_new_connections(uint16_t port);

// Makes the kernel send SIGTERM to this process when its parent `parent` ends, or at once if it has
// already ended. 0 cancels that. Returns false if the system does not support it.
bool end_with_parent(int parent);

// Ends the process with `code` at once. exit() would wait for a thread that writes to a full pipe,
// and PID 1 of a container cannot kill itself.
[[noreturn]] void end_now(int code);

// Returns the CPU time of the calling thread since it started, in milliseconds.
double thread_cpu_ms();

}  // namespace facematch
