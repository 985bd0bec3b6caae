#pragma once

#include <cstdio>
#include <cstdlib>

// Aborts on a programmer's mistake, in every build, and says where. What can go wrong in operation returns a Result
// instead. A macro, because it prints the condition and its place.
#define CHECK(condition)                                                                 \
  do {                                                                                   \
    if (!(condition)) {                                                                  \
      std::fprintf(stderr, "%s:%d: check failed: %s\n", __FILE__, __LINE__, #condition); \
      std::abort();                                                                      \
    }                                                                                    \
  } while (false)
