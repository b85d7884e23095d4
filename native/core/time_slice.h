// How long the kernel lets a thread run before it gives the processor to another one.
#pragma once

namespace facematch {

// Asks for turns of 100 ms, the longest there are, for the calling thread. Where more threads work
// than there are processors each turn begins with caches full of another's pictures and weights, so
// fewer turns are less work. Threads with ordinary turns, such as the one that serves requests, do
// not wait longer: those who ask for shorter ones go first (EEVDF). Policy and niceness stay. False
// where the system has no such thing: Linux before 6.12, another scheduling policy, a sandbox.
bool lengthen_time_slice();

}  // namespace facematch
