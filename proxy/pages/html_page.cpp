#include "proxy/pages/html_page.h"

#include <utility>

#include "base/text.h"

namespace hedge::proxy {
namespace {

constexpr std::string_view kStyle =
    R"(:root{color-scheme:light dark;--bg:#f4f5f2;--card:#fff;--ink:#1f281d;--dim:#5f6b5a;--line:#e2e6dd;--code:#f0f3ec;--link:#256029;--tone:#b3261e}
.ask{--tone:#9a5b00}.wait{--tone:#256029}
@media(prefers-color-scheme:dark){:root{--bg:#11150f;--card:#1a2018;--ink:#e4e9e0;--dim:#9aa694;--line:#2d352a;--code:#232b20;--link:#93cf8b;--tone:#ff8a80}
.ask{--tone:#f5b855}.wait{--tone:#93cf8b}}
*{box-sizing:border-box}
body{margin:0;padding:8vh 1.2rem 2rem;background:var(--bg);color:var(--ink);font:16px/1.55 system-ui,sans-serif}
main{max-width:43rem;margin:0 auto;padding:1.8rem 2rem 1.4rem;background:var(--card);border:1px solid var(--line);border-top:4px solid var(--tone);border-radius:12px}
h1{font-size:1.5rem;line-height:1.25;margin:.5rem 0 .7rem;text-wrap:balance}
h2{font-size:.95rem;margin:1.4rem 0 .3rem}
p{margin:.5rem 0;overflow-wrap:anywhere}
.id{margin:0;font:13px/1.4 ui-monospace,monospace;color:var(--dim)}
.id b{margin-right:.6rem;padding:.1rem .5rem;border-radius:1rem;background:var(--tone);color:var(--card)}
.label{margin:1.3rem 0 .3rem;font-size:.85rem;color:var(--dim)}
pre{margin:0;padding:.75rem 1rem;background:var(--code);border:1px solid var(--line);border-radius:8px;white-space:pre-wrap;overflow-wrap:anywhere}
pre,code{font:14px/1.5 ui-monospace,monospace}
pre code{user-select:all;-webkit-user-select:all}
pre:before{content:"$ ";color:var(--dim);user-select:none}
dl{display:grid;grid-template-columns:max-content 1fr;gap:.25rem 1.2rem;margin:1.4rem 0 0;padding-top:1rem;border-top:1px solid var(--line);font-size:.9rem}
dt{color:var(--dim)}dd{margin:0;overflow-wrap:anywhere}
ul{margin:.2rem 0;padding:0;list-style:none;columns:17rem}
li{padding:.15rem 0;overflow-wrap:anywhere;break-inside:avoid}
a{color:var(--link)}
.again:before{content:"";display:inline-block;width:.8em;height:.8em;margin-right:.55em;vertical-align:-.08em;border:2px solid var(--line);border-top-color:var(--tone);border-radius:50%;animation:t 1s linear infinite}
@keyframes t{to{transform:rotate(1turn)}}
@media(prefers-reduced-motion:reduce){.again:before{animation:none}}
footer{max-width:43rem;margin:.9rem auto 0;text-align:center;font-size:.8rem;color:var(--dim)}
)";
constexpr std::string_view kEnd = "\n</body></html>\n";

// Escaped, and cut between two characters. A byte that is not ASCII begins or continues a character of
// UTF-8; what is no UTF-8 is shown as the replacement character by every browser.
std::string escaped_at_most(std::string_view text, std::size_t most) {
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    std::size_t length = 1;
    while (i + length < text.size() && (static_cast<unsigned char>(text[i + length]) & 0xc0) == 0x80)
      ++length;
    const std::string piece = escape_html(text.substr(i, length));
    if (out.size() + piece.size() > most) return out + "…";
    out += piece;
    i += length;
  }
  return out;
}

}  // namespace

HtmlPage::HtmlPage(std::string_view title, int refresh_seconds, std::size_t most_bytes)
    : most_bytes_(most_bytes) {
  out_.reserve(most_bytes);
  raw("<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n");
  if (refresh_seconds > 0)
    raw("<meta http-equiv=\"refresh\" content=\"")
        .number(static_cast<std::size_t>(refresh_seconds))
        .raw("\">\n");
  raw("<title>").text(title, 120).raw("</title>\n<style>").raw(kStyle).raw("</style></head>\n<body>");
}

HtmlPage& HtmlPage::raw(std::string_view markup) {
  out_.append(markup);
  return *this;
}

HtmlPage& HtmlPage::text(std::string_view text, std::size_t most) {
  out_.append(escaped_at_most(text, most));
  return *this;
}

HtmlPage& HtmlPage::number(std::size_t value) {
  return raw(std::to_string(value));
}

HtmlPage& HtmlPage::paragraph(std::string_view content, std::size_t most) {
  if (content.empty()) return *this;
  return raw("<p>").text(content, most).raw("</p>\n");
}

HtmlPage& HtmlPage::row(std::string_view name, std::string_view value, std::size_t most) {
  if (value.empty()) return *this;
  return raw("<dt>").raw(name).raw("</dt><dd>").text(value, most).raw("</dd>\n");
}

HtmlPage& HtmlPage::command(std::string_view command, std::size_t most) {
  return raw("<p class=label>Run this in a terminal:</p>\n<pre><code>")
      .text(command, most)
      .raw("</code></pre>\n");
}

bool HtmlPage::has_room_for(std::size_t bytes) const {
  constexpr std::size_t kEndOfBody = 300;  // what follows the last list
  return out_.size() + bytes + kEndOfBody + kEnd.size() <= most_bytes_;
}

std::string HtmlPage::take() {
  out_.append(kEnd);
  return std::move(out_);
}

}  // namespace hedge::proxy
