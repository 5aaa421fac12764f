// The ports that the edge listened on last, in the state directory: whoever makes URLs while the edge is down
// reads them, and the next start without the standard ports takes them again.
#pragma once

#include <cstdint>
#include <filesystem>

#include "base/result.h"

namespace hedge::proxy {

struct RememberedPorts {
  std::uint16_t plain = 0;  // 0: none
  std::uint16_t tls = 0;
};

// None where the file is missing or says something else: what was remembered is a convenience.
RememberedPorts load_remembered_ports(const std::filesystem::path& file);
// Errors: of write_file_atomically().
Result<void> remember_ports(const std::filesystem::path& file, const RememberedPorts& ports);

}  // namespace hedge::proxy
