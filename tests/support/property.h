#pragma once

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <utility>

namespace idleburn::test {

// A property that must hold for generated cases. rc::check alone only prints a counterexample and returns false; the
// test would pass.
template <typename... Arguments>
void ExpectProperty(Arguments&&... arguments) {
  EXPECT_TRUE(rc::check(std::forward<Arguments>(arguments)...));
}

}  // namespace idleburn::test
