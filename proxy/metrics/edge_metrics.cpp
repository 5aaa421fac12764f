#include "proxy/metrics/edge_metrics.h"

#include <cstdio>
#include <initializer_list>
#include <string_view>

namespace hedge::proxy {
namespace {

// Prometheus text exposition format 0.0.4: a family's lines stand together, below its HELP and TYPE.
class Exposition {
 public:
  struct Label {
    std::string_view name;
    std::string_view value;
  };
  using Labels = std::initializer_list<Label>;

  void family(std::string_view name, std::string_view type, std::string_view help) {
    name_ = name;
    text_.append("# HELP ").append(name).append(" ").append(help).append("\n");
    text_.append("# TYPE ").append(name).append(" ").append(type).append("\n");
  }
  void sample(Labels labels, std::uint64_t value, std::string_view suffix = {}) {
    begin(labels, suffix);
    text_.append(std::to_string(value)).append("\n");
  }
  void sample(Labels labels, double value, std::string_view suffix = {}) {
    begin(labels, suffix);
    char digits[32];
    const int length = std::snprintf(digits, sizeof digits, "%.6f", value);
    text_.append(digits, static_cast<std::size_t>(length)).append("\n");
  }
  // A family of one sample without labels.
  template <class Number>
  void single(std::string_view name, std::string_view type, std::string_view help, Number value) {
    family(name, type, help);
    sample({}, value);
  }
  std::string take() { return std::move(text_); }

 private:
  void begin(Labels labels, std::string_view suffix) {
    text_.append(name_).append(suffix);
    char separator = '{';
    for (const Label& label : labels) {
      text_.push_back(separator);
      text_.append(label.name).append("=\"");
      escape(label.value);
      text_.push_back('"');
      separator = ',';
    }
    text_.append(labels.size() > 0 ? "} " : " ");
  }
  // A worktree's id comes from a store that others write, too. Different ids stay different.
  void escape(std::string_view value) {
    for (const char c : value) {
      if (c == '\\' || c == '"') {
        text_.push_back('\\');
        text_.push_back(c);
      } else if (c >= 0x20 && c < 0x7f && c != '%') {
        text_.push_back(c);
      } else {
        char code[4];
        std::snprintf(code, sizeof code, "%%%02X", static_cast<unsigned>(static_cast<unsigned char>(c)));
        text_.append(code);
      }
    }
  }

  std::string text_;
  std::string_view name_;
};

constexpr std::string_view kWorktree = "worktree";

double seconds_of(std::uint64_t micros) {
  return static_cast<double>(micros) / 1e6;
}

// One sample for each worktree, of the cell that `cell` picks.
template <class Cell>
void for_each_worktree(Exposition& out, const TrafficTotals& traffic, std::string_view name,
                       std::string_view type, std::string_view help, Cell cell) {
  out.family(name, type, help);
  for (const auto& [worktree, totals] : traffic) out.sample({{kWorktree, worktree}}, cell(totals));
}

void append_requests(Exposition& out, const TrafficTotals& traffic) {
  static constexpr std::array<std::string_view, kStatusClasses> kClasses = {"1xx", "2xx", "3xx", "4xx",
                                                                            "5xx"};
  out.family("hedge_requests_total", "counter", "Finished requests by class of status.");
  for (const auto& [worktree, totals] : traffic) {
    for (std::size_t i = 0; i < kStatusClasses; ++i) {
      out.sample({{kWorktree, worktree}, {"code", kClasses[i]}}, totals.by_class[i]);
    }
  }
  out.family("hedge_errors_total", "counter",
             "Requests that ended in an error of the edge or its upstream, by error id.");
  for (const auto& [worktree, totals] : traffic) {
    for (std::size_t i = 0; i < kProxyReasons; ++i) {
      if (totals.errors[i] == 0) continue;
      out.sample({{kWorktree, worktree}, {"error", facts(static_cast<ProxyReason>(i)).id}}, totals.errors[i]);
    }
  }
}

void append_durations(Exposition& out, const TrafficTotals& traffic) {
  // In the order of kLatencyBounds.
  static constexpr std::array<std::string_view, kLatencyBuckets> kBounds = {
      "0.001", "0.0025", "0.005", "0.01", "0.025", "0.05", "0.1",
      "0.25",  "0.5",    "1",     "2.5",  "5",     "10",   "+Inf"};
  out.family("hedge_request_duration_seconds", "histogram",
             "From a request's head to the end of its response; of tunnels until they open.");
  for (const auto& [worktree, totals] : traffic) {
    std::uint64_t count = 0;
    for (std::size_t i = 0; i < kLatencyBuckets; ++i) {
      count += totals.by_duration[i];
      out.sample({{kWorktree, worktree}, {"le", kBounds[i]}}, count, "_bucket");
    }
    out.sample({{kWorktree, worktree}}, seconds_of(totals.duration_micros), "_sum");
    out.sample({{kWorktree, worktree}}, count, "_count");
  }
}

void append_traffic(Exposition& out, const TrafficTotals& traffic) {
  append_requests(out, traffic);
  append_durations(out, traffic);
  out.family("hedge_body_bytes_total", "counter",
             "Bytes of bodies and tunnels, from (in) and to (out) clients.");
  for (const auto& [worktree, totals] : traffic) {
    out.sample({{kWorktree, worktree}, {"direction", "in"}}, totals.bytes_received);
    out.sample({{kWorktree, worktree}, {"direction", "out"}}, totals.bytes_sent);
  }
  for_each_worktree(out, traffic, "hedge_requests_open", "gauge", "Requests under way, tunnels included.",
                    [](const WorktreeTotals& totals) { return totals.requests_open; });
  for_each_worktree(out, traffic, "hedge_tunnels_open", "gauge", "Open WebSockets and other upgrades.",
                    [](const WorktreeTotals& totals) { return totals.tunnels_open; });
  for_each_worktree(out, traffic, "hedge_upstream_resolves_total", "counter",
                    "Requests that waited for the upstream's address.",
                    [](const WorktreeTotals& totals) { return totals.resolves; });
  for_each_worktree(out, traffic, "hedge_upstream_connects_total", "counter",
                    "Requests that waited for a new connection to the upstream.",
                    [](const WorktreeTotals& totals) { return totals.connects; });
  for_each_worktree(out, traffic, "hedge_upstream_retries_total", "counter",
                    "Requests that were sent again on a fresh connection.",
                    [](const WorktreeTotals& totals) { return totals.retries; });
}

void append_edge(Exposition& out, const EdgeMetrics& edge, const ControlMetrics& control) {
  out.family("hedge_build_info", "gauge", "Always 1.");
  out.sample({{"version", HEDGE_VERSION}}, std::uint64_t{1});
  out.single("hedge_uptime_seconds", "gauge", "Since this process began to serve.",
             static_cast<std::uint64_t>(control.uptime.count()));
  out.single("hedge_workers", "gauge", "Threads that serve requests.", edge.workers);
  out.single("hedge_routes", "gauge", "Routes in use.", control.routes);
  out.single("hedge_connections_open", "gauge", "Open connections of clients.", edge.connections_open);
  out.single("hedge_connections_total", "counter", "Connections of clients.", edge.connections);
  out.single("hedge_http_requests_total", "counter", "Requests whose head arrived.", edge.requests);
  out.single("hedge_accept_back_offs_total", "counter",
             "How often a listener rested for want of descriptors or memory.", edge.accept_back_offs);
  out.single("hedge_dns_queries_total", "counter", "Resolutions begun, each for all who asked at once.",
             edge.resolves);
  out.single("hedge_connects_total", "counter", "Connections to upstreams begun.", edge.upstream_connects);
  out.family("hedge_tls_handshakes_total", "counter", "TLS handshakes by how they ended.");
  out.sample({{"result", "ok"}}, edge.handshakes_done);
  for (std::size_t i = 0; i < kHandshakeFailures; ++i) {
    out.sample({{"result", label_of(static_cast<HandshakeFailure>(i))}}, edge.handshakes_failed[i]);
  }
  out.single("hedge_access_log_dropped_lines_total", "counter", "Lines lost because the disk was too slow.",
             control.access_log_dropped);
  out.family("hedge_reloads_total", "counter", "Readings of the settings file after a SIGHUP.");
  out.sample({{"result", "ok"}}, control.reloads - control.reloads_failed);
  out.sample({{"result", "failed"}}, control.reloads_failed);
}

void append_process(Exposition& out, const ProcessFacts& process) {
  out.single("process_open_fds", "gauge", "Open file descriptors.", process.open_descriptors);
  out.single("process_max_fds", "gauge", "Most file descriptors that may be open.", process.most_descriptors);
  out.single("process_resident_memory_bytes", "gauge", "Memory that is not swapped out.",
             process.resident_bytes);
  out.single("process_cpu_seconds_total", "counter", "Time on processors, of user and system.",
             process.cpu_seconds);
  out.single("process_start_time_seconds", "gauge", "UNIX time of the process's start.",
             process.start_time_seconds);
}

}  // namespace

std::string render_metrics(const EdgeMetrics& edge, const ControlMetrics& control) {
  Exposition out;
  append_edge(out, edge, control);
  append_process(out, control.process);
  append_traffic(out, edge.traffic);
  return out.take();
}

}  // namespace hedge::proxy
