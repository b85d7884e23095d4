// The end of this process, of the one that started it, and of its listening sockets, which those of
// another process replace; the CPU time of its threads.
#pragma once

#include <cstdint>

namespace facematch {

// Makes the kernel drop requests for new connections on `port`, so that every connection which a
// client takes for open can still be accepted; closing the socket at once would reset those that
// wait in it or whose handshake is under way. Clients repeat such a request after a second, and
// meet whoever listens then. False where a sandbox forbids it.
bool drop_new_connections(uint16_t port);

// Sends SIGTERM to this process when its parent `parent` ends, or at once if that has ended
// already; 0 takes it back. False where the system cannot.
bool end_with_parent(int parent);

// Ends the process with `code`, whatever its threads do: exit() would wait for a thread that writes
// to a pipe which nobody reads, and process 1 of a container cannot kill itself.
[[noreturn]] void end_now(int code);

// CPU time of the calling thread since it began, in milliseconds.
double thread_cpu_ms();

}  // namespace facematch
