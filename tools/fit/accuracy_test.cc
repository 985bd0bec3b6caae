#include "fit/accuracy.h"

#include <gtest/gtest.h>

#include <cmath>
#include <deque>

namespace idleburn {
namespace {

// Left-out rows of a framework, measured / predicted of each.
void Add(std::deque<MeasuredRow>& rows, std::vector<HeldOutRow>& held_out, const std::string& framework, double ratio) {
  for (int i = 0; i < 5; ++i) {
    rows.emplace_back();
    rows.back().row.run.framework = framework;
    held_out.push_back({&rows.back(), ratio, 1});
  }
}

// Two frameworks at -+log 1.2 give a third an interval of -+t(1 degree, 95 %) x log 1.2 x sqrt(2) x sqrt(1 + 1/2); one
// that lies at e^3 is in it when it is 3 / 1.9937 times as wide.
TEST(AccuracyTest, HowMuchWiderIntervalsHoldEveryFramework) {
  const double width = 6.3137515 * std::log(1.2) * std::sqrt(2.0) * std::sqrt(1.5);
  std::deque<MeasuredRow> rows;
  std::vector<HeldOutRow> unknown;
  Add(rows, unknown, "slow", 1 / 1.2);
  Add(rows, unknown, "fast", 1.2);
  std::vector<HeldOutRow> near = unknown;
  Add(rows, near, "third", std::exp(0.9 * width));
  EXPECT_DOUBLE_EQ(WideningForEach(near, 0.85), 1);
  Add(rows, unknown, "third", std::exp(3.0));
  const double widen = WideningForEach(unknown, 0.85);
  EXPECT_GE(widen, 3 / width);
  EXPECT_LE(widen, 3 / width + 0.051);
  EXPECT_EQ(Coverage({}, unknown, "third"), 0);
  EXPECT_EQ(Coverage({}, unknown, "third", widen), 1);
}

// By hand: of 3 rows at one half each, 0 inside is as likely as 3: 2/8. Nine of ten is what 0.9 says.
TEST(AccuracyTest, ATestOfCoverage) {
  EXPECT_NEAR(BinomialTest(0, 3, 0.5), 0.25, 1e-9);
  EXPECT_NEAR(BinomialTest(1, 3, 0.5), 1, 1e-9);
  EXPECT_GT(BinomialTest(18, 20, 0.9), 0.9);
  EXPECT_LT(BinomialTest(12, 20, 0.9), 0.01);
}

}  // namespace
}  // namespace idleburn
