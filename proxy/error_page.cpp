#include "proxy/error_page.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "proxy/http/message.h"

namespace hedge::proxy {
namespace {

// More names than that help nobody.
constexpr std::size_t kMostHostsShown = 50;

// The weight of one Accept element in thousandths (RFC 9110, section 12.4.2).
int weight(std::string_view parameters) {
  for (const std::string_view parameter : split(parameters, ';')) {
    const std::string_view trimmed = trim(parameter);
    if (trimmed.size() < 3 || ascii_lower(trimmed[0]) != 'q' || trimmed[1] != '=') continue;
    double value = 0;
    const std::string_view digits = trimmed.substr(2);
    if (std::from_chars(digits.data(), digits.data() + digits.size(), value).ec != std::errc()) return 0;
    return value < 0 ? 0 : value > 1 ? 1000 : static_cast<int>(value * 1000);
  }
  return 1000;
}

void append_row(std::string& out, std::string_view name, std::string_view value) {
  if (value.empty()) return;
  out.append("<dt>").append(name).append("</dt><dd>").append(escape_html(value)).append("</dd>\n");
}

constexpr std::string_view kStyle = R"(:root{color-scheme:light dark}
body{font:16px/1.55 system-ui,sans-serif;margin:0;background:#f6f7f4;color:#23301f}
main{max-width:42rem;margin:10vh auto;padding:2rem 2.2rem;background:#fff;border-radius:14px;box-shadow:0 1px 3px #0002}
h1{font-size:1.35rem;margin:.2rem 0 1rem}
.id{font:13px ui-monospace,monospace;color:#5b6b54}
dl{display:grid;grid-template-columns:max-content 1fr;gap:.3rem 1.2rem;margin:1.4rem 0}
dt{color:#5b6b54}dd{margin:0;overflow-wrap:anywhere}
pre{background:#eef2ea;border-radius:8px;padding:.8rem 1rem;overflow-x:auto;white-space:pre-wrap}
ul{padding-left:1.2rem}a{color:#2f6b2a}
@media(prefers-color-scheme:dark){body{background:#12170f;color:#dfe6da}main{background:#1b2217;box-shadow:none}
.id,dt{color:#9bab92}pre{background:#262f21}a{color:#9ccf8f}}
)";

void append_known_hosts(std::string& out, const ErrorReport& report) {
  if (report.known_hosts.empty()) return;
  out.append("<p>This edge serves:</p>\n<ul>\n");
  for (std::size_t i = 0; i < report.known_hosts.size() && i < kMostHostsShown; ++i) {
    const std::string host = escape_html(report.known_hosts[i]);
    out.append("<li><a href=\"//").append(host).append("/\">").append(host).append("</a></li>\n");
  }
  out.append("</ul>\n");
  if (report.known_hosts.size() > kMostHostsShown)
    out.append("<p>and ")
        .append(std::to_string(report.known_hosts.size() - kMostHostsShown))
        .append(" more.</p>\n");
}

}  // namespace

bool prefers_html(std::string_view accept) {
  int html = 0;
  int json = 0;
  http::for_each_list_element(accept, [&](std::string_view element) {
    const std::size_t semicolon = element.find(';');
    const std::string_view type = trim(element.substr(0, semicolon));
    const int q =
        weight(semicolon == std::string_view::npos ? std::string_view() : element.substr(semicolon + 1));
    if (equals_ignoring_case(type, "text/html") || equals_ignoring_case(type, "application/xhtml+xml"))
      html = std::max(html, q);
    if (equals_ignoring_case(type, "application/json") ||
        equals_ignoring_case(type, "application/problem+json"))
      json = std::max(json, q);
  });
  return html > 0 && html >= json;
}

std::string next_step(const ErrorReport& report) {
  if (!report.error.fix.empty()) return report.error.fix;
  const bool owned = !report.worktree.empty();
  switch (report.error.reason) {
    case ProxyReason::route_unknown:
      return "hedge route ls";
    case ProxyReason::stack_starting:
      return "hedge list";
    case ProxyReason::container_stopped:
      if (owned) return "hedge up " + std::string(report.worktree);
      break;
    case ProxyReason::upstream_unresolved:
      // Either the worktree is there and its stack is down, or the route is stale.
      return owned ? "hedge up " + std::string(report.worktree) + "   (or, if it is gone: hedge gc)"
                   : "hedge route rm " + printable(report.host);
    case ProxyReason::upstream_refused:
    case ProxyReason::upstream_closed:
    case ProxyReason::upstream_bad_response:
    case ProxyReason::upstream_timeout:
      if (owned) return "hedge verify";
      break;
    default:
      break;
  }
  return "hedge explain " + std::string(report.error.id());
}

std::string render_problem_json(const ErrorReport& report) {
  nlohmann::ordered_json problem;
  problem["type"] = "urn:hedge:error:" + std::string(report.error.id());
  problem["title"] = std::string(facts(report.error.reason).title);
  problem["status"] = report.error.status();
  problem["detail"] = report.error.detail;
  problem["id"] = std::string(report.error.id());
  problem["host"] = std::string(report.host);
  if (!report.worktree.empty()) problem["worktree"] = std::string(report.worktree);
  if (!report.upstream.empty()) problem["upstream"] = std::string(report.upstream);
  problem["next"] = next_step(report);
  if (!report.request_id.empty()) problem["request_id"] = std::string(report.request_id);
  if (!report.known_hosts.empty()) {
    auto& hosts = problem["known_hosts"] = nlohmann::ordered_json::array();
    for (const std::string_view host : report.known_hosts) hosts.push_back(std::string(host));
  }
  // A hostile Host field need not be UTF-8; dump() would throw.
  return problem.dump(2, ' ', true, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

std::string render_error_html(const ErrorReport& report) {
  const std::string_view title = facts(report.error.reason).title;
  std::string out;
  out.reserve(4096);
  out.append("<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n");
  out.append("<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n");
  if (report.retry_after_seconds > 0) {
    out.append("<meta http-equiv=\"refresh\" content=\"");
    out.append(std::to_string(report.retry_after_seconds)).append("\">\n");
  }
  out.append("<title>")
      .append(title)
      .append("</title>\n<style>")
      .append(kStyle)
      .append("</style></head>\n<body><main>\n");
  out.append("<div class=\"id\">").append(std::to_string(report.error.status())).append(" · ");
  out.append(report.error.id()).append("</div>\n<h1>").append(title).append("</h1>\n");
  if (!report.error.detail.empty())
    out.append("<p>").append(escape_html(report.error.detail)).append("</p>\n");
  out.append("<dl>\n");
  append_row(out, "Host", report.host);
  append_row(out, "Worktree", report.worktree);
  append_row(out, "Upstream", report.upstream);
  append_row(out, "Request", report.request_id);
  out.append("</dl>\n<p>What to do next:</p>\n<pre>")
      .append(escape_html(next_step(report)))
      .append("</pre>\n");
  append_known_hosts(out, report);
  if (report.retry_after_seconds > 0) out.append("<p>This page looks again by itself.</p>\n");
  out.append("</main></body></html>\n");
  return out;
}

}  // namespace hedge::proxy
