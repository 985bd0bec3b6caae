#pragma once

#include <cstdio>
#include <cstdlib>

// A programmer's mistake: says where and aborts. What can go wrong in operation returns Result instead.
#define CHECK(condition)                                                                 \
  do {                                                                                   \
    if (!(condition)) {                                                                  \
      std::fprintf(stderr, "%s:%d: check failed: %s\n", __FILE__, __LINE__, #condition); \
      std::abort();                                                                      \
    }                                                                                    \
  } while (false)
