// Waiting for signals in a process that handles them one after the other.
#pragma once

#include <chrono>
#include <initializer_list>

namespace hedge::worktree {

// Blocks `numbers` in the caller, so that they wait for wait_for_signal(). Requires: no other thread.
void block_signals(std::initializer_list<int> numbers);

// The next of `numbers`; 0 if `limit` is over first.
int wait_for_signal(std::initializer_list<int> numbers, std::chrono::milliseconds limit);

}  // namespace hedge::worktree
