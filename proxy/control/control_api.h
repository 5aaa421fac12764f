// What the control socket answers. No I/O of its own: request in, answer out.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "proxy/control/managed_edge.h"
#include "router/route_watcher.h"

namespace hedge::proxy {

struct ApiRequest {
  std::string method;
  std::string target;
  std::string content_type;
  std::string body;
};

struct ApiAnswer {
  unsigned status = 200;
  std::string content_type = "application/json";
  std::string allow;  // the Allow field of a 405; empty otherwise
  std::string body;   // empty only with 204
};

// What the API needs of the thread that it runs on.
class ControlActions {
 public:
  virtual ~ControlActions() = default;
  // Absent: it hands over now. Otherwise why it cannot.
  virtual std::optional<Error> begin_handover() = 0;
  // `taken_over`: another process serves now, and this one ends when what is open has finished. True: that
  // process is to read its settings again.
  virtual bool end_handover(bool taken_over) = 0;
  virtual ManagedEdge& edge() = 0;
  virtual int claim_descriptor() const = 0;  // of the state directory's lock; -1: there is none
  // Reads the store and publishes what it says.
  virtual void refresh() = 0;
  virtual router::RouteStore* store() = 0;  // null while it cannot be opened
  virtual bool is_static(std::string_view host) const = 0;
  virtual const router::RouteTable& table() const = 0;  // as published last
  virtual std::vector<std::string> warnings() const = 0;
  virtual EdgeFacts facts() const = 0;
  virtual EdgeMetrics metrics() const = 0;
  virtual ControlMetrics control_metrics() const = 0;
  virtual std::chrono::seconds uptime() const = 0;
  virtual std::string state_directory() const = 0;
};

// What GET /v1/status answers, as JSON text; also the first event of GET /v1/events.
std::string status_json(const ControlActions& actions);

// The data of the event that tells of a SIGHUP.
std::string reload_event(bool ok, std::string_view detail);

// Never fails: every refusal is an answer of type application/problem+json with "id", "detail" and "hints".
ApiAnswer answer_api(const ApiRequest& request, ControlActions& actions);

// The problem document of an error.
ApiAnswer api_problem(const Error& error);
// The problem document for what is wrong with the HTTP request itself.
ApiAnswer api_problem(unsigned status, std::string_view id, std::string_view detail,
                      const std::vector<std::string>& hints = {});

}  // namespace hedge::proxy
