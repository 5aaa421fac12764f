#include "config/edge_config.h"

#include <algorithm>
#include <array>

#include <arpa/inet.h>

#include "base/text.h"

namespace hedge::config {
namespace fs = std::filesystem;
using namespace std::chrono_literals;

namespace {

constexpr std::size_t kLongestUnixPath = 107;  // sun_path less its NUL

// Source: Chromium's net/http/transport_security_state_static.json, the entries that are whole top-level
// domains.
constexpr std::array<std::string_view, 41> kPreloadedTopLevels = {
    "android", "app",     "azure",  "bank",    "bing",      "boo",  "channel", "chrome",    "dad",
    "day",     "dev",     "eat",    "esq",     "fly",       "foo",  "gle",     "gmail",     "google",
    "hangout", "hotmail", "how",    "ing",     "insurance", "meet", "meme",    "microsoft", "mov",
    "new",     "nexus",   "office", "page",    "phd",       "play", "prof",    "rsvp",      "search",
    "skype",   "windows", "xbox",   "youtube", "zip"};

std::string_view top_level(std::string_view domain) {
  return domain.substr(domain.rfind('.') + 1);
}

// The family of a literal address, or none.
std::optional<int> family_of(const std::string& ip) {
  std::array<unsigned char, sizeof(in6_addr)> address{};
  for (const int family : {AF_INET, AF_INET6}) {
    if (::inet_pton(family, ip.c_str(), address.data()) == 1) return family;
  }
  return std::nullopt;
}

bool is_address_or_network(std::string_view text) {
  const auto slash = text.find('/');
  const auto family = family_of(std::string(text.substr(0, slash)));
  if (!family) return false;
  if (slash == std::string_view::npos) return true;
  const auto bits = parse_number<unsigned>(text.substr(slash + 1));
  return bits && *bits <= (*family == AF_INET ? 32U : 128U);
}

bool is_docker_host(std::string_view text) {
  if (text.starts_with("unix:///")) return text.size() - 7 <= kLongestUnixPath;
  if (!text.starts_with("tcp://")) return false;
  const std::string_view rest = text.substr(6);
  const auto colon = rest.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return false;
  const auto port = parse_number<std::uint16_t>(rest.substr(colon + 1));
  return port && *port != 0;
}

class EdgeReader {
 public:
  EdgeReader(TomlTable table, const fs::path& directory) : table_(table), directory_(directory) {}

  EdgeConfig read() {
    config_.state_dir = path("state_dir");
    config_.control = path("control");
    if (config_.control && config_.control->string().size() > kLongestUnixPath) {
      table_.problem("control", "a socket's path has at most 107 bytes", "choose a shorter directory");
    }
    read_workers();
    config_.http = addresses("http", {});
    config_.https = addresses("https", {});
    // Whoever names the addresses of one kind wants just those, not the other kind's defaults beside them.
    if (config_.http && !config_.https)
      config_.https.emplace();
    else if (config_.https && !config_.http)
      config_.http.emplace();
    read_certificate();
    read_access_log();
    config_.dns_servers = addresses("dns_servers", 53).value_or(std::vector<SocketAddress>());
    read_durations();
    table_.read_choice("cookies", config_.cookies,
                       {{"narrow", CookieMode::narrow}, {"pass", CookieMode::pass}});
    read_trusted_proxies();
    read_suffixes();
    read_docker();
    return std::move(config_);
  }

 private:
  std::optional<fs::path> path(std::string_view key) {
    std::optional<std::string> text;
    table_.read(key, text);
    if (!text) return std::nullopt;
    if (text->empty()) {
      table_.problem(key, "a path is expected, not an empty text");
      return std::nullopt;
    }
    return directory_ / *text;
  }

  // One text or a list of them.
  std::optional<std::vector<std::string>> texts(std::string_view key) {
    if (table_.is_string(key)) {
      std::string text;
      table_.read(key, text);
      return std::vector<std::string>{text};
    }
    const bool is_there = table_.has(key);
    std::vector<std::string> list;
    table_.read(key, list);
    return is_there ? std::optional(std::move(list)) : std::nullopt;
  }

  std::optional<std::vector<SocketAddress>> addresses(std::string_view key,
                                                      std::optional<std::uint16_t> default_port) {
    const auto list = texts(key);
    if (!list) return std::nullopt;
    std::vector<SocketAddress> out;
    for (const std::string& text : *list) {
      auto address = parse_socket_address(text, default_port);
      if (address)
        out.push_back(std::move(*address));
      else
        table_.problem(key, address.error().text());
    }
    return out;
  }

  void read_workers() {
    if (!table_.has("workers")) {
      std::int64_t all_processors = 0;
      table_.read("workers", all_processors);
      return;
    }
    std::int64_t workers = 1;
    table_.read("workers", workers, IntegerRange{1, 64});
    config_.workers = static_cast<std::uint32_t>(workers);
  }

  void read_certificate() {
    config_.certificate = path("certificate");
    config_.private_key = path("private_key");
    if (config_.certificate && !config_.private_key)
      table_.problem("certificate", "private_key is missing beside it");
    if (config_.private_key && !config_.certificate)
      table_.problem("private_key", "certificate is missing beside it");
  }

  void read_access_log() {
    std::optional<std::string> text;
    table_.read("access_log", text);
    if (!text) return;
    config_.access_log_off = *text == "off";
    if (*text == "-")
      config_.access_log = fs::path("-");
    else if (text->empty())
      table_.problem("access_log", "a file, \"-\" or \"off\" is expected");
    else if (!config_.access_log_off)
      config_.access_log = directory_ / *text;
  }

  void read_durations() {
    table_.read("resolve_ttl", config_.resolve_ttl);
    if (config_.resolve_ttl > 1s) {
      table_.problem("resolve_ttl", "at most \"1s\": a container that comes back has another address");
    }
    table_.read("connect_timeout", config_.connect_timeout);
    if (config_.connect_timeout < 1ms || config_.connect_timeout > 60s) {
      table_.problem("connect_timeout", "from \"1ms\" to \"60s\"");
    }
  }

  void read_trusted_proxies() {
    table_.read("trusted_proxies", config_.trusted_proxies);
    for (const std::string& peer : config_.trusted_proxies) {
      if (is_address_or_network(peer)) continue;
      table_.problem("trusted_proxies",
                     "\"" + printable(peer) + "\" is not an address or a network such as 10.0.0.0/8");
    }
  }

  void read_suffixes() {
    table_.read("suffixes", config_.suffixes);
    if (config_.suffixes.empty()) table_.problem("suffixes", "at least one domain is needed");
    const bool is_http_only = config_.https && config_.https->empty();
    for (std::string& suffix : config_.suffixes) {
      suffix = ascii_lower(suffix);
      if (is_http_only && is_https_only_domain(suffix)) {
        table_.problem("suffixes",
                       "browsers open names below ." + std::string(top_level(suffix)) +
                           " only over HTTPS, and this edge has none (domain_preloaded)",
                       "add an https address, or use a domain below .localhost or .test");
      }
      if (top_level(suffix) == "local") {
        config_.warnings.push_back(
            table_.where("suffixes") +
            ": names below .local belong to multicast DNS and may "
            "resolve slowly or not at all; a domain below .localhost or .test is safe");
      }
    }
  }

  void read_docker() {
    table_.read("docker_host", config_.docker_host);
    if (config_.docker_host && !is_docker_host(*config_.docker_host)) {
      table_.problem("docker_host", "\"unix:///path\" or \"tcp://host:port\" is expected");
    }
    table_.read("network", config_.network);
    if (config_.network && config_.network->empty())
      table_.problem("network", "a network's name or id is expected");
  }

  TomlTable table_;
  const fs::path& directory_;
  EdgeConfig config_;
};

}  // namespace

Result<SocketAddress> parse_socket_address(std::string_view text, std::optional<std::uint16_t> default_port) {
  const auto wrong = [text] {
    return Error(
        ErrorKind::invalid_input,
        "\"" + printable(text) + "\" is not an address and port such as 127.0.0.1:8080 or [::1]:8080");
  };
  SocketAddress out;
  std::string_view ip = text;
  std::optional<std::string_view> port;
  if (const auto bracket = text.find(']'); text.starts_with('[') && bracket != std::string_view::npos) {
    ip = text.substr(1, bracket - 1);
    const std::string_view rest = text.substr(bracket + 1);
    if (!rest.empty() && rest.front() != ':') return wrong();
    if (!rest.empty()) port = rest.substr(1);
  } else if (const auto colon = text.rfind(':'); colon != std::string_view::npos) {
    ip = text.substr(0, colon);
    port = text.substr(colon + 1);
  }
  out.ip = std::string(ip);
  const auto family = family_of(out.ip);
  if (!family || (*family == AF_INET6) != text.starts_with('[')) return wrong();
  const auto number = port ? parse_number<std::uint16_t>(*port) : default_port;
  if (!number) return wrong();
  out.port = *number;
  return out;
}

std::string to_string(const SocketAddress& address) {
  const bool is_v6 = address.ip.find(':') != std::string::npos;
  return (is_v6 ? "[" + address.ip + "]" : address.ip) + ":" + std::to_string(address.port);
}

bool is_https_only_domain(std::string_view domain) {
  if (domain.ends_with('.')) domain.remove_suffix(1);
  const std::string last = ascii_lower(top_level(domain));
  return std::find(kPreloadedTopLevels.begin(), kPreloadedTopLevels.end(), last) != kPreloadedTopLevels.end();
}

Result<std::optional<fs::path>> load_state_dir(const fs::path& path) {
  auto file = TomlFile::load(path, path.string());
  if (!file && file.error().kind() == ErrorKind::not_found) return std::optional<fs::path>();
  if (!file) return file.error();
  auto table = (*file)->root().table("edge");
  std::optional<std::string> text;
  if (table) table->read("state_dir", text);
  if (table && text && text->empty()) table->problem("state_dir", "a path is expected, not an empty text");
  if (!(*file)->problems().empty())
    return Error(ErrorKind::invalid_input, (*file)->problems().front().to_string()).with_id("config_invalid");
  if (!text) return std::optional<fs::path>();
  std::error_code failure;
  return std::optional<fs::path>(fs::absolute(path, failure).parent_path() / *text);
}

EdgeConfig read_edge_table(TomlFile& file, const fs::path& directory) {
  auto table = file.root().table("edge");
  if (!table) return {};
  return EdgeReader(*table, directory).read();
}

}  // namespace hedge::config
