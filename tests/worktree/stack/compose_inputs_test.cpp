#include "worktree/stack/compose_inputs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.h"
#include "tests/support/temporary_directory.h"

namespace hedge::worktree {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class ComposeInputsTest : public ::testing::Test {
 protected:
  void write(const std::string& name, const std::string& text) {
    ASSERT_TRUE(ensure_directory((directory_ / name).parent_path()));
    ASSERT_TRUE(write_file_atomically(directory_ / name, text, 0644));
  }
  std::vector<std::filesystem::path> inputs() {
    return find_compose_inputs({directory_ / "compose.yml"}, directory_.path());
  }

  test::TemporaryDirectory directory_;
};

TEST_F(ComposeInputsTest, are_environment_files_in_every_form) {
  write("compose.yml",
        "services:\n"
        "  a: {image: x, env_file: a.env}\n"
        "  b: {image: x, env_file: [./b.env, a.env]}\n"
        "  c: {image: x, env_file: [{path: conf/c.env, required: false}]}\n");
  EXPECT_THAT(inputs(), ElementsAre(directory_ / "a.env", directory_ / "b.env", directory_ / "conf/c.env"));
}

TEST_F(ComposeInputsTest, are_what_extends_and_include_name_and_what_that_names) {
  write("compose.yml",
        "include: [{path: [sub/more.yml], env_file: more.env}, last.yml]\n"
        "services:\n  a: {extends: {file: sub/base.yml, service: a}}\n  b: {extends: a}\n");
  write("sub/more.yml", "services:\n  m: {image: x, env_file: m.env}\n");
  write("sub/base.yml", "services:\n  a: {image: x, env_file: ../base.env}\n");
  EXPECT_THAT(inputs(), ElementsAre(directory_ / "more.env", directory_ / "sub/more.yml", directory_ / "sub/m.env",
                                    directory_ / "last.yml", directory_ / "sub/base.yml", directory_ / "base.env"));
}

TEST_F(ComposeInputsTest, files_that_name_each_other_are_read_once) {
  write("compose.yml", "include: [compose.yml, other.yml]\n");
  write("other.yml", "include: [compose.yml]\n");
  EXPECT_THAT(inputs(), ElementsAre(directory_ / "compose.yml", directory_ / "other.yml"));
}

TEST_F(ComposeInputsTest, what_cannot_be_read_or_told_is_left_to_compose) {
  write("compose.yml", "services:\n  a: {env_file: \"${WHERE}/a.env\"}\n  b: 7\n  c: {env_file: 7, extends: {file: 8}}\n");
  EXPECT_THAT(inputs(), IsEmpty());
  write("compose.yml", "services: [\n");
  EXPECT_THAT(inputs(), IsEmpty());
  EXPECT_THAT(find_compose_inputs({directory_ / "absent.yml"}, directory_.path()), IsEmpty());
}

}  // namespace
}  // namespace hedge::worktree
