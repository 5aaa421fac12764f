#include "contract/requirements/answer.h"

#include <algorithm>
#include <thread>

#include "base/http_client.h"
#include "base/text.h"

namespace hedge::contract {
namespace {

// A running edge sees a new route within a second, also without being told.
constexpr auto kPickUpLimit = std::chrono::milliseconds(1500);
constexpr auto kPickUpPause = std::chrono::milliseconds(50);
constexpr std::uint64_t kMaxBodyBytes = 64U << 10;

CheckOutcome fail(ErrorKind kind, std::string text, std::string_view id) {
  return CheckOutcome::fail(Error(kind, std::move(text)).with_id(id));
}

Result<EdgeAnswer> fetch(const AnswerQuestion& question, const router::EdgeListener& listener) {
  HttpRequest request;
  request.target = question.path;
  request.host = question.host;
  request.headers = {{"Accept", "*/*"}, {"User-Agent", "hedge-verify"}};
  const TcpAddress server{listener.address, listener.port};
  const HttpAddress address = listener.scheme == "https" ? HttpAddress(TlsAddress{server, question.host, question.root})
                                                         : HttpAddress(server);
  auto response = http_fetch(address, request, question.limit, kMaxBodyBytes);
  if (!response) return response.error();
  return EdgeAnswer{response->status, std::string(response->header("Hedge-Error")),
                    std::string(response->header("Hedge-Nonce")), std::move(response->body)};
}

bool is_not_yet_picked_up(const Result<EdgeAnswer>& answer) { return answer && answer->hedge_error == "route_unknown"; }

bool is_not_yet_listening(const Result<EdgeAnswer>& answer) {
  return answer && answer->hedge_error == "upstream_refused";
}

CheckOutcome of_edge_error(const AnswerQuestion& question, const std::string& id) {
  if (id == "upstream_refused") {
    return fail(ErrorKind::unavailable, "nothing listens on the application's port", "app_not_listening");
  }
  if (id == "upstream_timeout") return fail(ErrorKind::timed_out, "the application accepts no connection", "app_slow");
  return fail(ErrorKind::unavailable, "the edge answers " + id + " for " + question.host, id);
}

// The published URL's; null if there is none at all.
const router::EdgeListener* find_listener(const router::EdgeStatus& edge) {
  for (const std::string_view scheme : {"https", "http"}) {
    const auto found = std::ranges::find(edge.listeners, scheme, &router::EdgeListener::scheme);
    if (found != edge.listeners.end()) return &*found;
  }
  return nullptr;
}

}  // namespace

CheckOutcome judge_answer(const AnswerQuestion& question, const EdgeAnswer& answer) {
  if (!answer.hedge_error.empty()) return of_edge_error(question, printable(answer.hedge_error, 64));
  const std::string asked = "GET " + question.path + " gave " + std::to_string(answer.status);
  if (answer.status >= 500) return fail(ErrorKind::io, asked, "app_unhealthy");
  const std::string told(answer.hedge_nonce.empty() && question.body_is_nonce ? trim(answer.body) : answer.hedge_nonce);
  if (told.empty() && !question.body_is_nonce) return CheckOutcome::pass(asked);
  if (told == question.nonce) return CheckOutcome::pass(asked + " and the worktree's nonce");
  if (answer.status >= 400) return fail(ErrorKind::io, asked + " instead of the worktree's nonce", "app_unhealthy");
  return fail(ErrorKind::conflict, asked + ", but not with this worktree's nonce", "app_foreign_nonce");
}

CheckOutcome ask_application(const AnswerQuestion& question, const router::EdgeStatus& edge) {
  const router::EdgeListener* listener = find_listener(edge);
  if (listener == nullptr) {
    return CheckOutcome::unknown(Error(ErrorKind::unavailable, "the edge listens nowhere").with_id("edge_unresponsive"));
  }
  const auto start = std::chrono::steady_clock::now();
  const auto is_worth_waiting = [&](const Result<EdgeAnswer>& answer) {
    const auto waited = std::chrono::steady_clock::now() - start;
    return (is_not_yet_picked_up(answer) && waited < kPickUpLimit) ||
           (is_not_yet_listening(answer) && waited < question.start_limit);
  };
  Result<EdgeAnswer> answer = fetch(question, *listener);
  while (is_worth_waiting(answer)) {
    std::this_thread::sleep_for(kPickUpPause);
    answer = fetch(question, *listener);
  }
  if (answer) return judge_answer(question, *answer);
  if (answer.error().kind() == ErrorKind::timed_out) {
    return fail(ErrorKind::timed_out, "no answer within " + std::to_string(question.limit.count()) + " ms", "app_slow");
  }
  const bool is_known = !answer.error().id().empty();
  return fail(ErrorKind::unavailable, answer.error().to_string(), is_known ? answer.error().id() : "edge_unresponsive");
}

}  // namespace hedge::contract
