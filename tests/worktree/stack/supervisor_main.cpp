// stack_supervisor --stack DIRECTORY
#include <cstdio>

#include "base/log.h"
#include "worktree/stack/supervisor.h"

int main(int count, char** arguments) {
  if (count != 3) return 2;
  hedge::log::start(hedge::log::Level::info);
  const auto ended = hedge::worktree::run_supervisor(arguments[2]);
  if (!ended) std::fprintf(stderr, "%s\n", ended.error().to_string().c_str());
  return ended ? 0 : 1;
}
