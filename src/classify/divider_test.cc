#include "classify/divider.h"

#include <gtest/gtest.h>

#include "support/property.h"

namespace idleburn {
namespace {

TEST(DividerTest, DividesAsTheMachineDoes) {
  const std::int64_t large = INT64_MAX;
  for (const std::int64_t divisor :
       {std::int64_t{1}, std::int64_t{2}, std::int64_t{3}, std::int64_t{10}, large - 1, large}) {
    for (const std::int64_t n : {std::int64_t{0}, std::int64_t{1}, divisor - 1, divisor, large - 1, large}) {
      const Divider::Parts parts = Divider(divisor).Divide(n);
      EXPECT_EQ(parts.quotient, n / divisor) << n << " / " << divisor;
      EXPECT_EQ(parts.rest, n % divisor) << n << " / " << divisor;
    }
  }
  test::ExpectProperty([] {
    const auto divisor = *rc::gen::inRange<std::int64_t>(1, INT64_MAX) >> *rc::gen::inRange(0, 62) | 1;
    const auto n = *rc::gen::inRange<std::int64_t>(0, INT64_MAX);
    const Divider::Parts parts = Divider(divisor).Divide(n);
    RC_ASSERT(parts.quotient == n / divisor);
    RC_ASSERT(parts.rest == n % divisor);
  });
}

}  // namespace
}  // namespace idleburn
