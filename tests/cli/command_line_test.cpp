#include "cli/command_line.h"

#include <gtest/gtest.h>

#include <set>

#include <CLI/CLI.hpp>

namespace hedge::cli {
namespace {

TEST(Verb, IsFoundAlsoWhereTheRestCannotBeParsed) {
  EXPECT_EQ(verb_in({"create", "x"}), "create");
  EXPECT_EQ(verb_in({"-C", "/dir", "--json", "verify"}), "verify");
  EXPECT_EQ(verb_in({"--state-dir", "verify", "destroy", "--nonsense"}), "destroy");
  EXPECT_EQ(verb_in({"--help"}), "");
  EXPECT_EQ(verb_in({}), "");
  EXPECT_EQ(verb_in({"-C"}), "");
}

TEST(Verb, ContractVerbsOweAnObject) {
  for (const char* verb : {"create", "verify", "destroy", "status", "up", "down"}) EXPECT_EQ(shape_of(verb), ResultShape::contract);
  for (const char* verb : {"list", "run", "edge", ""}) EXPECT_EQ(shape_of(verb), ResultShape::plain);
}

TEST(CommandTable, EveryVerbDeclaresItselfOnceAndItsShapeAgrees) {
  CLI::App app;
  std::set<std::string> names;
  for (const CommandEntry& entry : command_table()) {
    const auto command = entry.make();
    CLI::App parent;
    const CLI::App* verb = command->declare(parent);
    ASSERT_NE(verb, nullptr);
    const std::string name = std::string(entry.group) + " " + verb->get_name();
    EXPECT_TRUE(names.insert(name).second) << name << " is there twice";
    if (entry.group.empty()) {
      EXPECT_EQ(command->shape(), shape_of(verb->get_name())) << name;
    }
    const bool hidden = verb->get_group().empty();
    EXPECT_TRUE(hidden || !verb->get_description().empty()) << name << " says nothing about itself";
  }
}

}  // namespace
}  // namespace hedge::cli
