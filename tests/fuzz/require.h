// What a fuzz target says when a property does not hold.
#pragma once

#include <cstdio>
#include <cstdlib>

namespace hedge::test {

inline void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "property violated: %s\n", what);
  std::abort();
}

}  // namespace hedge::test
