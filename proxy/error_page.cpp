#include "proxy/error_page.h"

#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "proxy/http/message.h"
#include "proxy/pages/html_page.h"
#include "proxy/pages/next_step.h"

namespace hedge::proxy {
namespace {

// In thousandths; 0 for anything that is no qvalue: a digit 0 or 1, and behind a point three digits at most
// (RFC 9110, section 12.4.2).
int qvalue(std::string_view text) {
  if (text.empty() || text.size() > 5 || (text[0] != '0' && text[0] != '1')) return 0;
  if (text.size() > 1 && text[1] != '.') return 0;
  int value = text[0] == '1' ? 1000 : 0;
  int place = 100;
  for (std::size_t i = 2; i < text.size(); ++i, place /= 10) {
    if (text[i] < '0' || text[i] > '9') return 0;
    value += place * (text[i] - '0');
  }
  return value > 1000 ? 0 : value;
}

// The weight of one Accept element.
int weight(std::string_view parameters) {
  for (const std::string_view parameter : split(parameters, ';')) {
    const std::string_view trimmed = trim(parameter);
    if (trimmed.size() < 2 || ascii_lower(trimmed[0]) != 'q' || trimmed[1] != '=') continue;
    return qvalue(trimmed.substr(2));
  }
  return 1000;
}

// The colour of the page says whose matter it is.
std::string_view tone_of(const ProxyError& error) {
  if (error.reason == ProxyReason::stack_starting) return "wait";
  return error.side() == ProxySide::downstream ? "ask" : "fault";
}

// Our texts are lower case and without a full stop, as errors are; a page has sentences.
std::string sentence(std::string_view text) {
  std::string out(trim(text));
  if (out.empty()) return out;
  if (out.front() >= 'a' && out.front() <= 'z') out.front() = static_cast<char>(out.front() - 'a' + 'A');
  if (std::string_view(".!?`)").find(out.back()) == std::string_view::npos) out.push_back('.');
  return out;
}

void append_hosts(HtmlPage& page, const ErrorReport& report) {
  if (report.known_hosts.empty()) return;
  page.raw("<section><h2>This edge serves</h2><ul>");
  const std::string port = report.port == 0 ? std::string() : ":" + std::to_string(report.port);
  std::size_t shown = 0;
  for (const std::string_view host : report.known_hosts) {
    if (!page.has_room_for(2 * host.size() + 200)) break;
    page.raw("<li><a href=\"//").text(host, 260).raw(port).raw("/\">").text(host, 260).raw("</a></li>");
    ++shown;
  }
  page.raw("</ul>");
  const std::size_t total = std::max(report.known_hosts_total, report.known_hosts.size());
  if (total > shown) page.raw("<p>and ").number(total - shown).raw(" more: <code>hedge route ls</code></p>");
  page.raw("</section>\n");
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

std::string render_problem_json(const ErrorReport& report) {
  const NextStep step = next_step(report);
  nlohmann::ordered_json problem;
  problem["type"] = "urn:hedge:error:" + std::string(report.error.id());
  problem["title"] = std::string(facts(report.error.reason).title);
  problem["status"] = report.error.status();
  problem["detail"] = report.error.detail;
  problem["id"] = std::string(report.error.id());
  problem["host"] = std::string(report.host);
  if (!report.worktree.empty()) problem["worktree"] = std::string(report.worktree);
  if (!report.upstream.empty()) problem["upstream"] = std::string(report.upstream);
  problem["next"] = step.command;
  if (!step.advice.empty()) problem["advice"] = step.advice;
  if (!report.request_id.empty()) problem["request_id"] = std::string(report.request_id);
  if (!report.known_hosts.empty()) {
    auto& hosts = problem["known_hosts"] = nlohmann::ordered_json::array();
    for (const std::string_view host : report.known_hosts) hosts.push_back(std::string(host));
    problem["known_hosts_total"] = std::max(report.known_hosts_total, report.known_hosts.size());
  }
  // A hostile Host field need not be UTF-8; dump() would throw.
  return problem.dump(2, ' ', true, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

std::string render_error_html(const ErrorReport& report) {
  const NextStep step = next_step(report);
  HtmlPage page(facts(report.error.reason).title, report.retry_after_seconds, kMostPageBytes);
  page.raw("<main class=").raw(tone_of(report.error)).raw("><p class=id><b>").number(report.error.status());
  page.raw("</b>").text(report.error.id(), 60).raw("</p>\n<h1>");
  page.text(facts(report.error.reason).title, 120).raw("</h1>\n");
  page.paragraph(sentence(report.error.detail), 900);
  if (report.retry_after_seconds > 0)
    page.raw("<p class=again>Looking again every ")
        .number(static_cast<std::size_t>(report.retry_after_seconds))
        .raw(" seconds.</p>\n");
  page.command(step.command, 400);
  page.paragraph(sentence(step.advice), 600);
  page.raw("<dl>\n");
  page.row("Host", report.host, 300);
  page.row("Worktree", report.worktree, 200);
  page.row("Upstream", report.upstream, 400);
  page.row("Request", report.request_id, 130);
  page.raw("</dl>\n");
  append_hosts(page, report);
  page.raw("</main>\n<footer>Answered by the Hedge edge, not by the application.</footer>");
  return page.take();
}

}  // namespace hedge::proxy
