#include "router/edge_settings.h"

#include <set>

#include "router/host_pattern.h"

namespace hedge::router {
namespace {

// Adds what is wrong with `key` to the file's problems; the error's own first hint says what to write
// instead.
void report(config::TomlTable& table, std::string_view key, const Error& error) {
  table.problem(key, error.text(), error.hints().empty() ? "" : error.hints().front());
}

class RoutesReader {
 public:
  std::vector<Route> read(config::TomlTable root) {
    for (config::TomlTable& entry : root.tables("routes")) read_entry(entry);
    return std::move(routes_);
  }

 private:
  void read_entry(config::TomlTable& entry) {
    Route route;
    std::string host;
    std::string upstream;
    bool wildcard = false;
    entry.read("host", host);
    entry.read("upstream", upstream);
    entry.read("wildcard", wildcard);
    entry.read_choice("protocol", route.protocol,
                      {{"http1", Protocol::http1}, {"h2c", Protocol::h2c}, {"https", Protocol::https}});
    route.match = wildcard ? HostMatch::exact_and_below : HostMatch::exact;
    const bool has_host = read_host(entry, host, route);
    const bool has_upstream = read_upstream(entry, upstream, route);
    if (has_host && has_upstream) routes_.push_back(std::move(route));
  }

  bool read_host(config::TomlTable& entry, const std::string& text, Route& route) {
    if (!entry.has("host")) {
      entry.problem("host", "a route needs a host");
      return false;
    }
    auto host = canonical_host(text);
    if (!host) {
      report(entry, "host", host.error());
      return false;
    }
    if (!hosts_.insert(*host).second) {
      entry.problem("host", "host " + *host + " stands twice");
      return false;
    }
    route.host = std::move(*host);
    return true;
  }

  bool read_upstream(config::TomlTable& entry, const std::string& text, Route& route) {
    if (!entry.has("upstream")) {
      entry.problem("upstream", "a route needs an upstream");
      return false;
    }
    auto upstream = parse_upstream(text);
    if (!upstream) {
      report(entry, "upstream", upstream.error());
      return false;
    }
    route.upstream = std::move(*upstream);
    return true;
  }

  std::set<std::string> hosts_;
  std::vector<Route> routes_;
};

void check_suffixes(config::TomlFile& file, config::EdgeConfig& edge) {
  auto table = file.root().table("edge");
  if (!table) return;
  for (std::string& suffix : edge.suffixes) {
    auto host = canonical_host(suffix);
    if (host)
      suffix = std::move(*host);
    else
      report(*table, "suffixes", host.error());
  }
}

Result<EdgeSettings> read_settings(config::TomlFile& file, const std::filesystem::path& directory) {
  EdgeSettings settings;
  settings.edge = config::read_edge_table(file, directory);
  check_suffixes(file, settings.edge);
  settings.routes = RoutesReader().read(file.root());
  if (auto checked = file.finish(); !checked) return checked.error();
  return settings;
}

}  // namespace

Result<EdgeSettings> load_edge_settings(const std::filesystem::path& path) {
  auto file = config::TomlFile::load(path, path.string());
  if (!file) return file.error();
  std::error_code failure;
  return read_settings(**file, std::filesystem::absolute(path, failure).parent_path());
}

Result<EdgeSettings> parse_edge_settings(std::string_view text, std::string name) {
  auto file = config::TomlFile::parse(text, std::move(name));
  if (!file) return file.error();
  return read_settings(**file, {});
}

}  // namespace hedge::router
