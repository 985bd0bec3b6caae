#include "classify/dense_second.h"

#include <gtest/gtest.h>

#include "support/property.h"

namespace idleburn {

namespace {

TEST(SpanMeanTest, RoundsHalfToEven) {
  EXPECT_TRUE(SpanMean(1, 2).Of(1) == 0);
  EXPECT_TRUE(SpanMean(1, 2).Of(3) == 2);
  EXPECT_TRUE(SpanMean(1, 2).Of(5) == 2);
  EXPECT_TRUE(SpanMean(1, 2).Of(-3) == -2);
  EXPECT_TRUE(SpanMean(3, 4).Of(2) == 2);
  EXPECT_TRUE(SpanMean(1'000'000'000, 9).Of(1) == 111'111'111);
}

TEST(SpanMeanTest, IsTheExactQuotient) {
  test::ExpectProperty([] {
    const auto positive = [] { return *rc::gen::inRange<std::int64_t>(1, INT64_MAX) >> *rc::gen::inRange(0, 62) | 1; };
    const std::int64_t span = *rc::gen::arbitrary<bool>() ? 1'000'000'000 : positive();
    const std::int64_t count = *rc::gen::arbitrary<bool>() ? *rc::gen::inRange<std::int64_t>(1, 200) : positive();
    const std::int64_t size = positive() - *rc::gen::inRange<std::int64_t>(0, 2);
    const std::int64_t sum = *rc::gen::inRange(0, 4) == 0 ? -size : size;
    RC_ASSERT((SpanMean(span, count).Of(sum) == DivHalfEven(static_cast<Int128>(sum) * span, count)));
  });
}

// The largest sums that are multiplied, and those beyond, of counts that leave rests of a half.
TEST(SpanMeanTest, IsExactAtItsEdges) {
  for (std::int64_t count = 1; count <= 300; ++count) {
    for (const std::int64_t span : {std::int64_t{1}, std::int64_t{999}, std::int64_t{1'000'000'000}}) {
      const SpanMean mean(span, count);
      for (std::int64_t bits = 1; bits < 64; ++bits) {
        const std::int64_t edge = INT64_MAX >> (63 - bits);
        for (const std::int64_t sum : {edge, edge - 1, edge / count, edge / count * count, edge / 2 / count}) {
          ASSERT_TRUE(mean.Of(sum) == DivHalfEven(static_cast<Int128>(sum) * span, count)) << sum << " / " << count;
        }
      }
    }
  }
}

}  // namespace

}  // namespace idleburn
