#include "certs/system_store_layout.h"

#include <array>

#include <unistd.h>

namespace hedge::certs {
namespace fs = std::filesystem;

namespace {

// Paths are relative to the file system's root.
struct KnownLayout {
  const char* sign;  // a directory that only this family has; empty: none is needed
  const char* anchors;
  const char* bundle;
  const char* tool;
};

// openSUSE's tool has the name of Debian's, so its directory is asked for first. Arch has Fedora's tool.
constexpr std::array<KnownLayout, 4> kLayouts{
    {{"etc/pki/trust/anchors", "etc/pki/trust/anchors", "var/lib/ca-certificates/ca-bundle.pem",
      "usr/sbin/update-ca-certificates"},
     {"etc/pki/ca-trust/source", "etc/pki/ca-trust/source/anchors",
      "etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem", "usr/bin/update-ca-trust"},
     {"etc/ca-certificates/trust-source", "etc/ca-certificates/trust-source/anchors",
      "etc/ca-certificates/extracted/tls-ca-bundle.pem", "usr/bin/update-ca-trust"},
     // Debian, Ubuntu and Alpine.
     {"", "usr/local/share/ca-certificates", "etc/ssl/certs/ca-certificates.crt",
      "usr/sbin/update-ca-certificates"}}};

}  // namespace

std::optional<SystemStoreLayout> find_system_store_layout(const fs::path& root) {
  std::error_code failure;
  for (const KnownLayout& known : kLayouts) {
    if (*known.sign != '\0' && !fs::is_directory(root / known.sign, failure)) continue;
    if (::access((root / known.tool).c_str(), X_OK) != 0) continue;
    return SystemStoreLayout{root / known.anchors, root / known.bundle, {(root / known.tool).string()}};
  }
  return std::nullopt;
}

}  // namespace hedge::certs
