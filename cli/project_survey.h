// What a repository looks like to somebody who wants to write its hedge.toml.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace hedge::cli {

struct SurveyedService {
  std::string name;
  std::uint16_t port = 0;  // inside its container; 0: none is told
};

struct ProjectSurvey {
  std::string app;                            // a name that [app] accepts
  std::optional<std::string> compose_file;    // relative
  std::vector<SurveyedService> services;      // of the compose file
  std::vector<std::string> process_command;   // of package.json's "dev" or "start"; empty if there is none
  std::vector<std::string> install_command;   // empty if none is known
};

// Reads, and runs nothing. What cannot be read is as if it were not there.
ProjectSurvey survey_project(const std::filesystem::path& checkout);
// A commented hedge.toml that load_project_config() accepts.
std::string starting_config(const ProjectSurvey& survey);

}  // namespace hedge::cli
