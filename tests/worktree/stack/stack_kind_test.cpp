#include "worktree/stack/stack_kind.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/project_config.h"
#include "router/route.h"
#include "worktree/stack/stack.h"

namespace hedge::worktree {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kProcesses = R"(
[app]
name = "shop"
[stack]
runtime = "process"
[[stack.processes]]
name = "worker"
command = ["work", "{app.slug}"]
port_variable = ""
[[stack.processes]]
name = "web"
command = ["serve", "--port", "{port}"]
[env.variables]
TOKEN = "{token}"
)";

constexpr const char* kContainers = R"(
[app]
name = "shop"
[stack]
runtime = "compose"
[[stack.services]]
name = "app"
port = 8000
[[stack.services]]
name = "admin"
port = 9000
[[stack.services]]
name = "search"
when_changed = ["search/**"]
)";

class StackKindTest : public ::testing::Test {
 protected:
  StackKindTest() {
    record_.id = "01JDQ0000000000000000ALPHA";
    record_.app = "shop";
    record_.slug = "login-fix";
    record_.path = "/home/dev/shop.login-fix";
    record_.secret = "0123";
    observed_.ports = {{"web", 21500}};
    values_ = {{"app.slug", "login-fix"}, {"token", ValueText::secret("token")}};
  }
  void configure(const char* text) {
    auto config = config::parse_project_config(text);
    ASSERT_TRUE(config) << config.error().to_string();
    config_ = std::move(*config);
  }
  PlanInput input() const { return {record_, names_, config_, paths_, observed_}; }
  std::string upstream() const {
    Values values;
    kind_.publish(input(), values);
    return values.contains("stack.upstream") ? values.at("stack.upstream").outline() : "none";
  }
  std::vector<ResourceSpec> plan() const {
    auto steps = kind_.plan(input(), values_);
    EXPECT_TRUE(steps) << steps.error().to_string();
    return steps ? *steps : std::vector<ResourceSpec>();
  }

  SystemCommandRunner runner_;
  config::Paths paths_{"/state", "/run", "/config"};
  WorktreeRecord record_;
  WorktreeNames names_ = derive_names("shop", "login-fix");
  config::ProjectConfig config_;
  Observed observed_;
  Values values_;
  StackKind kind_{{{"/usr/bin/hedge", "supervise"}, {}}, paths_, runner_};
};

TEST_F(StackKindTest, the_first_process_with_a_port_is_where_the_hostname_leads) {
  configure(kProcesses);
  EXPECT_EQ(upstream(), "tcp:127.0.0.1:21500");
}

TEST_F(StackKindTest, the_first_service_with_a_port_is_found_by_labels_that_only_this_worktree_has) {
  configure(kContainers);
  EXPECT_EQ(upstream(),
            "docker:hedge.id=01JDQ0000000000000000ALPHA,com.docker.compose.service=app:8000");
  EXPECT_TRUE(router::parse_upstream(upstream()));
  record_.kind = WorktreeKind::main;
  EXPECT_EQ(upstream(),
            "docker:com.docker.compose.project.working_dir=/home/dev/"
            "shop.login-fix,com.docker.compose.service=app:8000");
  EXPECT_TRUE(router::parse_upstream(upstream()));
}

TEST_F(StackKindTest, a_worktree_without_a_stack_has_no_step_and_no_upstream) {
  configure(kProcesses);
  record_.stack = StackWish::without_stack;
  EXPECT_EQ(upstream(), "none");
  EXPECT_TRUE(plan().empty());
}

TEST_F(StackKindTest, a_step_holds_no_secret_and_becomes_a_stack_again) {
  configure(kProcesses);
  const auto steps = plan();
  ASSERT_EQ(steps.size(), 1U);
  EXPECT_THAT(steps[0].parameters, HasSubstr(R"({"secret":"token"})"));
  EXPECT_THAT(steps[0].parameters, Not(HasSubstr(derive_secret(record_, "token"))));
  EXPECT_THAT(steps[0].parameters, HasSubstr("21500"));
  const auto made = kind_.make(steps[0], record_);
  ASSERT_TRUE(made) << made.error().to_string();
  auto* stack = dynamic_cast<Stack*>(made->get());
  ASSERT_NE(stack, nullptr);
  EXPECT_EQ(stack->kind(), "stack");
  const auto status = stack->load_status();
  ASSERT_EQ(status->size(), 2U);
  EXPECT_EQ(status->at(1).port, 21500);
  EXPECT_EQ(status->at(1).state, ServiceState::absent);
  EXPECT_EQ(status->at(1).log, "/state/stacks/01JDQ0000000000000000ALPHA/web.log");
}

TEST_F(StackKindTest, a_command_that_would_show_a_secret_is_refused_with_its_place) {
  for (const char* argument : {"{secret.token}", "--token={token}"}) {
    configure((std::string("[app]\nname = \"shop\"\n[stack]\nruntime = \"process\"\n[[stack.processes]]\nname = \"web\"\n") +
               "command = [\"serve\", \"" + argument + "\"]\n")
                  .c_str());
    const auto steps = kind_.plan(input(), values_);
    ASSERT_FALSE(steps) << argument;
    EXPECT_EQ(steps.error().id(), "secret_in_command");
    EXPECT_THAT(steps.error().to_string(), HasSubstr("hedge.toml:7:11: "));
    EXPECT_THAT(steps.error().to_string(), HasSubstr(argument));
  }
}

TEST_F(StackKindTest, T20_a_stack_gets_the_variables_of_trust_but_for_those_that_the_repository_sets) {
  observed_.given = {{"trust.SSL_CERT_FILE", "/state/trust/bundle.crt"},
                     {"trust.TOKEN", "/state/trust/root.crt"},
                     {"ca.directory", "/state/trust"}};
  configure(kProcesses);
  const std::string processes = plan().at(0).parameters;
  EXPECT_THAT(processes, HasSubstr(R"("SSL_CERT_FILE":"/state/trust/bundle.crt")"));
  EXPECT_THAT(processes, Not(HasSubstr("root.crt"))) << "[env.variables] has a TOKEN of its own";
  configure(kContainers);
  EXPECT_THAT(plan().at(0).parameters, HasSubstr(R"("trust":"/state/trust")")) << "containers mount it";
}

TEST_F(StackKindTest, T20_a_variable_that_the_environment_file_cannot_hold_is_left_out) {
  observed_.given = {{"trust.SSL_CERT_FILE", "/a\nb"}};
  configure(kProcesses);
  EXPECT_THAT(plan().at(0).parameters, Not(HasSubstr("SSL_CERT_FILE")));
}

TEST_F(StackKindTest, the_same_input_gives_the_same_step) {
  configure(kContainers);
  EXPECT_EQ(plan().at(0).parameters, plan().at(0).parameters);
}

TEST_F(StackKindTest, a_stack_of_another_runtime_is_another_thing) {
  configure(kProcesses);
  const auto processes = plan();
  observed_.ports = {{"web", 21501}};
  const auto elsewhere = plan();
  configure(kContainers);
  const auto containers = plan();
  EXPECT_TRUE(kind_.is_same_thing(processes.at(0), elsewhere.at(0)));
  EXPECT_FALSE(kind_.is_same_thing(processes.at(0), containers.at(0)));
  EXPECT_FALSE(kind_.is_same_thing({"stack", "x", "?"}, containers.at(0)));
}

TEST_F(StackKindTest, a_value_that_is_no_text_makes_a_step_all_the_same) {
  configure(kProcesses);
  values_["app.slug"] = "caf\xe9";
  EXPECT_THAT(plan().at(0).parameters, HasSubstr("caf\xef\xbf\xbd"));
}

TEST_F(StackKindTest, an_unknown_placeholder_is_an_error_that_names_the_process) {
  configure(kProcesses);
  values_.erase("app.slug");
  const auto steps = kind_.plan(input(), values_);
  ASSERT_FALSE(steps);
  EXPECT_EQ(steps.error().id(), "template_unknown");
  EXPECT_THAT(steps.error().text(), HasSubstr("worker"));
}

TEST_F(StackKindTest, what_the_branch_does_not_touch_stays_off_until_it_is_wished_for) {
  configure(kContainers);
  const auto off = [](const ResourceSpec& step) {
    std::string out;
    const auto choices = choices_of(step);
    for (const ServiceChoice& choice : *choices) {
      if (!choice.starts) out += choice.name + " ";
    }
    return out;
  };
  EXPECT_EQ(off(plan().at(0)), "search ");
  observed_.changed_paths = {"search/index.py"};
  EXPECT_EQ(off(plan().at(0)), "");
  observed_.changed_paths = {};
  EXPECT_EQ(off(with_wish(plan().at(0), {ServiceWish::Kind::all, {}}).value()), "");
  EXPECT_EQ(off(with_wish(plan().at(0), {ServiceWish::Kind::named, {"search"}}).value()), "app admin ");
  EXPECT_EQ(with_wish(plan().at(0), {ServiceWish::Kind::named, {"mail"}}).error().id(), "service_unknown");
}

TEST_F(StackKindTest, a_ledger_entry_that_cannot_be_understood_is_corrupt_and_no_crash) {
  for (const char* parameters : {"", "{}", "[]", R"({"runtime":"compose"})",
                                 R"({"runtime":"process","environment":{},"processes":[{}]})"}) {
    const auto made = kind_.make({"stack", "shop-login-fix", parameters}, record_);
    ASSERT_FALSE(made) << parameters;
    EXPECT_EQ(made.error().kind(), ErrorKind::corrupt) << parameters;
    EXPECT_EQ(made.error().id(), "state_unreadable") << parameters;
  }
}

}  // namespace
}  // namespace hedge::worktree
