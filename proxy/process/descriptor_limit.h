// Open files: how many there may be, and how many of them are for clients.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hedge::proxy {

// Connections cost descriptors; the soft limit of 1024 is for programs that use select().
void raise_descriptor_limit();

// What this process may have open; 0: without limit.
std::uint64_t descriptor_limit();

// So many clients may be connected, so that whoever is gets served also when more want to be: each may need a
// connection to an upstream, every worker has its own listeners, and the control socket, the log and the state
// need a few. `descriptors`: as descriptor_limit(). 0: without limit.
std::uint64_t most_connections(std::uint64_t descriptors, std::size_t workers, std::size_t addresses);

}  // namespace hedge::proxy
