#include "price/work.h"

#include <gtest/gtest.h>

namespace idleburn {
namespace {

TEST(WorkTest, ReadsPlainDecimals) {
  const WorkDone work = ParseWork("samples=200000, epochs=2.64,tokens=15000000000000").value();
  EXPECT_TRUE(work.units.at("samples") == 200'000 * WorkDone::kOne);
  EXPECT_TRUE(work.units.at("epochs") == 2'640'000'000);
  EXPECT_TRUE(work.units.at("tokens") == 15'000'000'000'000 * WorkDone::kOne);
  EXPECT_TRUE(ParseWork("epochs=.333333333")->units.at("epochs") == 333'333'333);
  EXPECT_TRUE(ParseWork("")->units.empty());
  EXPECT_EQ(Singular("samples"), "sample");
}

TEST(WorkTest, RefusesTheRest) {
  for (const std::string_view text : {"samples", "samples=", "samples=0", "samples=0.0", "samples=.", "samples=.0",
                                      "samples=-1", "tokens=1e9", "samples=nan", "bananas=3", "samples=1,samples=2",
                                      "epochs=1.0000000001", "tokens=99999999999999999999", "=3", ","}) {
    const auto work = ParseWork(text);
    ASSERT_FALSE(work) << text;
    EXPECT_EQ(work.error().kind, Error::Kind::kUsage);
  }
}

}  // namespace
}  // namespace idleburn
