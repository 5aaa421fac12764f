// Against a real container engine and a real Compose: with_docker.py starts both.
#include "worktree/stack/compose_stack.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <thread>

#include "base/file.h"
#include "base/text.h"
#include "tests/support/temporary_directory.h"

namespace hedge::worktree {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// SIGKILL, because a first process that handles no signal would make every stop last its whole grace.
constexpr const char* kTwoServices = R"(
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

std::string must_run(std::vector<std::string> argv, const std::filesystem::path& directory = {}) {
  CommandLine command;
  command.argv = std::move(argv);
  command.directory = directory;
  const auto output = run_for_output(command);
  EXPECT_TRUE(output) << output.error().to_string();
  return output ? std::string(trim(*output)) : std::string();
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> out;
  for (const std::string_view line : split(text, '\n')) {
    if (!line.empty()) out.emplace_back(line);
  }
  return out;
}

class ComposeStackTest : public ::testing::Test {
 protected:
  void SetUp() override {
    must_run({"git", "init", "-q", main().string()});
    compose_file(kTwoServices);
    commit();
  }
  void TearDown() override {
    for (const std::string& id : lines_of(must_run({"docker", "ps", "-aq"}))) must_run({"docker", "rm", "-fv", id});
    for (const std::string& id : lines_of(must_run({"docker", "network", "ls", "-q", "--filter", "type=custom"}))) {
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
    must_run({"git", "-c", "user.name=t", "-c", "user.email=t@example.org", "commit", "-q", "-m", "x"}, main());
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
    EXPECT_EQ(finding->presence, Presence::present) << (finding->problems.empty() ? "" : finding->problems[0].to_string());
  }

  static DockerEngine engine() { return DockerEngine::connect(probe_engine(current_environment(), std::chrono::seconds(10)).value()).value(); }
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
    for (const std::string& id : lines_of(must_run({"docker", "ps", "-aq", "--no-trunc", "--filter", filter}))) {
      out[id] = must_run({"docker", "inspect", "-f", "{{.State.StartedAt}} {{.State.Status}}", id});
    }
    return out;
  }
  std::map<std::string, std::string> started_of(const std::string& slug) { return started("label=hedge.id=01JDQ-" + slug); }
  static std::string inside(const ContainerFacts& facts, std::vector<std::string> argv) {
    argv.insert(argv.begin(), {"docker", "exec", facts.id});
    return must_run(std::move(argv));
  }

  test::TemporaryDirectory directory_;
  SystemCommandRunner runner_;
};

TEST_F(ComposeStackTest, K11_a_second_run_changes_no_container_and_a_stopped_one_is_started_again) {
  EXPECT_EQ(stack().check()->presence, Presence::missing);
  up();
  const auto before = started_of("alpha");
  ASSERT_EQ(before.size(), 2U);
  EXPECT_EQ(stack().converge()->action, Action::none);
  EXPECT_EQ(started_of("alpha"), before);
  const std::string database = container("alpha", "db").id;
  const std::string application = container("alpha", "app").id;
  must_run({"docker", "stop", application});
  const auto finding = stack().check();
  EXPECT_EQ(finding->presence, Presence::differs) << "a stopped container is not a missing one";
  EXPECT_EQ(stack().converge()->action, Action::started);
  EXPECT_EQ(container("alpha", "app").id, application);
  EXPECT_EQ(started_of("alpha").at(database), before.at(database));
}

TEST_F(ComposeStackTest, K11_a_changed_value_recreates_that_service_alone) {
  up();
  const std::string database = container("alpha", "db").id;
  const std::string application = container("alpha", "app").id;
  ComposeStackSpec changed = spec("alpha");
  changed.environment["HEDGE_SLUG"] = "renamed";
  const auto change = ComposeStack(changed, runner_).converge();
  ASSERT_TRUE(change) << change.error().to_string();
  EXPECT_EQ(container("alpha", "db").id, database);
  EXPECT_NE(container("alpha", "app").id, application);
  EXPECT_EQ(inside(container("alpha", "app"), {"printenv", "HEDGE_SLUG"}), "renamed");
}

TEST_F(ComposeStackTest, D19_the_container_has_the_worktrees_environment_byte_by_byte) {
  up();
  EXPECT_EQ(inside(container("alpha", "app"), {"printenv", "PASSWORD"}), "a$b$$c");
  EXPECT_EQ(std::filesystem::status(spec("alpha").directory / "compose.json").permissions(),
            std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
}

TEST_F(ComposeStackTest, E04_two_stacks_share_a_network_but_no_name_on_it) {
  up("alpha");
  up("beta");
  EXPECT_EQ(container("alpha", "app").networks.at("hedge"), std::vector<std::string>{"alpha.shop.hedge"});
  EXPECT_EQ(container("beta", "app").networks.at("hedge"), std::vector<std::string>{"beta.shop.hedge"});
  EXPECT_FALSE(container("alpha", "db").networks.contains("hedge"));
  const std::string probe = must_run({"docker", "run", "-d", "--network", "hedge", "shop", "sleep", "600"});
  const std::string resolve =
      "import socket,sys\ntry: print(len(set(a[4][0] for a in socket.getaddrinfo(sys.argv[1], 1))))\nexcept OSError: print(0)";
  const auto addresses = [&](const std::string& id, const std::string& name) {
    return must_run({"docker", "exec", id, "/usr/bin/python3", "-c", resolve, name});
  };
  EXPECT_EQ(addresses(probe, "app"), "0") << "the plain service name is nobody's on the shared network";
  EXPECT_EQ(addresses(probe, "alpha.shop.hedge"), "1");
  EXPECT_EQ(addresses(probe, "beta.shop.hedge"), "1");
  for (const char* slug : {"alpha", "beta"}) {
    EXPECT_EQ(addresses(container(slug, "app").id, "db"), "1") << slug << " sees its own alone";
  }
}

TEST_F(ComposeStackTest, W12_remove_leaves_nothing_of_ours_and_is_done_after_the_first_time) {
  up("alpha");
  up("beta");
  const auto beta = started_of("beta");
  EXPECT_EQ(stack("alpha").remove()->action, Action::removed);
  EXPECT_THAT(containers("alpha"), IsEmpty());
  auto docker = engine();
  EXPECT_THAT(docker.fetch_networks({{"hedge.id", "01JDQ-alpha"}}).value(), IsEmpty());
  EXPECT_THAT(docker.fetch_volumes({{"hedge.id", "01JDQ-alpha"}}).value(), IsEmpty());
  EXPECT_FALSE(path_exists(spec("alpha").directory));
  EXPECT_EQ(stack("alpha").remove()->action, Action::none);
  EXPECT_EQ(started_of("beta"), beta);
  EXPECT_EQ(must_run({"docker", "volume", "ls", "-q"}), "shop-beta_data");
}

TEST_F(ComposeStackTest, W12_a_volume_that_something_else_uses_survives_and_is_told) {
  up();
  const std::string user = must_run({"docker", "run", "-d", "-v", "shop-alpha_data:/data", "shop", "sleep", "600"});
  const auto removed = stack().remove();
  ASSERT_FALSE(removed);
  EXPECT_EQ(removed.error().kind(), ErrorKind::conflict);
  must_run({"docker", "rm", "-f", user});
  EXPECT_EQ(stack().remove()->action, Action::removed);
}

TEST_F(ComposeStackTest, remove_needs_neither_the_checkout_nor_its_compose_file) {
  up();
  ASSERT_TRUE(remove_tree(checkout("alpha")));
  ComposeStackSpec gone;
  gone.name = "shop-alpha";
  gone.id = "01JDQ-alpha";
  gone.checkout = checkout("alpha");
  gone.directory = directory_ / "state/alpha";
  gone.caller = current_environment();
  EXPECT_EQ(ComposeStack(gone, runner_).remove()->action, Action::removed);
  EXPECT_THAT(containers("alpha"), IsEmpty());
}

TEST_F(ComposeStackTest, W01_nothing_that_is_inherited_or_pinned_leads_to_mains_stack) {
  const bool knows_name = ComposeTool::detect(runner_, current_environment())->version().major >= 2;
  if (knows_name) compose_file("name: shop\n" + std::string(kTwoServices));
  commit_if_changed();
  must_run(compose({"-p", "shop", "up", "-d"}), main());
  must_run({"docker", "run", "--rm", "-v", "shop_data:/data", "shop", "touch", "/data/marker"});
  const auto before = started("label=com.docker.compose.project=shop");
  ComposeStackSpec alpha = spec("alpha");
  ASSERT_TRUE(write_file_atomically(alpha.checkout / ".env", "COMPOSE_PROJECT_NAME=shop\n", 0644));
  alpha.caller["COMPOSE_PROJECT_NAME"] = "shop";
  alpha.caller["COMPOSE_FILE"] = (main() / "compose.yml").string();
  const auto change = ComposeStack(alpha, runner_).converge();
  ASSERT_TRUE(change) << change.error().to_string();
  ASSERT_TRUE(ComposeStack(alpha, runner_).remove());
  ComposeStackSpec never_started = spec("beta");
  ASSERT_TRUE(ComposeStack(never_started, runner_).remove());
  EXPECT_EQ(started("label=com.docker.compose.project=shop"), before);
  EXPECT_EQ(must_run({"docker", "run", "--rm", "-v", "shop_data:/data", "shop", "ls", "/data"}), "marker");
}

TEST_F(ComposeStackTest, W03_W07_fixed_names_and_ports_do_not_clash_and_external_things_stay) {
  must_run({"docker", "volume", "create", "outside"});
  compose_file(R"(
services:
  app:
    image: shop
    container_name: fixed
    command: ["sleep", "600"]
    stop_signal: SIGKILL
    ports: ["3001:3001"]
    restart: unless-stopped
    volumes: ["pinned:/pinned", "outside:/outside"]
volumes:
  pinned: {name: everybodys}
  outside: {external: true}
)");
  commit();
  up("alpha");
  up("beta");
  for (const char* slug : {"alpha", "beta"}) {
    const ContainerFacts facts = container(slug, "app");
    EXPECT_NE(facts.name, "fixed");
    EXPECT_EQ(must_run({"docker", "inspect", "-f", "{{.HostConfig.PortBindings}} {{.HostConfig.RestartPolicy.Name}}", facts.id}),
              "map[] no");
  }
  EXPECT_THAT(must_run({"docker", "volume", "ls", "-q"}), Not(HasSubstr("everybodys")));
  ASSERT_TRUE(stack("alpha").remove());
  ASSERT_TRUE(stack("beta").remove());
  EXPECT_EQ(must_run({"docker", "volume", "ls", "-q"}), "outside");
}

TEST_F(ComposeStackTest, W08_git_works_inside_the_container) {
  up();
  const ContainerFacts facts = container("alpha", "app");
  const std::string path = checkout("alpha").string();
  EXPECT_EQ(inside(facts, {"git", "-C", path, "rev-parse", "HEAD"}), must_run({"git", "rev-parse", "HEAD"}, checkout("alpha")));
  EXPECT_EQ(inside(facts, {"git", "-C", path, "status", "--porcelain"}), "");
}

TEST_F(ComposeStackTest, W21_a_container_never_brings_a_removed_checkout_back) {
  up();
  const ContainerFacts facts = container("alpha", "app");
  must_run({"docker", "stop", facts.id});
  ASSERT_TRUE(remove_tree(checkout("alpha")));
  CommandLine start;
  start.argv = {"docker", "start", facts.id};
  EXPECT_FALSE(run_command(start)->ok());
  EXPECT_FALSE(path_exists(checkout("alpha")));
}

TEST_F(ComposeStackTest, a_mount_from_inside_main_is_refused_with_its_line_and_nothing_starts) {
  ASSERT_TRUE(ensure_directory(main() / "uploads"));
  compose_file("services:\n  app:\n    image: shop\n    volumes:\n      - " + (main() / "uploads").string() + ":/uploads\n");
  commit();
  const auto change = stack().converge();
  ASSERT_FALSE(change);
  EXPECT_EQ(change.error().id(), "compose_bind_in_main");
  EXPECT_EQ(change.error().kind(), ErrorKind::refused);
  EXPECT_THAT(change.error().text(), HasSubstr("compose.yml:5"));
  EXPECT_THAT(must_run({"docker", "ps", "-aq"}), IsEmpty());
}

TEST_F(ComposeStackTest, an_image_that_cannot_be_had_is_named) {
  compose_file("services:\n  app:\n    image: localhost:1/no/such:image\n");
  commit();
  const auto change = stack().converge();
  ASSERT_FALSE(change);
  EXPECT_EQ(change.error().id(), "image_unavailable") << change.error().to_string();
  EXPECT_THAT(change.error().text(), HasSubstr("localhost:1/no/such:image"));
}

TEST_F(ComposeStackTest, a_project_of_our_name_that_is_not_ours_is_left_alone) {
  must_run(compose({"-p", "shop-alpha", "up", "-d"}), main());
  const auto before = started("label=com.docker.compose.project=shop-alpha");
  EXPECT_EQ(stack().check()->presence, Presence::foreign);
  EXPECT_EQ(stack().converge().error().id(), "ownership_conflict");
  EXPECT_EQ(stack().remove()->action, Action::none);
  EXPECT_EQ(started("label=com.docker.compose.project=shop-alpha"), before);
}

TEST_F(ComposeStackTest, K07_a_container_that_ends_at_once_is_not_ready) {
  compose_file("services:\n  app:\n    image: shop\n    command: [\"false\"]\n");
  commit();
  const auto change = stack().converge();
  if (!change) {
    EXPECT_EQ(change.error().id(), "service_exited");
  }
  // It may have ended just after it was looked at; it is found out at the next look.
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (stack().check()->presence == Presence::present && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
  EXPECT_EQ(stack().check()->presence, Presence::differs);
  EXPECT_EQ(stack().load_status()->at(0).state, ServiceState::failed);
}

TEST_F(ComposeStackTest, only_what_is_selected_starts_with_what_it_depends_on) {
  compose_file(std::string(kTwoServices).insert(std::string(kTwoServices).find("  db:"),
                                                "  extra:\n    image: shop\n    command: [\"sleep\", \"600\"]\n    stop_signal: SIGKILL\n"));
  commit();
  ComposeStackSpec some = spec("alpha");
  some.excluded = {"extra"};
  ASSERT_TRUE(ComposeStack(some, runner_).converge());
  EXPECT_EQ(ComposeStack(some, runner_).check()->presence, Presence::present);
  EXPECT_EQ(containers("alpha").size(), 2U);
  some.selected = {{"extra"}};
  EXPECT_EQ(ComposeStack(some, runner_).check()->presence, Presence::differs);
  ASSERT_TRUE(ComposeStack(some, runner_).converge());
  EXPECT_EQ(containers("alpha").size(), 3U);
}

TEST_F(ComposeStackTest, stop_keeps_the_containers_and_status_tells_them_apart) {
  up();
  const std::string before = container("alpha", "app").id;
  EXPECT_EQ(stack().load_status()->at(0).state, ServiceState::running);
  EXPECT_EQ(stack().stop()->action, Action::stopped);
  EXPECT_EQ(stack().load_status()->at(0).state, ServiceState::stopped);
  EXPECT_EQ(stack().stop()->action, Action::none);
  EXPECT_EQ(stack().converge()->action, Action::started);
  EXPECT_EQ(container("alpha", "app").id, before);
}

TEST_F(ComposeStackTest, a_command_runs_in_the_services_container) {
  up();
  auto command = stack().command_in("app", {"printenv", "HEDGE_SLUG"}, Interaction::none);
  ASSERT_TRUE(command) << command.error().to_string();
  EXPECT_EQ(trim(run_for_output(*command).value()), "alpha");
}

TEST_F(ComposeStackTest, mains_own_stack_keeps_its_names_and_ports_and_is_never_removed) {
  compose_file(R"(
services:
  app:
    image: shop
    container_name: fixed
    command: ["sleep", "600"]
    stop_signal: SIGKILL
)");
  ComposeStackSpec own = spec("unused");
  own.owner = StackOwner::main_checkout;
  own.name = "shop";
  own.checkout = main();
  own.services = {{"app", 8000, {"main.shop.hedge"}}};
  const auto change = ComposeStack(own, runner_).converge();
  ASSERT_TRUE(change) << change.error().to_string();
  EXPECT_EQ(ComposeStack(own, runner_).check()->presence, Presence::present);
  EXPECT_EQ(ComposeStack(own, runner_).converge()->action, Action::none);
  EXPECT_EQ(must_run({"docker", "inspect", "-f", "{{.State.Status}}", "fixed"}), "running");
  EXPECT_EQ(ComposeStack(own, runner_).remove()->action, Action::none);
  EXPECT_EQ(must_run({"docker", "inspect", "-f", "{{.State.Status}}", "fixed"}), "running");
}

}  // namespace
}  // namespace hedge::worktree
