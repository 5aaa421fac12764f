#include "contract/public_address.h"

#include <gtest/gtest.h>

namespace hedge::contract {
namespace {

config::ProjectConfig with_host(const std::string& key, const std::string& host) {
  auto config = config::parse_project_config("[app]\nname = \"a-long-app-name1\"\n" + key + " = \"" + host + "\"\n");
  EXPECT_TRUE(config) << config.error().to_string();
  return config ? std::move(*config) : config::ProjectConfig();
}

TEST(Hostnames, OfWhateverSlugAreChecked) {
  for (const char* host : {"{app}.{slug}.localhost", "{app}-{slug}.localhost", "{slug}.App.TEST."}) {
    EXPECT_TRUE(require_hostnames(with_host("host", host))) << host;
  }
}

TEST(Hostnames, ThatCannotBeAreRefusedWithTheirPlace) {
  for (const char* host : {"{slug}_x.localhost", "{slug} x.localhost", "x.{slug}", "{slug}..localhost", "-{slug}.localhost",
                           "{app}.{branch}.{slug}", "{app}-{app}-{slug}.localhost"}) {
    const auto valid = require_hostnames(with_host("host", host));
    ASSERT_FALSE(valid) << host;
    EXPECT_EQ(valid.error().id(), "config_invalid");
    EXPECT_NE(valid.error().text().find("hedge.toml:3:8: \"app.host\""), std::string::npos) << valid.error().text();
  }
  const auto main = require_hostnames(with_host("main_host", "under_score.localhost"));
  ASSERT_FALSE(main);
  EXPECT_NE(main.error().text().find("hedge.toml:3:13: \"app.main_host\""), std::string::npos) << main.error().text();
}

TEST(Hostnames, AreLowerCaseFromTheStart) {
  const auto config = with_host("host", "{slug}.Shop.localhost.");
  EXPECT_EQ(config.app.host, "{slug}.shop.localhost");
}

}  // namespace
}  // namespace hedge::contract
