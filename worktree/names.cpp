#include "worktree/names.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <system_error>

#include "base/digest.h"
#include "base/text.h"
#include "worktree/parameters.h"

namespace hedge::worktree {
namespace {

constexpr std::string_view kNamelessBranch =
    "wt";  // what a branch without a single letter or digit is called
constexpr std::size_t kMaxDerivedBytes = 63;

// Words that would meet something else: the main checkout, the tool, every app's golden copy and test
// database.
constexpr std::array<std::string_view, 6> kReserved{"main", "www", "hedge", "localhost", "golden", "test"};

struct Readable {
  std::string text;
  bool is_lossy = false;  // something beyond `/` → `-` was lost
};

Readable make_readable(std::string_view text, std::size_t limit) {
  Readable out;
  for (const char original : text) {
    const char c = ascii_lower(original);
    if (is_ascii_alnum(c)) {
      out.is_lossy = out.is_lossy || c != original;
      out.text += c;
      continue;
    }
    out.is_lossy = out.is_lossy || (c != '-' && c != '/');
    if (out.text.empty() || out.text.back() == '-') {
      out.is_lossy = true;  // a leading or doubled dash
    } else {
      out.text += '-';
    }
  }
  if (out.text.size() > limit) {
    out.text.resize(limit);
    out.is_lossy = true;
  }
  while (!out.text.empty() && out.text.back() == '-') {
    out.text.pop_back();
    out.is_lossy = true;
  }
  if (out.text.empty()) out = {std::string(kNamelessBranch), true};
  return out;
}

std::string short_hash(std::string_view exact) {
  return to_base32(sha256(exact)).substr(0, kHashBytes);
}

bool is_reserved(const std::string& slug, const std::vector<std::string>& apps) {
  // `<app>_<slug>` with such an end is another slug's test database.
  if (slug.ends_with("-test")) return true;
  return std::ranges::find(kReserved, slug) != kReserved.end() || std::ranges::find(apps, slug) != apps.end();
}

bool is_instance(std::string_view text) {
  const Readable readable = make_readable(text, kMaxInstanceBytes);
  return !text.empty() && !readable.is_lossy && readable.text == text;
}

std::string fill(std::string text, std::string_view placeholder, std::string_view value) {
  return replace_all(std::move(text), placeholder, value);
}

std::string underscored(std::string_view text) {
  return replace_all(std::string(text), "-", "_");
}

std::vector<std::pair<std::string, std::string>> cookie_names(const std::string& prefix,
                                                              const NameRules& rules) {
  std::vector<std::pair<std::string, std::string>> out;
  for (const std::string& purpose : rules.cookies) out.emplace_back(purpose, prefix + "_" + purpose);
  return out;
}

// The template may go through a symbolic link, and git knows a worktree by where it is. The last component is ours to
// make, so a link that stands there already is not followed.
std::filesystem::path without_links(const std::filesystem::path& path) {
  std::error_code failure;
  const std::filesystem::path parent = std::filesystem::weakly_canonical(path.parent_path(), failure);
  return failure ? path : parent / path.filename();
}

std::string directory_text(const NameRules& rules, std::string_view repo, std::string_view app,
                           std::string_view slug) {
  return fill(fill(fill(rules.directory, "{repo}", repo), "{app}", app), "{slug}", slug);
}

}  // namespace

std::string app_part(std::string_view app) {
  const Readable whole = make_readable(app, kMaxAppBytes);
  if (!whole.is_lossy) return whole.text;
  return make_readable(app, kMaxAppBytes - 1 - kHashBytes).text + "-" + short_hash(app);
}

WorktreeNames derive_names(std::string_view app, std::string_view slug, const NameRules& rules) {
  WorktreeNames names;
  names.app = app_part(app);
  names.slug = std::string(slug);
  const std::string dashed = names.app + "-" + names.slug;
  const std::string plain = underscored(dashed);
  names.host = fill(fill(rules.host, "{app}", names.app), "{slug}", slug);
  names.compose_project = dashed;
  names.database = plain;
  names.test_database = plain + "_test";
  names.role = plain;
  names.redis_prefix = names.app + ":" + names.slug + ":";
  names.redis_user = dashed;
  names.vhost = dashed;
  names.queue_user = dashed;
  names.network_alias = names.slug + "." + names.app + ".hedge";
  names.cookies = cookie_names(plain, rules);
  // The parts are bounded so that the longest result fits by construction.
  assert(names.test_database.size() <= kMaxDerivedBytes && names.compose_project.size() <= kMaxDerivedBytes);
  return names;
}

WorktreeNames derive_main_names(std::string_view app, const NameRules& rules) {
  WorktreeNames names;
  names.app = app_part(app);
  names.host = fill(rules.main_host, "{app}", names.app);
  names.network_alias = "main." + names.app + ".hedge";
  names.cookies = cookie_names(underscored(names.app), rules);
  return names;
}

Result<std::string> choose_slug(const SlugRequest& request) {
  if (request.branch.empty()) {
    return Error(ErrorKind::invalid_input, "a branch name is needed").with_id("branch_invalid");
  }
  if (!is_json_text(request.branch)) {
    return Error(ErrorKind::invalid_input, "the branch name \"" + printable(request.branch) + "\" is not UTF-8")
        .with_id("branch_invalid")
        .with_hint("rename it: git branch -m OLD NEW");
  }
  if (!request.instance.empty() && !is_instance(request.instance)) {
    return Error(ErrorKind::invalid_input, "instance \"" + printable(request.instance) + "\" is not a name")
        .with_id("instance_invalid")
        .with_hint("use at most " + std::to_string(kMaxInstanceBytes) +
                   " of a-z, 0-9 and single dashes between them");
  }
  const std::string tail = request.instance.empty() ? "" : "-" + request.instance;
  const Readable readable = make_readable(request.branch, kMaxReadableBytes - tail.size());
  const auto is_free = [&request](const std::string& slug) {
    return slug.size() <= kMaxSlugBytes && (!request.is_taken || !request.is_taken(slug));
  };
  const std::string plain = readable.text + tail;
  if (!readable.is_lossy && !is_reserved(plain, request.reserved) && is_free(plain)) return plain;
  // The branch alone decides the hash, so that it can be told from the name; only a branch of the same name
  // in another clone, or a chance meeting of two hashes, makes the birth and then a number part of it.
  std::string hashed = readable.text + "-" + short_hash(request.branch) + tail;
  for (int attempt = 0; !is_free(hashed); ++attempt) {
    const std::string salted = request.branch + '\n' + request.birth + '\n' + std::to_string(attempt);
    hashed = readable.text + "-" + short_hash(salted) + tail;
  }
  return hashed;
}

Result<std::filesystem::path> derive_directory(const std::filesystem::path& anchor, std::string_view app,
                                               std::string_view slug, const NameRules& rules) {
  std::string repo = anchor.filename().string();
  if (repo.size() > 4 && repo.ends_with(".git")) repo.resize(repo.size() - 4);
  while (true) {
    std::filesystem::path path =
        without_links((anchor / directory_text(rules, repo, app_part(app), slug)).lexically_normal());
    if (path.string().size() <= kMaxDirectoryBytes) return path;
    const std::size_t excess = path.string().size() - kMaxDirectoryBytes;
    const bool is_in_template = rules.directory.find("{repo}") != std::string::npos;
    if (is_in_template && repo.size() > excess) {
      repo.resize(repo.size() - excess);
      // Cut between characters, not inside one.
      while (!repo.empty() && (static_cast<unsigned char>(repo.back()) & 0x80U) != 0) repo.pop_back();
      if (!repo.empty()) continue;
    }
    return Error(ErrorKind::invalid_input, "the path " + path.string() + " would be longer than " +
                                               std::to_string(kMaxDirectoryBytes) + " bytes")
        .with_id("path_too_long")
        .with_hint(
            "sockets inside it must stay below 108 bytes: move the repository to a shorter path, or set "
            "app.directory in hedge.toml to a shorter place");
  }
}

}  // namespace hedge::worktree
