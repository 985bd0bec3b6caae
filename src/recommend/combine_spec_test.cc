#include "recommend/combine_spec.h"

#include <gtest/gtest.h>

#include "recommend/saving_draws.h"

namespace idleburn {
namespace {

TEST(CombineSpec, ReadsEverySpelling) {
  CombineSpec spec;
  spec.fixes = {".35", "35%", "dali=0.35", "3.5e-1"};
  spec.waste = "50 %";
  spec.rate = "60%";
  spec.overhead = "150%";
  spec.avoided = "0.1";
  spec.pools = {"loader=.25:dali=.7,workers=40%"};
  spec.lanes = {"gpu=h2d:20,compute:90.5ms"};
  spec.lane_fixes = {"fp8=compute:.5"};
  spec.cheaper = {"75%:2x"};
  spec.substitutes = {"dali, workers"};
  const auto input = ReadCombineSpec(spec);
  ASSERT_TRUE(input) << input.error().message;
  ASSERT_EQ(input->fixes.size(), 4U);
  for (const CombineInput::Fix& fix : input->fixes) EXPECT_EQ(fix.fraction, 0.35);
  EXPECT_EQ(input->fixes[2].name, "dali");
  EXPECT_EQ(input->waste, 0.5);
  EXPECT_EQ(input->rate_cut, 0.6);
  EXPECT_EQ(input->overhead, 1.5);
  EXPECT_EQ(input->avoided, 0.1);
  ASSERT_EQ(input->pools.size(), 1U);
  EXPECT_EQ(input->pools[0].share, 0.25);
  EXPECT_EQ(input->pools[0].fixes[1].target, "workers");
  EXPECT_EQ(input->pools[0].fixes[1].share, 0.4);
  EXPECT_EQ(input->lanes[0].stages[1].ms, 90.5);
  EXPECT_EQ(input->lane_fixes[0].cuts[0].share, 0.5);
  EXPECT_EQ(input->cheaper[0].share, 0.75);
  EXPECT_EQ(input->cheaper[0].speedup, 2);
  EXPECT_EQ(input->substitutes[0][1], "workers");
}

// A name may act on no terminal and break no document, and is still found by itself.
TEST(CombineSpec, NamesAreReadAsTheyMayBeShown) {
  const std::string raw = "\xff\x1b[31mx";
  const std::string shown = "\xEF\xBF\xBD?[31mx";
  CombineSpec spec;
  spec.fixes = {raw + "=.3"};
  spec.pools = {raw + "=.3:" + raw + "2=.5"};
  spec.lanes = {raw + "=" + raw + ":20"};
  spec.lane_fixes = {raw + "3=" + raw + ":.5"};
  spec.substitutes = {raw + "," + raw + "2"};
  const auto input = ReadCombineSpec(spec);
  ASSERT_TRUE(input) << input.error().message;
  EXPECT_EQ(input->fixes[0].name, shown);
  EXPECT_EQ(input->pools[0].name, shown);
  EXPECT_EQ(input->pools[0].fixes[0].target, shown + "2");
  EXPECT_EQ(input->lanes[0].name, shown);
  EXPECT_EQ(input->lanes[0].stages[0].name, shown);
  EXPECT_EQ(input->lane_fixes[0].name, shown + "3");
  EXPECT_EQ(input->lane_fixes[0].cuts[0].target, shown);
  EXPECT_EQ(input->substitutes[0], (std::vector<std::string>{shown, shown + "2"}));
}

TEST(CombineSpec, AllMayBeWasteAndAStallMayVanish) {
  CombineSpec spec;
  spec.fixes = {".35", ".30"};
  spec.waste = "100%";
  auto input = ReadCombineSpec(spec);
  ASSERT_TRUE(input) << input.error().message;
  EXPECT_NEAR(Combine(*input).total, 1 - 0.65 * 0.7, 1e-12);
  spec = {};
  spec.pools = {"loader=1:cache=.5,other=1"};
  input = ReadCombineSpec(spec);
  ASSERT_TRUE(input) << input.error().message;
  EXPECT_NEAR(Combine(*input).total, 1, 1e-12);
  const DrawnSaving drawn = DrawSaving(*input, {});
  EXPECT_LE(drawn.high, 1);
  spec = {};
  spec.lanes = {"gpu=load:40,compute:60"};
  spec.lane_fixes = {"cache=load:1"};
  input = ReadCombineSpec(spec);
  ASSERT_TRUE(input) << input.error().message;
  EXPECT_NEAR(Combine(*input).total, 0.4, 1e-12);
}

TEST(CombineSpec, PoolsThatFillTheWasteByHandAreAccepted) {
  CombineSpec spec;
  spec.waste = ".3";
  spec.pools = {"a=.1:x=.5", "b=.2:y=.5"};  // .1 + .2 exceeds .3 in binary
  EXPECT_TRUE(ReadCombineSpec(spec));
}

struct BadSpec {
  const char* name;
  CombineSpec spec;
  const char* says;
};

std::vector<BadSpec> BadSpecs() {
  std::vector<BadSpec> all;
  const auto add = [&all](const char* name, const char* says, auto change) {
    CombineSpec spec;
    spec.fixes = {"a=.3", "b=.2"};
    spec.waste = ".5";
    change(spec);
    all.push_back({name, spec, says});
  };
  add("Nothing", "no fix to combine", [](CombineSpec& s) { s.fixes.clear(); });
  add("WasteAboveOne", "'1.01' is not a share from 0 to 1", [](CombineSpec& s) { s.waste = "1.01"; });
  add("FixOfOne", "'1' is not a share", [](CombineSpec& s) { s.fixes = {"1"}; });
  add("FixInPercentWithoutSign", "write .35 or 35%", [](CombineSpec& s) { s.fixes = {"35"}; });
  add("NegativeFix", "'-.1' is not a share", [](CombineSpec& s) { s.fixes = {"-.1"}; });
  add("FixTwice", "'a' is given twice", [](CombineSpec& s) { s.fixes = {"a=.1", "a=.2"}; });
  add("NoNumber", "--waste 'half'", [](CombineSpec& s) { s.waste = "half"; });
  add("NotANumber", "--rate 'nan'", [](CombineSpec& s) { s.rate = "nan"; });
  add("WholeRate", "--rate '100%'", [](CombineSpec& s) { s.rate = "100%"; });
  add("NegativeOverhead", "--overhead '-1'", [](CombineSpec& s) { s.overhead = "-1"; });
  add("PoolWithoutFixes", "write --pool", [](CombineSpec& s) { s.pools = {"p=.2"}; });
  add("PoolWithoutName", "write --pool", [](CombineSpec& s) { s.pools = {"=.2:a=.3"}; });
  add("PoolFixTwice", "'a' is twice", [](CombineSpec& s) { s.pools = {"p=.2:a=.3,a=.4"}; });
  add("PoolsAboveWaste", "more than --waste", [](CombineSpec& s) { s.pools = {"p=.3:a=.3", "q=.3:a=.3"}; });
  add("PoolsAboveOne", "more than 1", [](CombineSpec& s) {
    s.waste.clear();
    s.pools = {"p=.6:a=.3", "q=.6:a=.3"};
  });
  add("UnknownStage", "did you mean 'load'", [](CombineSpec& s) {
    s.lanes = {"l=load:10"};
    s.lane_fixes = {"x=laod:.5"};
  });
  add("LaneFixWithoutLane", "no --lane has", [](CombineSpec& s) { s.lane_fixes = {"x=load:.5"}; });
  add("StageWithoutTime", "above 0", [](CombineSpec& s) { s.lanes = {"l=load:0"}; });
  add("StageTwice", "'load' is given twice", [](CombineSpec& s) { s.lanes = {"l=load:1,load:2"}; });
  add("UnknownSubstitute", "did you mean 'a'", [](CombineSpec& s) { s.substitutes = {"a,x"}; });
  add("LoneSubstitute", "write --substitutes A,B", [](CombineSpec& s) { s.substitutes = {"a"}; });
  add("SubstituteTwice", "'a' twice", [](CombineSpec& s) { s.substitutes = {"a,b", "a,b"}; });
  add("NoSpeedup", "not above 1", [](CombineSpec& s) { s.cheaper = {".5:1"}; });
  add("SpeedupAsPercent", "not above 1", [](CombineSpec& s) { s.cheaper = {".5:200%"}; });
  add("CheaperAboveOne", "more than 1", [](CombineSpec& s) { s.cheaper = {".6:2", ".6:3"}; });
  add("CheaperWithoutWaste", "--waste W", [](CombineSpec& s) {
    s.waste.clear();
    s.cheaper = {".6:2"};
  });
  return all;
}

TEST(CombineSpec, SaysWhatIsWrongInOneLine) {
  for (const BadSpec& bad : BadSpecs()) {
    const auto input = ReadCombineSpec(bad.spec);
    ASSERT_FALSE(input) << bad.name;
    EXPECT_EQ(input.error().kind, Error::Kind::kUsage) << bad.name;
    EXPECT_NE(input.error().message.find(bad.says), std::string::npos) << bad.name << ": " << input.error().message;
    EXPECT_EQ(input.error().message.find('\n'), std::string::npos) << bad.name;
  }
}

}  // namespace
}  // namespace idleburn
