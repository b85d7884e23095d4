// The end of this process, and of the one that started it.
#pragma once

namespace facematch {

// Sends SIGTERM to this process when its parent `parent` ends, or at once if that has ended
// already; 0 takes it back. False where the system cannot.
bool end_with_parent(int parent);

// Ends the process with `code`, whatever its threads do: exit() would wait for a thread that writes
// to a pipe which nobody reads, and process 1 of a container cannot kill itself.
[[noreturn]] void end_now(int code);

}  // namespace facematch
