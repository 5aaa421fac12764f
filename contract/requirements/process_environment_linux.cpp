#include "contract/requirements/process_environment.h"

#include "base/file.h"
#include "base/text.h"

namespace hedge::contract {

// Source: proc(5), /proc/PID/environ: the initial environment, entries separated by NUL.
std::optional<Environment> load_process_environment(pid_t process) {
  const auto text = read_file("/proc/" + std::to_string(process) + "/environ", 4U << 20);
  if (!text || text->empty()) return std::nullopt;
  Environment out;
  for (const std::string_view entry : split(*text, '\0')) {
    const std::size_t equals = entry.find('=');
    if (equals != std::string_view::npos) out.emplace(entry.substr(0, equals), entry.substr(equals + 1));
  }
  return out;
}

}  // namespace hedge::contract
