// Against a real container engine and a real Compose: with_docker.py starts both.
#include <gmock/gmock.h>

#include "tests/worktree/stack/compose_world.h"

namespace hedge::worktree::test {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

class ComposeStackTest : public ComposeWorld {};

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

TEST_F(ComposeStackTest, K11_a_changed_environment_file_recreates_the_service_that_reads_it) {
  compose_file("services:\n  app:\n    image: shop\n    command: [\"sleep\", \"600\"]\n    stop_signal: SIGKILL\n"
               "    env_file: local.env\n");
  ASSERT_TRUE(write_file_atomically(main() / ".gitignore", "local.env\n", 0644));
  commit_if_changed();
  const ComposeStackSpec wanted = spec("alpha");
  ASSERT_TRUE(write_file_atomically(wanted.checkout / "local.env", "SEEDED=one\n", 0644));
  up();
  const std::string before = container("alpha", "app").id;
  ASSERT_TRUE(write_file_atomically(wanted.checkout / "local.env", "SEEDED=two\n", 0644));
  EXPECT_EQ(stack().check()->presence, Presence::differs);
  up();
  EXPECT_NE(container("alpha", "app").id, before);
  EXPECT_EQ(inside(container("alpha", "app"), {"printenv", "SEEDED"}), "two");
}

TEST_F(ComposeStackTest, E40_inside_the_public_name_is_this_host) {
  up();
  const std::string gateway = engine().fetch_gateway("hedge").value();
  ASSERT_NE(gateway, "");
  const std::string found = inside(container("alpha", "app"), {"cat", "/etc/hosts"});
  EXPECT_THAT(lines_of(found), Contains(AllOf(StartsWith(gateway), HasSubstr("shop.alpha.localhost"))));
}

TEST_F(ComposeStackTest, D19_the_status_tells_the_environment_that_the_container_has) {
  up();
  const auto status = stack().load_status();
  ASSERT_TRUE(status) << status.error().to_string();
  ASSERT_TRUE(status->at(0).environment);
  EXPECT_EQ(status->at(0).environment->at("HEDGE_SLUG"), "alpha");
  EXPECT_EQ(status->at(0).environment->at("PASSWORD"), "a$b$$c");
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
  EXPECT_EQ(container("alpha", "app").networks.at("hedge").aliases, std::vector<std::string>{"alpha.shop.hedge"});
  EXPECT_EQ(container("beta", "app").networks.at("hedge").aliases, std::vector<std::string>{"beta.shop.hedge"});
  EXPECT_FALSE(container("alpha", "db").networks.contains("hedge"));
  const std::string probe = must_run({"docker", "run", "-d", "--network", "hedge", "shop", "sleep", "600"});
  const std::string resolve =
      "import socket,sys\ntry: print(len(set(a[4][0] for a in socket.getaddrinfo(sys.argv[1], 1))))\nexcept "
      "OSError: print(0)";
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

// As in a compose file that puts everything on the network of the shared data plane.
constexpr const char* kOnSharedNetwork = R"(
services:
  app: {image: shop, command: ["sleep", "600"], stop_signal: SIGKILL, networks: [plane]}
  db: {image: shop, command: ["sleep", "600"], stop_signal: SIGKILL, networks: [plane]}
networks:
  plane: {name: plane, external: true}
)";

TEST_F(ComposeStackTest, E04_services_without_a_port_have_no_bare_name_on_an_external_network) {
  must_run({"docker", "network", "create", "plane"});
  compose_file(kOnSharedNetwork);
  commit_if_changed();
  up("alpha");
  up("beta");
  const std::string probe = must_run({"docker", "run", "-d", "--network", "plane", "shop", "sleep", "600"});
  const std::string resolve =
      "import socket,sys\ntry: print(*sorted(set(a[4][0] for a in socket.getaddrinfo(sys.argv[1], 1))))\nexcept "
      "OSError: print('nobody')";
  const auto addresses = [&](const std::string& id, const std::string& name) {
    return must_run({"docker", "exec", id, "/usr/bin/python3", "-c", resolve, name});
  };
  EXPECT_EQ(addresses(probe, "db"), "nobody") << "a bare name would be every worktree's";
  EXPECT_EQ(addresses(probe, "app"), "nobody");
  for (const std::string slug : {"alpha", "beta"}) {
    const std::string own = addresses(probe, "db." + slug + ".shop.hedge");
    EXPECT_EQ(own, must_run({"docker", "inspect", "-f", "{{.NetworkSettings.Networks.plane.IPAddress}}", container(slug, "db").id}));
    // Also beside somebody who does have the name there, such as the main checkout's own.
    const std::string other = must_run({"docker", "run", "-d", "--network", "plane", "--network-alias", "db", "shop", "sleep", "600"});
    for (int time = 0; time < 20; ++time) EXPECT_EQ(addresses(container(slug, "app").id, "db"), own) << slug;
    must_run({"docker", "rm", "-f", other});
  }
  EXPECT_THAT(stack("alpha").find_alias_clashes().value(), IsEmpty());
}

TEST_F(ComposeStackTest, E04_a_bare_name_on_a_shared_network_is_told_and_taken_away) {
  must_run({"docker", "network", "create", "plane"});
  compose_file(kOnSharedNetwork);
  commit_if_changed();
  up();
  const std::string db = container("alpha", "db").id;
  must_run({"docker", "network", "disconnect", "plane", db});
  must_run({"docker", "network", "connect", "--alias", "db", "plane", db});
  const auto told = stack().find_alias_clashes().value();
  ASSERT_FALSE(told.empty());
  EXPECT_EQ(told[0].id(), "network_alias_bare");
  EXPECT_EQ(stack().check()->presence, Presence::differs);
  up();
  EXPECT_EQ(container("alpha", "db").id, db) << "it was only attached anew";
  EXPECT_THAT(stack().find_alias_clashes().value(), IsEmpty());
  must_run({"docker", "run", "-d", "--network", "plane", "--network-alias", "db.alpha.shop.hedge", "--name", "thief", "shop", "sleep", "600"});
  const auto taken = stack().find_alias_clashes().value();
  ASSERT_EQ(taken.size(), 1U);
  EXPECT_EQ(taken[0].id(), "network_alias_taken");
  EXPECT_THAT(taken[0].text(), HasSubstr("thief"));
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
  const std::string user =
      must_run({"docker", "run", "-d", "-v", "shop-alpha_data:/data", "shop", "sleep", "600"});
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

}  // namespace
}  // namespace hedge::worktree::test
