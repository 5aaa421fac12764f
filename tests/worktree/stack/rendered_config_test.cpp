// What both generations of Compose print for the same file, and what is made of it.
#include "worktree/stack/rendered_config.h"

#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/text.h"
#include "tests/support/temporary_directory.h"

namespace hedge::worktree {
namespace {

using Json = nlohmann::json;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* kV1 = R"(services:
  app:
    container_name: fixed
    depends_on:
      migrate:
        condition: service_completed_successfully
    environment:
      A: x$$y
      B: 8
      C: null
      LEGACY: 'no'
    image: shop
    labels:
      traefik.enable: 'true'
    ports:
    - published: 3001
      target: 3001
    restart: unless-stopped
    volumes:
    - /wt/src:/srv:rw
    - data:/data:ro
    - /anon
    - /cache:/cache:z
  migrate:
    build:
      context: /wt
    image: built
volumes:
  data: {}
  ext:
    external: true
    name: extvol
  shared:
    name: shared-pinned
version: '3.9'
)";

constexpr const char* kV2 = R"(name: shop-alpha
services:
  app:
    container_name: fixed
    depends_on:
      migrate:
        condition: service_completed_successfully
        required: true
    environment:
      A: x$$y
      B: "8"
      C: null
      LEGACY: "no"
    image: shop
    labels:
      traefik.enable: "true"
    networks:
      default: null
    ports:
      - mode: ingress
        target: 3001
        published: "3001"
        protocol: tcp
    restart: unless-stopped
    volumes:
      - type: bind
        source: /wt/src
        target: /srv
        bind:
          create_host_path: true
      - type: volume
        source: data
        target: /data
        read_only: true
        volume: {}
      - type: volume
        target: /anon
        volume: {}
  migrate:
    build:
      context: /wt
      dockerfile: Dockerfile
    image: built
    networks:
      default: null
networks:
  default:
    name: shop-alpha_default
volumes:
  data:
    name: shop-alpha_data
  ext:
    name: extvol
    external: true
  shared:
    name: shared-pinned
)";

class RenderedConfigTest : public ::testing::TestWithParam<int> {
 protected:
  RenderRequest request() const {
    RenderRequest out;
    out.compose = GetParam() == 1 ? ComposeVersion{1, 29, 2} : ComposeVersion{2, 26, 1};
    out.id = "01JDQ-alpha";
    out.app = "shop";
    out.slug = "alpha";
    out.project = "shop-alpha";
    out.checkout = "/wt";
    out.git_common_dir = "/main/.git";
    out.main_checkout = "/main";
    out.services = {"app"};
    out.environment = {{"DATABASE_URL", "postgresql://a:p$ss@h/d"}, {"B", "9"}};
    return out;
  }
  std::string rendered() const { return GetParam() == 1 ? kV1 : kV2; }
  Json result(const RenderRequest& wanted) const {
    const auto config = render_for_worktree(rendered(), wanted);
    EXPECT_TRUE(config) << config.error().to_string();
    return config ? Json::parse(config->text) : Json();
  }
  static Json mount(const Json& service, const std::string& target) {
    for (const Json& one : service["volumes"]) {
      if (one.is_object() && one["target"] == target) return one;
    }
    return nullptr;
  }
};

INSTANTIATE_TEST_SUITE_P(Compose, RenderedConfigTest, ::testing::Values(1, 2),
                         [](const auto& generation) { return "v" + std::to_string(generation.param); });

TEST_P(RenderedConfigTest, W03_W07_W21_what_would_clash_or_come_back_is_reset) {
  const Json config = result(request());
  for (const auto& [name, service] : config["services"].items()) {
    EXPECT_FALSE(service.contains("container_name")) << name;
    EXPECT_FALSE(service.contains("ports")) << name;
    EXPECT_EQ(service["restart"], "no") << name;
  }
  EXPECT_FALSE(config["volumes"]["shared"].contains("name"));
  EXPECT_EQ(config["volumes"]["ext"]["name"], "extvol") << "what is external is not ours to change";
  EXPECT_FALSE(config["volumes"]["ext"].contains("labels"));
}

TEST_P(RenderedConfigTest, W12_everything_that_is_made_carries_the_worktrees_label) {
  const Json config = result(request());
  EXPECT_EQ(config["services"]["app"]["labels"]["hedge.id"], "01JDQ-alpha");
  EXPECT_EQ(config["services"]["migrate"]["labels"]["hedge.id"], "01JDQ-alpha");
  EXPECT_EQ(config["services"]["app"]["labels"]["traefik.enable"], "true") << "and keeps its own";
  EXPECT_EQ(config["volumes"]["data"]["labels"]["hedge.id"], "01JDQ-alpha");
  EXPECT_EQ(config["networks"]["default"]["labels"]["hedge.id"], "01JDQ-alpha");
}

TEST_P(RenderedConfigTest, D19_the_application_gets_the_worktrees_environment_over_its_own) {
  const Json services = result(request())["services"];
  EXPECT_EQ(services["app"]["environment"]["B"], "9");
  EXPECT_EQ(services["app"]["environment"]["DATABASE_URL"], "postgresql://a:p$$ss@h/d")
      << "Compose interpolates once more";
  EXPECT_EQ(services["app"]["environment"]["A"], "x$$y") << "Compose had escaped it already";
  EXPECT_EQ(services["app"]["environment"]["LEGACY"], "no");
  EXPECT_TRUE(services["app"]["environment"]["C"].is_null());
  EXPECT_FALSE(services["migrate"].contains("environment"));
}

TEST_P(RenderedConfigTest, W08_checkout_and_git_directory_are_mounted_at_their_own_paths) {
  const Json services = result(request())["services"];
  EXPECT_EQ(mount(services["app"], "/wt")["source"], "/wt");
  EXPECT_EQ(mount(services["app"], "/main/.git")["source"], "/main/.git");
  EXPECT_FALSE(services["migrate"].contains("volumes"));
  EXPECT_EQ(services["app"]["environment"]["GIT_CONFIG_VALUE_0"], "/wt");
}

TEST_P(RenderedConfigTest, T20_the_application_alone_mounts_the_roots_and_cannot_change_them) {
  RenderRequest wanted = request();
  // Also where somebody keeps Hedge's state inside the main checkout.
  for (const char* place : {"/state/trust", "/main/.hedge/trust"}) {
    wanted.trust_directory = place;
    const auto config = render_for_worktree(rendered(), wanted);
    ASSERT_TRUE(config) << config.error().to_string();
    const Json services = Json::parse(config->text)["services"];
    EXPECT_EQ(mount(services["app"], place)["source"], place);
    EXPECT_EQ(mount(services["app"], place)["read_only"], true);
    EXPECT_FALSE(services["migrate"].contains("volumes"));
    EXPECT_TRUE(require_safe(config->text, wanted));
  }
}

TEST_P(RenderedConfigTest, E40_the_application_alone_finds_the_edge_under_its_public_name) {
  RenderRequest wanted = request();
  wanted.extra_hosts = {"shop.alpha.localhost:172.18.0.1"};
  const Json services = result(wanted)["services"];
  EXPECT_EQ(services["app"]["extra_hosts"], Json::array({"shop.alpha.localhost:172.18.0.1"}));
  EXPECT_FALSE(services["migrate"].contains("extra_hosts"));
}

TEST(ExtraHosts, E40_the_repositorys_own_stay_in_whichever_form) {
  RenderRequest wanted;
  wanted.project = "shop-alpha";
  wanted.checkout = "/wt";
  wanted.git_common_dir = "/main/.git";
  wanted.services = {"app"};
  wanted.extra_hosts = {"shop.alpha.localhost:172.18.0.1"};
  const std::vector<std::pair<std::string, Json>> forms{
      {"['other:10.0.0.1']", {"other:10.0.0.1", "shop.alpha.localhost:172.18.0.1"}},
      {"{other: 10.0.0.1}", {"other:10.0.0.1", "shop.alpha.localhost:172.18.0.1"}},
      {"{other: ['10.0.0.1', '10.0.0.2']}", {"other:10.0.0.1", "other:10.0.0.2", "shop.alpha.localhost:172.18.0.1"}},
      {"['shop.alpha.localhost=10.0.0.9']", {"shop.alpha.localhost=10.0.0.9"}}};
  for (const auto& [given, expected] : forms) {
    const auto config = render_for_worktree("services:\n  app:\n    image: shop\n    extra_hosts: " + given + "\n", wanted);
    ASSERT_TRUE(config) << config.error().to_string();
    EXPECT_EQ(Json::parse(config->text)["services"]["app"]["extra_hosts"], expected) << given;
  }
}

TEST_P(RenderedConfigTest, W21_no_mount_creates_its_source) {
  const Json rendered = result(request());
  for (const Json& one : rendered["services"]["app"]["volumes"]) {
    if (!one.is_object() || one["type"] != "bind") continue;
    if (GetParam() == 1) {
      EXPECT_FALSE(one.contains("bind")) << one;
    } else {
      EXPECT_EQ(one["bind"]["create_host_path"], false) << one;
    }
  }
}

TEST_P(RenderedConfigTest, other_mounts_keep_their_meaning) {
  const Json app = result(request())["services"]["app"];
  EXPECT_EQ(mount(app, "/data")["type"], "volume");
  EXPECT_EQ(mount(app, "/data")["read_only"], true);
  EXPECT_EQ(mount(app, "/anon")["type"], "volume");
  if (GetParam() == 1) {
    EXPECT_THAT(app["volumes"], Contains("/cache:/cache:z")) << "a mode that the long form lacks";
  }
}

TEST_P(RenderedConfigTest, one_shot_services_and_pulled_images_are_told) {
  const auto config = render_for_worktree(rendered(), request());
  EXPECT_THAT(config->services, ElementsAre("app", "migrate"));
  EXPECT_THAT(config->one_shots, ElementsAre("migrate"));
  EXPECT_THAT(config->images, ElementsAre(std::pair<const std::string, std::string>("app", "shop")));
}

TEST_P(RenderedConfigTest, notes_and_refusals_name_file_and_line) {
  const test::TemporaryDirectory directory;
  ASSERT_TRUE(write_file_atomically(
      directory / "compose.yml",
      "services:\n  app:\n    image: shop\n    container_name: fixed\n    ports:\n      - 3001:3001\n"
      "    volumes:\n      - /main/uploads:/uploads\n",
      0644));
  RenderRequest wanted = request();
  wanted.files = {directory / "compose.yml"};
  EXPECT_THAT(render_for_worktree(rendered(), wanted)->notes, Contains(HasSubstr("container_name")));
  EXPECT_THAT(render_for_worktree(rendered(), wanted)->notes, Contains(HasSubstr("compose.yml:4")));
  std::string with_bind = rendered();
  with_bind.replace(with_bind.find("/wt/src"), 7, "/main/x");
  const auto refused = render_for_worktree(with_bind, wanted);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().id(), "compose_bind_in_main");
  EXPECT_THAT(refused.error().text(), HasSubstr("/main/x"));
  EXPECT_THAT(refused.error().text(), HasSubstr("compose.yml:8"));
}

TEST_P(RenderedConfigTest, a_volume_that_is_a_bind_in_disguise_is_treated_as_one) {
  const auto with_device = [](const char* type, const char* device) {
    return Json{{"services", {{"app", {{"image", "shop"}}}, {"migrate", {{"image", "shop"}}}}},
                {"volumes",
                 {{"data", {{"driver_opts", {{"type", type}, {"o", "bind"}, {"device", device}}}}}}}}
        .dump();
  };
  const auto refused = render_for_worktree(with_device("none", "/main/uploads"), request());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().id(), "compose_bind_in_main");
  EXPECT_THAT(refused.error().text(), HasSubstr("/main/uploads"));
  EXPECT_TRUE(render_for_worktree(with_device("none", "/wt/uploads"), request()));
  EXPECT_TRUE(render_for_worktree(with_device("none", "uploads"), request())) << "relative to the checkout";
}

TEST_P(RenderedConfigTest, an_external_volume_is_told) {
  const std::string external = R"({"services":{"app":{"image":"shop"},"migrate":{"image":"shop"}},)"
                               R"("volumes":{"ext":{"external":true,"name":"extvol"}}})";
  EXPECT_THAT(render_for_worktree(external, request())->notes, Contains(HasSubstr("ext is external")));
}

constexpr const char* kExternalNetworks = R"(services:
  app: {image: shop, networks: {default: null, shared: {aliases: [shop], ipv4_address: 10.0.0.9}}}
  db: {image: shop, networks: [older]}
  silent: {image: shop}
  hidden: {image: shop, network_mode: none}
networks:
  shared: {external: true, name: hedge}
  older: {external: {name: plane}}
)";

TEST_P(RenderedConfigTest, E04_external_networks_are_told_by_service_and_what_is_asked_for_there_is_dropped) {
  const auto config = render_for_worktree(kExternalNetworks, request());
  ASSERT_TRUE(config) << config.error().to_string();
  EXPECT_EQ(config->shared_networks, (SharedNetworks{{"app", {"hedge"}}, {"db", {"plane"}}}));
  const Json text = Json::parse(config->text);
  EXPECT_EQ(text["services"]["app"]["networks"]["shared"], Json());
  EXPECT_THAT(config->notes, Contains(HasSubstr("network shared is external")));
}

TEST_P(RenderedConfigTest, E04_an_external_default_network_is_every_silent_services) {
  const std::string text = replace_all(kExternalNetworks, "  shared: {external", "  default: {external: true, name: all}\n  shared: {external");
  const auto config = render_for_worktree(text, request());
  ASSERT_TRUE(config) << config.error().to_string();
  EXPECT_EQ(config->shared_networks,
            (SharedNetworks{{"app", {"all", "hedge"}}, {"db", {"plane"}}, {"silent", {"all"}}}));
}

TEST_P(RenderedConfigTest, a_worktree_that_lies_inside_main_may_mount_itself) {
  RenderRequest wanted = request();
  wanted.main_checkout = "/";
  wanted.git_common_dir = "/cache";
  EXPECT_TRUE(render_for_worktree(rendered(), wanted));
  wanted.git_common_dir = "/elsewhere";
  if (GetParam() == 1) {
    EXPECT_EQ(render_for_worktree(rendered(), wanted).error().id(), "compose_bind_in_main");
  }
}

TEST_P(RenderedConfigTest, the_hosts_network_is_refused) {
  std::string text = rendered();
  text.replace(text.find("    container_name: fixed"), 25, "    network_mode: host   ");
  EXPECT_EQ(render_for_worktree(text, request()).error().id(), "compose_host_network");
}

TEST_P(RenderedConfigTest, an_unknown_service_lists_the_known_ones) {
  RenderRequest wanted = request();
  wanted.services = {"web"};
  const auto config = render_for_worktree(rendered(), wanted);
  EXPECT_EQ(config.error().id(), "service_unknown");
  EXPECT_THAT(config.error().hints().at(0), HasSubstr("app, migrate"));
}

TEST_P(RenderedConfigTest, what_is_generated_passes_the_read_back_and_each_danger_fails_it) {
  const std::string good = render_for_worktree(rendered(), request())->text;
  EXPECT_TRUE(require_safe(good, request()));
  const auto refused = [&](const std::function<void(Json&)>& change) {
    Json config = Json::parse(good);
    change(config);
    const auto safe = require_safe(config.dump(), request());
    return !safe && safe.error().id() == "compose_rendered_unsafe" &&
           safe.error().kind() == ErrorKind::refused;
  };
  EXPECT_TRUE(refused([](Json& config) { config["name"] = "shop"; }));
  EXPECT_TRUE(refused([](Json& config) { config["services"]["app"]["container_name"] = "fixed"; }));
  EXPECT_TRUE(refused([](Json& config) { config["services"]["app"]["ports"] = {"1:1"}; }));
  EXPECT_TRUE(refused([](Json& config) { config["services"]["app"]["restart"] = "always"; }));
  EXPECT_TRUE(refused([](Json& config) { config["services"]["app"]["network_mode"] = "host"; }));
  EXPECT_TRUE(refused([](Json& config) { config["services"]["app"]["labels"]["hedge.id"] = "another"; }));
  EXPECT_TRUE(refused([](Json& config) { config["services"]["app"]["volumes"].push_back("/main/x:/x"); }));
  EXPECT_TRUE(refused([](Json& config) { config["volumes"]["data"]["driver_opts"] = {{"device", "/main/x"}}; }));
  EXPECT_TRUE(refused([](Json& config) { config["volumes"]["data"]["name"] = "shop_data"; }));
  EXPECT_TRUE(refused([](Json& config) { config["networks"]["default"]["name"] = "shop_default"; }));
  EXPECT_TRUE(refused([](Json& config) { config.erase("services"); }));
}

TEST(RenderedConfigInput, K02_json_newlines_and_rubbish) {
  RenderRequest request;
  request.compose = {2, 26, 1};
  request.project = "p";
  EXPECT_TRUE(render_for_worktree(R"({"services": {"app": {"image": "shop"}}})", request)) << "JSON is YAML";
  for (const char* text : {"", "[]", "services: 3", "services: {app: 3}", "a: [",
                           "services: {app: {depends_on: {db: {condition: 3}}}}", "\tservices:"}) {
    const auto config = render_for_worktree(text, request);
    ASSERT_FALSE(config) << text;
    EXPECT_EQ(config.error().id(), "compose_file_invalid") << text;
  }
}

}  // namespace
}  // namespace hedge::worktree
