#include "config/project_config.h"

#include <gtest/gtest.h>

#include "tests/support/temporary_directory.h"

namespace hedge::config {
namespace {

ProjectConfig accepted(std::string_view text) {
  auto config = parse_project_config(text);
  EXPECT_TRUE(config) << config.error().to_string() << "\n" << (config.error().hints().empty() ? "" : config.error().hints()[0]);
  return config ? *config : ProjectConfig{};
}

// Every problem of a refused file, one a line.
std::string refused(std::string_view text, std::string_view id = "config_invalid") {
  const auto config = parse_project_config(text);
  if (config) {
    ADD_FAILURE() << "accepted: " << text;
    return {};
  }
  EXPECT_EQ(config.error().id(), id);
  std::string out = config.error().text() + "\n";
  for (const std::string& hint : config.error().hints()) out += hint + "\n";
  return out;
}

constexpr std::string_view kApp = "[app]\nname = 'shop'\n";
std::string with_app(std::string_view rest) { return std::string(kApp) + std::string(rest); }

TEST(ProjectConfig, TheNameAloneIsEnough) {
  const ProjectConfig config = accepted(kApp);
  EXPECT_EQ(config.app.name, "shop");
  EXPECT_EQ(config.app.host, "{app}.{slug}.localhost");
  EXPECT_EQ(config.stack.runtime, StackRuntime::none);
  EXPECT_EQ(config.database.engine, DatabaseEngine::none);
  EXPECT_EQ(config.env.file, ".env.hedge");
  EXPECT_EQ(config.app.cookies, (std::vector<std::string>{"session", "remember", "device"}));
}

TEST(ProjectConfig, AProcessStackWithSqliteIsReadWhole) {
  const ProjectConfig config = accepted(R"(
[app]
name = "shop"
health = "/healthz"
health_nonce = true
[stack]
runtime = "process"
[[stack.processes]]
name = "web"
command = ["python3", "-m", "shop", "serve"]
ready_path = "/healthz"
stop_timeout = "3s"
environment = { DEBUG = "1" }
[database]
engine = "sqlite"
source = "data/shop.sqlite3"
[env.variables]
DATABASE_URL = "{database.url}"
A_SECOND = "x"
[commands]
migrate = ["migrate"]
[[checks]]
id = "smoke"
command = ["true"]
severity = "optional"
[provider]
default = "local"
)");
  ASSERT_EQ(config.stack.processes.size(), 1U);
  const ProcessConfig& web = config.stack.processes[0];
  EXPECT_EQ(web.port_variable, "PORT");
  EXPECT_EQ(web.ready_path, "/healthz");
  EXPECT_EQ(web.stop_timeout, std::chrono::seconds(3));
  EXPECT_EQ(web.environment, (std::vector<std::pair<std::string, Template>>{{"DEBUG", "1"}}));
  EXPECT_EQ(config.env.variables[0].first, "DATABASE_URL");
  EXPECT_EQ(config.env.variables[1].first, "A_SECOND");
  ASSERT_NE(config.find_command("migrate"), nullptr);
  EXPECT_EQ(config.find_command("install"), nullptr);
  EXPECT_EQ(config.checks[0].title, "smoke");
  EXPECT_EQ(config.checks[0].severity, CheckSeverity::optional);
  EXPECT_EQ(config.provider.provider, "local");
}

TEST(ProjectConfig, AnUnknownKeyIsToldAtItsLineAndColumnWithTheNearest) {
  EXPECT_EQ(refused("[app]\nname = 'shop'\nhots = 'x'\n"),
            "hedge.toml:3:1: unknown key \"hots\" in [app] (did you mean \"host\"?)\n");
}

TEST(ProjectConfig, EveryProblemIsReportedNotJustTheFirst) {
  const std::string problems = refused("[app]\nname = 'Shop!'\nhealth = 'x'\n[stack]\nruntime = 'docker'\n[databse]\n");
  EXPECT_NE(problems.find("hedge.toml:2:8: \"Shop!\" is not an application name"), std::string::npos) << problems;
  EXPECT_NE(problems.find("hedge.toml:3:10: the path must begin with /"), std::string::npos) << problems;
  EXPECT_NE(problems.find("hedge.toml:5:11: \"stack.runtime\" must be one of"), std::string::npos) << problems;
  EXPECT_NE(problems.find("did you mean \"database\"?"), std::string::npos) << problems;
}

TEST(ProjectConfig, SectionsThatThisVersionCannotServeAreRefusedNotIgnored) {
  for (const char* section : {"pooler", "redis", "queue", "review", "limits"}) {
    const std::string text = with_app(std::string("[") + section + "]\nkey = 1\n");
    EXPECT_NE(refused(text, "config_unsupported").find("is not available in this version"), std::string::npos);
  }
}

struct Refusal {
  const char* name;
  const char* text;
  const char* problem;
};
class ProjectConfigRefuses : public testing::TestWithParam<Refusal> {};

TEST_P(ProjectConfigRefuses, WithItsReason) {
  const std::string problems = refused(with_app(GetParam().text));
  EXPECT_NE(problems.find(GetParam().problem), std::string::npos) << problems;
}

INSTANTIATE_TEST_SUITE_P(
    All, ProjectConfigRefuses,
    testing::Values(
        Refusal{"HostWithoutSlug", "host = 'shop.localhost'", "needs {slug}"},
        Refusal{"DirectoryWithoutSlug", "directory = '../x'", "needs {slug}"},
        Refusal{"CookieKind", "cookies = ['a b']", "not a kind of cookie"},
        Refusal{"ProcessesWithoutRuntime", "[[stack.processes]]\nname = 'a'\ncommand = ['x']", "needs runtime"},
        Refusal{"RuntimeWithoutProcesses", "[stack]\nruntime = 'process'", "needs [[stack.processes]]"},
        Refusal{"ServicesWithoutCompose", "[[stack.services]]\nname = 'a'", "need runtime = \"compose\""},
        Refusal{"TwoProcessesOfOneName",
                "[stack]\nruntime='process'\n[[stack.processes]]\nname='a'\ncommand=['x']\n[[stack.processes]]\nname='a'\n"
                "command=['x']",
                "two processes are called"},
        Refusal{"EmptyCommand", "[stack]\nruntime='process'\n[[stack.processes]]\nname='a'\ncommand=[]", "the command is empty"},
        Refusal{"DirectoryOutside", "[stack]\nruntime='process'\n[[stack.processes]]\nname='a'\ncommand=['x']\ndirectory='../b'",
                "below the checkout"},
        Refusal{"SeedOutside", "[seed]\npaths = ['/etc']", "below the checkout"},
        Refusal{"EnvFileOutside", "[env]\nfile = '../.env'", "below the checkout"},
        Refusal{"VariableName", "[env.variables]\n'A-B' = 'x'", "not the name of a variable"},
        Refusal{"OurVariables", "[env.variables]\nHEDGE_ID = 'x'", "a name that Hedge sets itself"},
        Refusal{"DatabaseWithoutSource", "[database]\nengine = 'sqlite'", "needs the \"source\""},
        Refusal{"SqliteOutside", "[database]\nengine = 'sqlite'\nsource = '/var/x.db'", "below the checkout"},
        Refusal{"PasswordInTheFile",
                "[database]\nengine = 'postgres'\nsource = 'shop'\nadmin_url = 'postgres://me:secret@localhost/postgres'",
                "has a password in it"},
        Refusal{"CheckWithoutId", "[[checks]]\ncommand = ['x']", "needs an \"id\""},
        Refusal{"TwoChecksOfOneId", "[[checks]]\nid='a'\ncommand=['x']\n[[checks]]\nid='a'\ncommand=['x']", "two checks are called"},
        Refusal{"ShellText", "[commands]\nmigrate = './migrate --now'", "must be an array of strings"}),
    [](const auto& row) { return std::string(row.param.name); });

TEST(ProjectConfig, APasswordNeverAppearsInTheMessageAboutIt) {
  const std::string problems = refused(
      with_app("[database]\nengine = 'postgres'\nsource = 's'\nadmin_url = 'postgres://me:hunter2@localhost/postgres'"));
  EXPECT_EQ(problems.find("hunter2"), std::string::npos) << problems;
}

TEST(ProjectConfig, ANameIsRequired) {
  EXPECT_NE(refused("").find("the section [app]"), std::string::npos);
  EXPECT_NE(refused("[app]\n").find("[app] needs a \"name\""), std::string::npos);
  for (const char* name : {"", "-a", "a-", "a--b", "A", "a_b", "a-very-long-name-x"}) {
    EXPECT_NE(refused("[app]\nname = '" + std::string(name) + "'\n").find("not an application name"), std::string::npos) << name;
  }
}

TEST(ProjectConfig, WithoutACheckoutTheCurrentDirectorysFileIsNotTaken) {
  const auto config = load_project_config({});
  ASSERT_FALSE(config);
  EXPECT_EQ(config.error().id(), "checkout_needed");
}

TEST(ProjectConfig, AMissingFileSaysHowToMakeOne) {
  const test::TemporaryDirectory directory;
  const auto config = load_project_config(directory.path());
  ASSERT_FALSE(config);
  EXPECT_EQ(config.error().id(), "config_missing");
  EXPECT_EQ(config.error().hints().at(0), "write one with: hedge init");
}

TEST(ProjectConfig, EveryValueHasItsOrigin) {
  const ProjectConfig config = accepted(kApp);
  ASSERT_GE(config.effective.size(), 8U);
  EXPECT_EQ(config.effective[0].key, "app.name");
  EXPECT_EQ(config.effective[0].origin, "hedge.toml:2:8");
  EXPECT_EQ(config.effective[1].origin, "default");
}

}  // namespace
}  // namespace hedge::config
