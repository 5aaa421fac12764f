// A repository with a compose file, worktrees of it, and a real container engine: with_docker.py starts it.
#pragma once

#include <chrono>
#include <map>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.h"
#include "base/text.h"
#include "tests/support/temporary_directory.h"
#include "worktree/stack/compose_stack.h"

namespace hedge::worktree::test {

// SIGKILL, because a first process that handles no signal would make every stop last its whole grace.
inline constexpr const char* kTwoServices = R"(
services:
  app:
    image: shop
    command: ["sleep", "600"]
    stop_signal: SIGKILL
    depends_on: [db]
  db:
    image: shop
    command: ["sleep", "600"]
    stop_signal: SIGKILL
    volumes: ["data:/data"]
volumes:
  data: {}
)";

inline std::string must_run(std::vector<std::string> argv, const std::filesystem::path& directory = {}) {
  CommandLine command;
  command.argv = std::move(argv);
  command.directory = directory;
  const auto output = run_for_output(command);
  EXPECT_TRUE(output) << output.error().to_string();
  return output ? std::string(trim(*output)) : std::string();
}

inline std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> out;
  for (const std::string_view line : split(text, '\n')) {
    if (!line.empty()) out.emplace_back(line);
  }
  return out;
}

class ComposeWorld : public ::testing::Test {
 protected:
  void SetUp() override {
    must_run({"git", "init", "-q", main().string()});
    compose_file(kTwoServices);
    commit();
  }
  void TearDown() override {
    for (const std::string& id : lines_of(must_run({"docker", "ps", "-aq"})))
      must_run({"docker", "rm", "-fv", id});
    for (const std::string& id :
         lines_of(must_run({"docker", "network", "ls", "-q", "--filter", "type=custom"}))) {
      must_run({"docker", "network", "rm", id});
    }
    for (const std::string& name : lines_of(must_run({"docker", "volume", "ls", "-q"}))) {
      must_run({"docker", "volume", "rm", name});
    }
  }

  std::filesystem::path main() const { return directory_ / "main"; }
  std::filesystem::path checkout(const std::string& slug) const { return directory_ / ("shop." + slug); }

  void compose_file(const std::string& text) {
    ASSERT_TRUE(write_file_atomically(main() / "compose.yml", text, 0644));
  }
  void commit() {
    must_run({"git", "-c", "user.name=t", "-c", "user.email=t@example.org", "add", "."}, main());
    must_run({"git", "-c", "user.name=t", "-c", "user.email=t@example.org", "commit", "-q", "-m", "x"},
             main());
  }

  void commit_if_changed() {
    if (!must_run({"git", "status", "--porcelain"}, main()).empty()) commit();
  }
  // Compose as a person would run it in main.
  std::vector<std::string> compose(std::vector<std::string> arguments) {
    const bool is_plugin = ComposeTool::detect(runner_, current_environment())->version().major >= 2;
    if (is_plugin) {
      arguments.insert(arguments.begin(), {"docker", "compose"});
    } else {
      arguments.insert(arguments.begin(), "docker-compose");
    }
    return arguments;
  }

  ComposeStackSpec spec(const std::string& slug) {
    if (!path_exists(checkout(slug))) {
      must_run({"git", "worktree", "add", "-q", "-b", slug, checkout(slug).string()}, main());
    }
    ComposeStackSpec out;
    out.name = "shop-" + slug;
    out.id = "01JDQ-" + slug;
    out.app = "shop";
    out.slug = slug;
    out.checkout = checkout(slug);
    out.git_common_dir = main() / ".git";
    out.main_checkout = main();
    out.directory = directory_ / "state" / slug;
    out.network = "hedge";
    out.host = "shop." + slug + ".localhost";
    out.alias = slug + ".shop.hedge";
    out.services = {{"app", 8000, {slug + ".shop.hedge"}}};
    out.environment = {{"HEDGE_SLUG", slug}, {"PASSWORD", "a$b$$c"}};
    out.caller = current_environment();
    return out;
  }
  ComposeStack stack(const std::string& slug = "alpha") { return {spec(slug), runner_}; }
  void up(const std::string& slug = "alpha") {
    const auto change = stack(slug).converge();
    ASSERT_TRUE(change) << change.error().to_string();
    const auto finding = stack(slug).check();
    ASSERT_TRUE(finding) << finding.error().to_string();
    EXPECT_EQ(finding->presence, Presence::present)
        << (finding->problems.empty() ? "" : finding->problems[0].to_string());
  }

  static DockerEngine engine() {
    return DockerEngine::connect(probe_engine(current_environment(), std::chrono::seconds(10)).value())
        .value();
  }
  std::vector<ContainerFacts> containers(const std::string& slug) {
    auto docker = engine();
    return docker.fetch_containers({{"hedge.id", "01JDQ-" + slug}}).value();
  }
  ContainerFacts container(const std::string& slug, const std::string& service) {
    for (const ContainerFacts& facts : containers(slug)) {
      if (facts.service() == service) return facts;
    }
    ADD_FAILURE() << "no container of " << service << " in " << slug;
    return {};
  }
  // Container ids with the moments at which they were started.
  std::map<std::string, std::string> started(const std::string& filter) {
    std::map<std::string, std::string> out;
    for (const std::string& id :
         lines_of(must_run({"docker", "ps", "-aq", "--no-trunc", "--filter", filter}))) {
      out[id] = must_run({"docker", "inspect", "-f", "{{.State.StartedAt}} {{.State.Status}}", id});
    }
    return out;
  }
  std::map<std::string, std::string> started_of(const std::string& slug) {
    return started("label=hedge.id=01JDQ-" + slug);
  }
  static std::string inside(const ContainerFacts& facts, std::vector<std::string> argv) {
    argv.insert(argv.begin(), {"docker", "exec", facts.id});
    return must_run(std::move(argv));
  }

  hedge::test::TemporaryDirectory directory_;
  SystemCommandRunner runner_;
};

}  // namespace hedge::worktree::test
