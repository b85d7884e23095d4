// Calls for the end of this process, of its parent, and of its listening sockets, which another
// process may replace; and for the CPU time of its threads.
#pragma once

#include <cstdint>

namespace facematch {

// Makes the kernel drop requests for new connections on `port`, so that every connection that a
// client considers open can still be accepted; closing the socket at once would reset connections
// that wait in it or whose handshake is pending. Clients repeat such a request after a second, and
// then reach the new listener. Returns false if a sandbox forbids it.
bool drop_new_connections(uint16_t port);

// Sends SIGTERM to this process when its parent `parent` ends, or at once if it has ended already;
// 0 cancels that. Returns false if the system does not support it.
bool end_with_parent(int parent);

// Ends the process with `code` at once: exit() would wait for a thread that writes to a pipe
// without a reader, and PID 1 of a container cannot kill itself.
[[noreturn]] void end_now(int code);

// Returns the CPU time of the calling thread since it started, in milliseconds.
double thread_cpu_ms();

}  // namespace facematch
