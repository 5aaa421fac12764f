// Tells the service manager how this process is (sd_notify(3)). Without one, nothing happens.
#pragma once

#include <string>
#include <string_view>

#include "base/subprocess.h"

namespace hedge::proxy {

class ServiceManager {
 public:
  // From NOTIFY_SOCKET: a path, or a name in the abstract namespace after "@". Empty: there is none.
  explicit ServiceManager(const Environment& environment);

  bool is_there() const { return !address_.empty(); }
  void ready() const { notify("READY=1\nSTATUS=serving"); }
  void stopping() const { notify("STOPPING=1\nSTATUS=finishing what is open"); }

 private:
  // Best effort, never waits: a manager that does not listen must not keep the edge from serving.
  void notify(std::string_view state) const;

  std::string address_;
};

}  // namespace hedge::proxy
