#include "worktree/stack/shared_networks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hedge::worktree {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Key;
using testing::UnorderedElementsAre;

ContainerFacts container(const std::string& service) {
  ContainerFacts out;
  out.id = "id-" + service;
  out.name = "shop-alpha-" + service + "-1";
  out.labels["com.docker.compose.service"] = service;
  return out;
}

class SharedNetworksTest : public testing::Test {
 protected:
  SharedNetworksTest() {
    names_.services = {{"app", 8000, {"alpha.shop.hedge"}}, {"worker", 0, {}}};
    names_.network = "hedge";
    names_.alias = "alpha.shop.hedge";
  }
  std::map<std::string, Endpoint> wanted(const std::string& service) const {
    return wanted_endpoints(container(service), all_, names_);
  }
  std::vector<std::string> problems(const ContainerFacts& facts) const {
    std::vector<std::string> out;
    for (const Error& problem : endpoint_problems(facts, wanted_endpoints(facts, all_, names_))) out.emplace_back(problem.id());
    return out;
  }

  NetworkNames names_;
  std::vector<ContainerFacts> all_{container("app"), container("db"), container("worker")};
};

TEST_F(SharedNetworksTest, OnlyTheServedServiceIsPutOnTheEdgesNetwork) {
  EXPECT_THAT(wanted("app"), UnorderedElementsAre(Key("hedge")));
  EXPECT_THAT(wanted("app").at("hedge").aliases, ElementsAre("alpha.shop.hedge"));
  EXPECT_THAT(wanted("app").at("hedge").links, IsEmpty());
  EXPECT_THAT(wanted("db"), IsEmpty());
}

TEST_F(SharedNetworksTest, E04_AServiceThatJoinsASharedNetworkHasNoBareNameThere) {
  names_.shared = {{"app", {"hedge"}}, {"db", {"hedge", "plane"}}};
  EXPECT_THAT(wanted("db").at("hedge").aliases, ElementsAre("db.alpha.shop.hedge"));
  EXPECT_THAT(wanted("db").at("plane").aliases, ElementsAre("db.alpha.shop.hedge"));
  EXPECT_THAT(wanted("app").at("hedge").aliases, ElementsAre("alpha.shop.hedge"));
}

TEST_F(SharedNetworksTest, E04_BareNamesLeadToTheStacksOwnContainersOnTheSameNetwork) {
  names_.shared = {{"app", {"hedge"}}, {"db", {"hedge", "plane"}}};
  EXPECT_THAT(wanted("app").at("hedge").links, UnorderedElementsAre("shop-alpha-app-1:app", "shop-alpha-db-1:db"));
  EXPECT_THAT(wanted("db").at("plane").links, ElementsAre("shop-alpha-db-1:db"));
}

TEST_F(SharedNetworksTest, WhatIsAttachedOtherwiseIsTold) {
  names_.shared = {{"db", {"hedge"}}};
  ContainerFacts db = container("db");
  EXPECT_THAT(problems(db), ElementsAre("stack_not_running"));
  db.networks["hedge"] = {{"db", "db.alpha.shop.hedge"}, {"shop-alpha-db-1:db"}};
  EXPECT_THAT(problems(db), ElementsAre("network_alias_bare"));
  db.networks["hedge"] = {{"db.alpha.shop.hedge"}, {}};
  EXPECT_THAT(problems(db), ElementsAre("network_alias_bare"));
  db.networks["hedge"].links = {"shop-alpha-db-1:db"};
  EXPECT_THAT(problems(db), IsEmpty());
  db.networks["shop-alpha_default"] = {{"db"}, {}};
  EXPECT_THAT(problems(db), IsEmpty()) << "the stack's own network is its own";
}

}  // namespace
}  // namespace hedge::worktree
