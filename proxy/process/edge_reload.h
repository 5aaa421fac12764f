// A SIGHUP: the settings file is read again, and what can change while the edge serves changes.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "proxy/control/control_thread.h"
#include "proxy/edge_server.h"
#include "proxy/listening_sockets.h"
#include "proxy/remembered_ports.h"
#include "router/edge_settings.h"

namespace hedge::proxy {

// What the workers need of the settings.
EdgeSettings worker_settings(const config::EdgeConfig& edge, const EdgeLimits& limits);
// Where they listen. `remembered`: of the last start, for where the standard ports are forbidden.
ListenPlan listen_plan(const config::EdgeConfig& edge, const RememberedPorts& remembered = {});

// The names of settings that differ and take effect only in a new process. `state_dir` and `control` are not
// among them: see below.
std::vector<std::string> settings_for_a_new_process(const config::EdgeConfig& in_use,
                                                    const config::EdgeConfig& wanted);

// The names of settings that differ and with which it is another edge: a takeover cannot change them.
std::vector<std::string> settings_for_another_edge(const config::EdgeConfig& in_use,
                                                   const config::EdgeConfig& wanted);

// On the control thread.
class EdgeReload {
 public:
  using Read = std::function<Result<router::EdgeSettings>()>;

  // `in_use`: what the edge was started with.
  EdgeReload(Read read, config::EdgeConfig in_use, EdgeLimits limits);

  // Requires: before run(). Lifetime: the server outlives the last run().
  void set_server(EdgeServer& server) { server_ = &server; }
  // The service manager has opened the ports: the file's addresses are not looked at.
  void keep_listeners() { has_fixed_listeners_ = true; }
  // Called when the listeners have changed.
  void set_on_listeners(std::function<void()> on_listeners) { on_listeners_ = std::move(on_listeners); }

  // All or nothing: addresses that are new are opened first, and only then are the others closed; clients of
  // those that stay notice nothing.
  // Errors: `config_invalid`; those of open_listening_sockets. Then everything is as it was.
  Result<ReloadedSettings> run();

 private:
  struct Changes {
    std::vector<BoundAddress> added;
    std::vector<std::uint32_t> removed;
    std::vector<std::string> notices;
  };
  Result<Changes> open_changes(const ListenPlan& plan) const;

  Read read_;
  config::EdgeConfig started_with_;
  EdgeLimits limits_;
  EdgeServer* server_ = nullptr;
  bool has_fixed_listeners_ = false;
  std::function<void()> on_listeners_;
};

}  // namespace hedge::proxy
