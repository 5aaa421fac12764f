// The frame of the edge's own pages: one style, light and dark, no script, nothing from elsewhere.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace hedge::proxy {

// Each text is escaped, and cut where its escaped form would pass `most` bytes.
class HtmlPage {
 public:
  // `refresh_seconds`: the page loads itself again after that; 0: never. `most_bytes`: of the whole page.
  HtmlPage(std::string_view title, int refresh_seconds, std::size_t most_bytes);

  // Markup of our own.
  HtmlPage& raw(std::string_view markup);
  HtmlPage& text(std::string_view text, std::size_t most);
  HtmlPage& number(std::size_t value);
  // Nothing for an empty text.
  HtmlPage& paragraph(std::string_view text, std::size_t most);
  // A row of a <dl>; nothing for an empty value.
  HtmlPage& row(std::string_view name, std::string_view value, std::size_t most);
  // A command to be copied: a click selects it whole.
  HtmlPage& command(std::string_view command, std::size_t most);

  bool has_room_for(std::size_t bytes) const;
  // The whole page.
  std::string take();

 private:
  std::string out_;
  std::size_t most_bytes_;
};

}  // namespace hedge::proxy
