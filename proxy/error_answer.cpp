#include "proxy/error_answer.h"

#include <array>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <string>
#include <string_view>
#include <utility>

namespace hedge::proxy {
namespace {

using http::Field;
using http::FieldId;

std::string_view reason_phrase(unsigned status) {
  struct Phrase {
    unsigned status;
    std::string_view text;
  };
  static constexpr std::array kPhrases = {
      Phrase{307, "Temporary Redirect"},
      Phrase{400, "Bad Request"},
      Phrase{404, "Not Found"},
      Phrase{414, "URI Too Long"},
      Phrase{431, "Request Header Fields Too Large"},
      Phrase{500, "Internal Server Error"},
      Phrase{501, "Not Implemented"},
      Phrase{502, "Bad Gateway"},
      Phrase{503, "Service Unavailable"},
      Phrase{504, "Gateway Timeout"},
      Phrase{508, "Loop Detected"},
  };
  for (const Phrase& phrase : kPhrases) {
    if (phrase.status == status) return phrase.text;
  }
  return "Error";
}

// RFC 9110, section 5.6.7.
std::string http_date() {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm utc{};
  ::gmtime_r(&now, &utc);
  static constexpr std::array kDays = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  static constexpr std::array kMonths = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                         "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  char text[64];
  std::snprintf(text, sizeof text, "%s, %02d %s %04d %02d:%02d:%02d GMT",
                kDays[static_cast<std::size_t>(utc.tm_wday)], utc.tm_mday,
                kMonths[static_cast<std::size_t>(utc.tm_mon)], utc.tm_year + 1900, utc.tm_hour, utc.tm_min,
                utc.tm_sec);
  return text;
}

// One message with a body in memory.
Task<bool> send_whole(http::Exchange& exchange, http::RequestState& state, unsigned status,
                      std::string body) {
  http::ResponseHead& head = state.response;
  head.status = status;
  head.reason = reason_phrase(status);
  head.body = http::BodyShape{http::Framing::length, body.size()};
  head.fields.push_back(Field{"Date", state.texts.emplace_back(http_date()), FieldId::other, false});
  head.fields.push_back(Field{"Cache-Control", "no-store", FieldId::other, false});
  // A body that has arrived already must not cost the client its connection.
  if (!exchange.body().finished()) static_cast<void>(exchange.body().take_buffered());
  std::string& kept = state.texts.emplace_back(std::move(body));
  http::BodyChunk whole;
  whole.data = kept;
  whole.last = true;
  const std::vector<Field> no_trailers;
  co_return co_await exchange.send_head(head, whole, no_trailers);
}

}  // namespace

Task<bool> answer_with_error(http::Exchange& exchange, http::RequestState& state, const ErrorReport& report) {
  const bool html = prefers_html(exchange.request().first(FieldId::accept));
  std::vector<Field>& fields = state.response.fields;
  state.response.clear();
  fields.push_back(Field{"Content-Type", html ? "text/html; charset=utf-8" : "application/problem+json",
                         FieldId::other, false});
  fields.push_back(Field{"Hedge-Error", report.error.id(), FieldId::other, false});
  fields.push_back(Field{"X-Content-Type-Options", "nosniff", FieldId::other, false});
  fields.push_back(Field{"Vary", "Accept", FieldId::other, false});
  if (html)
    fields.push_back(Field{"Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'",
                           FieldId::other, false});
  if (!report.request_id.empty())
    fields.push_back(Field{"X-Request-Id", report.request_id, FieldId::other, false});
  if (report.retry_after_seconds > 0) {
    const std::string& seconds = state.texts.emplace_back(std::to_string(report.retry_after_seconds));
    fields.push_back(Field{"Retry-After", seconds, FieldId::other, false});
  }
  state.record.error_id = report.error.id();
  std::string body = html ? render_error_html(report) : render_problem_json(report);
  co_return co_await send_whole(exchange, state, report.error.status(), std::move(body));
}

Task<bool> answer_with_https_redirect(http::Exchange& exchange, http::RequestState& state,
                                      std::string_view host, std::uint16_t https_port) {
  const http::RequestHead& request = exchange.request();
  std::string location = "https://" + std::string(host);
  if (https_port != 443) location += ":" + std::to_string(https_port);
  // "OPTIONS *" has no place in a URL.
  if (request.target != "*") location += std::string(request.target_prefix) + std::string(request.target);
  state.response.clear();
  state.response.fields.push_back(
      Field{"Location", state.texts.emplace_back(std::move(location)), FieldId::other, false});
  co_return co_await send_whole(exchange, state, 307, std::string());
}

}  // namespace hedge::proxy
