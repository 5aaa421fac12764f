#include "worktree/stack/compose_record.h"

#include <nlohmann/json.hpp>

#include "base/file.h"

namespace hedge::worktree {

using Json = nlohmann::json;

Result<std::optional<ComposeRecord>> load_compose_record(const std::filesystem::path& file) {
  const auto text = read_file(file);
  if (!text && text.error().kind() == ErrorKind::not_found) return std::optional<ComposeRecord>();
  if (!text) return text.error();
  try {
    const Json json = Json::parse(*text);
    return std::optional<ComposeRecord>(ComposeRecord{json.at("digest").get<std::string>(),
                                                      json.at("services").get<std::vector<std::string>>(),
                                                      json.at("one_shots").get<std::vector<std::string>>(),
                                                      json.value("shared_networks", SharedNetworks{})});
  } catch (const Json::exception& problem) {
    return Error(ErrorKind::corrupt, "cannot read " + file.string() + ": " + problem.what())
        .with_id("state_unreadable");
  }
}

Result<void> store_compose_record(const std::filesystem::path& file, const ComposeRecord& record) {
  const Json json = {
      {"digest", record.digest}, {"services", record.services}, {"one_shots", record.one_shots}, {"shared_networks", record.shared_networks}};
  return write_file_atomically(file, json.dump(2) + "\n", 0600);
}

}  // namespace hedge::worktree
