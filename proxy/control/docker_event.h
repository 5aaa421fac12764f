// What the engine tells about containers, line by line. No I/O.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace hedge::proxy {

enum class DockerChange {
  altered,  // something may be found elsewhere now: started, paused, renamed, connected to a network
  ended,  // what runs at the container's addresses is no longer this container: died, destroyed, disconnected
};

struct DockerEvent {
  DockerChange change = DockerChange::altered;
  std::string container_id;  // may be empty for `altered`
};

// The path of the event stream, filtered to what parse_docker_event() knows.
std::string docker_events_path();

// Absent: not an event, or one that does not matter.
std::optional<DockerEvent> parse_docker_event(std::string_view line);

// Cuts a stream of bytes into lines.
class LineSplitter {
 public:
  static constexpr std::size_t kLongestLine = 1U << 20;

  // False: a line is longer than kLongestLine; the stream is not what it should be.
  bool add(std::string_view bytes);
  // The next whole line without its end; absent: none is complete.
  std::optional<std::string> next();

 private:
  std::string pending_;
  std::size_t consumed_ = 0;  // of pending_, by lines that were given out
  std::size_t open_ = 0;      // bytes after the last line's end
};

}  // namespace hedge::proxy
