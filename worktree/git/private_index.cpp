#include "worktree/git/private_index.h"

#include <cctype>
#include <utility>

#include "base/digest.h"
#include "base/file.h"
#include "base/text.h"

namespace hedge::worktree {
namespace fs = std::filesystem;

namespace {

constexpr std::size_t kMaxListing = 1UL << 30;  // millions of files
constexpr auto kLimit = std::chrono::minutes(10);

// As large as a repository's index may be.
Result<std::string> list_files(Git& git, const fs::path& top, const std::vector<std::string>& arguments) {
  Git::Extras extras;
  extras.max_output_bytes = kMaxListing;
  auto output = git.run_with(top, arguments, extras);
  if (!output) return output.error();
  if (!output->ok() || output->truncated) return git_error(arguments, *output);
  return std::move(output->out);
}

}  // namespace

PrivateIndex::PrivateIndex(Git& git, const CheckoutInfo& checkout)
    : git_(git), top_(checkout.top), file_(checkout.git_dir / ("hedge-index-" + to_hex(random_bytes(6)))) {}

PrivateIndex::~PrivateIndex() {
  (void)remove_file(file_);
  (void)remove_file(file_.string() + ".lock");
}

Result<CommandOutput> PrivateIndex::run(std::vector<std::string> arguments, std::string input) {
  // Settings that would let git believe what it should look at, or leave files of a shared index behind.
  std::vector<std::string> all{"-c", "core.ignoreStat=false", "-c", "core.fsmonitor=false",
                               "-c", "core.splitIndex=false", "-c", "core.untrackedCache=false"};
  all.insert(all.end(), std::make_move_iterator(arguments.begin()), std::make_move_iterator(arguments.end()));
  Git::Extras extras;
  extras.variables = {{"GIT_INDEX_FILE", file_.string()}};
  extras.input = std::move(input);
  extras.limit = kLimit;
  return git_.run_with(top_, std::move(all), extras);
}

Result<std::string> PrivateIndex::output(const std::vector<std::string>& arguments, std::string input) {
  auto output = run(arguments, std::move(input));
  if (!output) return output.error();
  if (!output->ok()) return git_error(arguments, *output);
  return std::move(output->out);
}

Result<std::string> PrivateIndex::write_tree() {
  auto tree = output({"write-tree"});
  if (!tree) return tree;
  return std::string(trim(*tree));
}

Result<std::vector<IndexEntry>> list_index(Git& git, const fs::path& top) {
  auto text = list_files(git, top, {"ls-files", "--stage", "-z"});
  if (!text) return text.error();
  std::vector<IndexEntry> entries;
  // "mode SP object SP stage TAB path"
  for (const std::string_view line : split(*text, '\0')) {
    const auto tab = line.find('\t');
    if (tab == std::string_view::npos) continue;
    const auto fields = split(line.substr(0, tab), ' ');
    constexpr std::size_t kFields = 3;
    if (fields.size() != kFields) continue;
    entries.push_back({std::string(fields[0]), std::string(fields[1]), parse_number<int>(fields[2]).value_or(0),
                       std::string(line.substr(tab + 1))});
  }
  return entries;
}

Result<std::vector<std::string>> list_untracked(Git& git, const fs::path& top) {
  auto text = list_files(git, top, {"ls-files", "--others", "--exclude-standard", "-z"});
  if (!text) return text.error();
  std::vector<std::string> paths;
  for (const std::string_view path : split(*text, '\0')) {
    if (!path.empty()) paths.emplace_back(path);
  }
  return paths;
}

std::string index_info(const std::vector<IndexEntry>& entries) {
  std::string out;
  for (const IndexEntry& entry : entries) {
    out += entry.mode + " " + entry.object + " " + std::to_string(entry.stage) + "\t" + entry.path;
    out += '\0';
  }
  return out;
}

Result<std::vector<OverlookedFile>> list_overlooked(Git& git, const fs::path& top) {
  auto text = list_files(git, top, {"ls-files", "-v", "-z"});
  if (!text) return text.error();
  std::vector<OverlookedFile> files;
  // "tag SP path"; a small letter: assumed unchanged; S: skipped.
  for (const std::string_view line : split(*text, '\0')) {
    if (line.size() < 3) continue;
    const bool is_assumed = std::islower(static_cast<unsigned char>(line[0])) != 0;
    const bool is_skipped = line[0] == 'S' || line[0] == 's';
    if (!is_assumed && !is_skipped) continue;
    std::string path(line.substr(2));
    const bool is_absent = is_skipped && !path_exists(top / path);
    files.push_back({std::move(path), is_absent});
  }
  return files;
}

}  // namespace hedge::worktree
