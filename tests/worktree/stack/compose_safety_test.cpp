// Against a real container engine and a real Compose: with_docker.py starts both.
#include <chrono>
#include <thread>

#include <gmock/gmock.h>

#include "tests/worktree/stack/compose_world.h"

namespace hedge::worktree::test {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class ComposeSafetyTest : public ComposeWorld {};

TEST_F(ComposeSafetyTest, W01_nothing_that_is_inherited_or_pinned_leads_to_mains_stack) {
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

TEST_F(ComposeSafetyTest, W03_W07_fixed_names_and_ports_do_not_clash_and_external_things_stay) {
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
    EXPECT_EQ(must_run({"docker", "inspect", "-f",
                        "{{.HostConfig.PortBindings}} {{.HostConfig.RestartPolicy.Name}}", facts.id}),
              "map[] no");
  }
  EXPECT_THAT(must_run({"docker", "volume", "ls", "-q"}), Not(HasSubstr("everybodys")));
  ASSERT_TRUE(stack("alpha").remove());
  ASSERT_TRUE(stack("beta").remove());
  EXPECT_EQ(must_run({"docker", "volume", "ls", "-q"}), "outside");
}

TEST_F(ComposeSafetyTest, W08_git_works_inside_the_container) {
  up();
  const ContainerFacts facts = container("alpha", "app");
  const std::string path = checkout("alpha").string();
  EXPECT_EQ(inside(facts, {"git", "-C", path, "rev-parse", "HEAD"}),
            must_run({"git", "rev-parse", "HEAD"}, checkout("alpha")));
  EXPECT_EQ(inside(facts, {"git", "-C", path, "status", "--porcelain"}), "");
}

TEST_F(ComposeSafetyTest, W21_a_container_never_brings_a_removed_checkout_back) {
  up();
  const ContainerFacts facts = container("alpha", "app");
  must_run({"docker", "stop", facts.id});
  ASSERT_TRUE(remove_tree(checkout("alpha")));
  CommandLine start;
  start.argv = {"docker", "start", facts.id};
  EXPECT_FALSE(run_command(start)->ok());
  EXPECT_FALSE(path_exists(checkout("alpha")));
}

TEST_F(ComposeSafetyTest, a_mount_from_inside_main_is_refused_with_its_line_and_nothing_starts) {
  ASSERT_TRUE(ensure_directory(main() / "uploads"));
  compose_file("services:\n  app:\n    image: shop\n    volumes:\n      - " + (main() / "uploads").string() +
               ":/uploads\n");
  commit();
  const auto change = stack().converge();
  ASSERT_FALSE(change);
  EXPECT_EQ(change.error().id(), "compose_bind_in_main");
  EXPECT_EQ(change.error().kind(), ErrorKind::refused);
  EXPECT_THAT(change.error().text(), HasSubstr("compose.yml:5"));
  EXPECT_THAT(must_run({"docker", "ps", "-aq"}), IsEmpty());
}

TEST_F(ComposeSafetyTest, an_image_that_cannot_be_had_is_named) {
  compose_file("services:\n  app:\n    image: localhost:1/no/such:image\n");
  commit();
  const auto change = stack().converge();
  ASSERT_FALSE(change);
  EXPECT_EQ(change.error().id(), "image_unavailable") << change.error().to_string();
  EXPECT_THAT(change.error().text(), HasSubstr("localhost:1/no/such:image"));
}

TEST_F(ComposeSafetyTest, a_project_of_our_name_that_is_not_ours_is_left_alone) {
  must_run(compose({"-p", "shop-alpha", "up", "-d"}), main());
  const auto before = started("label=com.docker.compose.project=shop-alpha");
  EXPECT_EQ(stack().check()->presence, Presence::foreign);
  EXPECT_EQ(stack().converge().error().id(), "ownership_conflict");
  EXPECT_EQ(stack().remove()->action, Action::none);
  EXPECT_EQ(started("label=com.docker.compose.project=shop-alpha"), before);
}

TEST_F(ComposeSafetyTest, K07_a_container_that_ends_at_once_is_not_ready) {
  compose_file("services:\n  app:\n    image: shop\n    command: [\"false\"]\n");
  commit();
  const auto change = stack().converge();
  if (!change) {
    EXPECT_EQ(change.error().id(), "service_exited");
  }
  // It may have ended just after it was looked at; it is found out at the next look.
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (stack().check()->presence == Presence::present && std::chrono::steady_clock::now() < deadline)
    std::this_thread::yield();
  EXPECT_EQ(stack().check()->presence, Presence::differs);
  EXPECT_EQ(stack().load_status()->at(0).state, ServiceState::failed);
}

TEST_F(ComposeSafetyTest, only_what_is_selected_starts_with_what_it_depends_on) {
  compose_file(
      std::string(kTwoServices)
          .insert(
              std::string(kTwoServices).find("  db:"),
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

TEST_F(ComposeSafetyTest, stop_keeps_the_containers_and_status_tells_them_apart) {
  up();
  const std::string before = container("alpha", "app").id;
  EXPECT_EQ(stack().load_status()->at(0).state, ServiceState::running);
  EXPECT_EQ(stack().stop()->action, Action::stopped);
  EXPECT_EQ(stack().load_status()->at(0).state, ServiceState::stopped);
  EXPECT_EQ(stack().stop()->action, Action::none);
  EXPECT_EQ(stack().converge()->action, Action::started);
  EXPECT_EQ(container("alpha", "app").id, before);
}

TEST_F(ComposeSafetyTest, a_command_runs_in_the_services_container) {
  up();
  auto command = stack().command_in("app", {"printenv", "HEDGE_SLUG"}, Interaction::none);
  ASSERT_TRUE(command) << command.error().to_string();
  EXPECT_EQ(trim(run_for_output(*command).value()), "alpha");
}

TEST_F(ComposeSafetyTest, mains_own_stack_keeps_its_names_and_ports_and_is_never_removed) {
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
}  // namespace hedge::worktree::test
