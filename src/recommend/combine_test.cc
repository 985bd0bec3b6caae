#include "recommend/combine.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "recommend/saving_draws.h"
#include "support/property.h"

namespace idleburn {
namespace {

constexpr double kExact = 1e-12;

CombineInput Fractions(const std::vector<double>& fractions, std::optional<double> waste, double rate = 0) {
  CombineInput input;
  for (const double f : fractions) input.fixes.push_back({"f" + std::to_string(input.fixes.size()), f});
  input.waste = waste;
  input.rate_cut = rate;
  return input;
}

// The step of the worked examples: every stage in one lane, or the loader beside the GPU.
CombineInput Step(bool serial, const std::vector<CombineInput::LaneFix>& fixes) {
  CombineInput input;
  const std::vector<CombineInput::Stage> gpu = {{"h2d", 20}, {"compute", 90}, {"launch", 20}, {"comm", 30}};
  if (serial) {
    input.lanes = {{"step", gpu}};
    input.lanes.front().stages.insert(input.lanes.front().stages.begin(), {"load", 140});
  } else {
    input.lanes = {{"load", {{"load", 140}}}, {"gpu", gpu}};
  }
  input.lane_fixes = fixes;
  return input;
}

const CombineInput::LaneFix kDali = {"dali", {{"load", 0.6}}};
const CombineInput::LaneFix kWorkers = {"workers", {{"load", 0.5}}};
const CombineInput::LaneFix kPinned = {"pin_memory", {{"h2d", 0.7}}};
const CombineInput::LaneFix kGraphs = {"cuda_graphs", {{"launch", 0.7}}};

TEST(Combine, FractionsAreCappedByTheWasteBeforeTheRateMultiplies) {
  const CombineResult first = Combine(Fractions({0.3, 0.4, 0.25}, 0.5, 0.6));
  EXPECT_NEAR(*first.fraction_before_cap, 0.685, kExact);
  EXPECT_NEAR(first.time, 0.5, kExact);
  EXPECT_NEAR(first.total, 0.8, kExact);
  EXPECT_NEAR(first.naive_sum, 1.55, kExact);
  EXPECT_FALSE(first.uncapped);

  const CombineResult second = Combine(Fractions({0.35, 0.3, 0.25}, 0.5, 0.6));
  EXPECT_NEAR(*second.fraction_before_cap, 0.65875, kExact);
  EXPECT_NEAR(second.total, 0.8, kExact);
  EXPECT_NEAR(Combine(Fractions({0.35, 0.3, 0.25}, 0.5)).naive_sum, 0.9, kExact);
}

TEST(Combine, WithoutWasteTheFractionRuleIsFlaggedAsUncapped) {
  const CombineResult result = Combine(Fractions({0.35, 0.3, 0.25}, std::nullopt));
  EXPECT_NEAR(result.total, 0.65875, kExact);
  EXPECT_TRUE(result.uncapped);
  EXPECT_FALSE(result.cap.has_value());
}

TEST(Combine, TimeAndRateMultiply) {
  const CombineResult result = Combine(Fractions({0.4}, std::nullopt, 0.6));
  EXPECT_NEAR(result.total, 0.76, kExact);
  EXPECT_NEAR(result.naive_sum, 1.0, kExact);
}

TEST(Combine, CheaperWorkStandsBesideWaste) {
  CombineInput input;
  input.waste = 0.4;
  input.pools = {{"stall", 0.4, {{"fix", 0.8}}}};
  input.cheaper = {{0.75, 2}};
  CombineResult result = Combine(input);
  EXPECT_NEAR(*result.waste, 0.32, kExact);
  EXPECT_NEAR(*result.cheaper, 0.225, kExact);
  EXPECT_NEAR(result.time, 0.545, kExact);
  EXPECT_NEAR(result.total, 0.545, kExact);

  input.avoided = 0.1;
  input.rate_cut = 0.6;
  input.overhead = 0.1;
  EXPECT_NEAR(Combine(input).total, 0.81982, kExact);
}

TEST(Combine, CheaperWorkIsNotCappedByWaste) {
  CombineInput input;
  input.waste = 0.03;
  input.cheaper = {{0.7, 1.8}};
  const CombineResult result = Combine(input);
  EXPECT_NEAR(result.total, 0.97 * 0.7 * (0.8 / 1.8), kExact);
  EXPECT_NEAR(result.total, 0.302, 5e-4);
  EXPECT_EQ(result.rule, CombineRule::kFraction);
}

TEST(Combine, SubstitutesOnAPoolCountOnceWithTheLarger) {
  CombineInput input;
  input.pools = {{"loader", 0.25, {{"workers", 0.4}, {"dali", 0.7}}}, {"launch", 0.1, {{"graphs", 0.6}}}};
  input.substitutes = {{"dali", "workers"}};
  const CombineResult result = Combine(input);
  EXPECT_EQ(result.rule, CombineRule::kPools);
  EXPECT_NEAR(result.total, 0.235, kExact);
  EXPECT_NEAR(*result.fraction, 0.2245, kExact);
  input.substitutes.clear();
  EXPECT_NEAR(Combine(input).total, 0.265, kExact);
}

TEST(Combine, LanesKeepTheOtherLane) {
  CombineInput input;
  input.lanes = {{"loader", {{"load", 90}}}, {"gpu", {{"compute", 100}}}};
  input.lane_fixes = {{"fp8", {{"compute", 0.5}}}};
  EXPECT_NEAR(Combine(input).total, 0.1, kExact);
}

TEST(Combine, SerialStepMatchesTheWorkedExample) {
  const CombineResult all = Combine(Step(true, {kDali, kWorkers, kPinned, kGraphs}));
  EXPECT_NEAR(Combine(Step(true, {kDali})).total, 0.28, kExact);
  EXPECT_NEAR(Combine(Step(true, {kWorkers})).total, 70.0 / 300, kExact);
  EXPECT_NEAR(Combine(Step(true, {kPinned})).total, 14.0 / 300, kExact);
  EXPECT_NEAR(Combine(Step(true, {kGraphs})).total, 14.0 / 300, kExact);
  EXPECT_NEAR(all.total, 140.0 / 300, kExact);
  EXPECT_NEAR(all.naive_sum, 182.0 / 300, kExact);
  EXPECT_NEAR(*all.fraction, 0.498, 5e-4);
  EXPECT_EQ(all.rule, CombineRule::kLanes);
  EXPECT_FALSE(all.waste.has_value());
}

TEST(Combine, OffTheCriticalPathNothingIsSaved) {
  EXPECT_NEAR(Combine(Step(false, {kDali, kWorkers})).total, 0, kExact);
  EXPECT_NEAR(Combine(Step(false, {kPinned, kGraphs})).total, 0.125, kExact);
  EXPECT_NEAR(Combine(Step(false, {kDali, kWorkers, kPinned, kGraphs})).total, 0.175, kExact);
  EXPECT_NEAR(Combine(Step(false, {kDali})).naive_sum, 0.28, kExact);
}

TEST(Combine, RuleOfHighestFidelityDecidesAndTheOthersAreListed) {
  CombineInput input = Step(false, {kPinned, kGraphs});
  input.waste = 0.5;
  input.fixes = {{"a", 0.4}};
  input.pools = {{"p", 0.3, {{"a", 0.5}}}};
  const CombineResult result = Combine(input);
  EXPECT_EQ(result.rule, CombineRule::kLanes);
  EXPECT_NEAR(*result.lanes, 0.125, kExact);
  EXPECT_NEAR(*result.pools, 0.15, kExact);
  EXPECT_NEAR(*result.fraction, 0.4, kExact);
  input.lane_fixes.clear();  // lanes alone say nothing
  EXPECT_EQ(Combine(input).rule, CombineRule::kPools);
}

// Of 190 ms of stages 50 go: 5 of 19. Who claims a half for the fix claims a half.
TEST(Combine, ThePlainSumTakesClaimsAsTheyAreStated) {
  CombineInput input;
  input.lanes = {{"load", {{"load", 90}}}, {"gpu", {{"gpu", 100}}}};
  input.lane_fixes = {{"fp8", {{"gpu", 0.5}}}};
  EXPECT_NEAR(Combine(input).naive_sum, 50.0 / 190, kExact);
  input.fixes = {{"fp8", 0.5}};
  EXPECT_NEAR(Combine(input).naive_sum, 0.5, kExact);
  EXPECT_NEAR(Combine(input).total, 0.1, kExact);
  EXPECT_TRUE(Combine(input).not_in_rule.empty());
}

TEST(Combine, AFixThatTheRuleCannotPlaceIsNamedAndStaysInThePlainSum) {
  CombineInput pools;
  pools.pools = {{"loader", 0.25, {{"dali", 0.7}}}};
  pools.fixes = {{"fp8", 0.3}};
  pools.waste = 0.5;
  EXPECT_NEAR(Combine(pools).total, 0.175, kExact);
  EXPECT_NEAR(Combine(pools).naive_sum, 0.475, kExact);
  EXPECT_EQ(Combine(pools).not_in_rule, std::vector<std::string>{"fp8"});

  CombineInput lanes;
  lanes.lanes = {{"load", {{"load", 140}}}, {"gpu", {{"compute", 150}}}};
  lanes.lane_fixes = {{"dali", {{"load", 0.5}}}};
  lanes.fixes = {{"fp8", 0.3}};
  lanes.pools = {{"launch", 0.1, {{"graphs", 0.5}}}};
  EXPECT_NEAR(Combine(lanes).total, 0, kExact);
  EXPECT_NEAR(Combine(lanes).naive_sum, 0.3 + 0.05 + 70.0 / 290, kExact);
  EXPECT_EQ(Combine(lanes).not_in_rule, (std::vector<std::string>{"fp8", "graphs"}));
}

TEST(Combine, OnlyFixesOnTheSameTimeOverlap) {
  EXPECT_FALSE(Combine(Fractions({0.2}, 0.1)).overlaps);
  EXPECT_TRUE(Combine(Fractions({0.2, 0.1}, 0.5)).overlaps);
  CombineInput pools;
  pools.pools = {{"loader", 0.25, {{"dali", 0.7}}}, {"launch", 0.1, {{"graphs", 0.6}}}};
  EXPECT_FALSE(Combine(pools).overlaps);
  pools.pools[0].fixes.push_back({"workers", 0.4});
  EXPECT_TRUE(Combine(pools).overlaps);
  EXPECT_FALSE(Combine(Step(false, {kPinned, kGraphs})).overlaps);
  EXPECT_TRUE(Combine(Step(false, {kDali, kWorkers})).overlaps);
}

TEST(Combine, SpotPaysBelowItsBreakEven) {
  CombineInput input;
  input.rate_cut = 0.5;
  input.overhead = 0.1;
  EXPECT_NEAR(Combine(input).total, 0.45, kExact);
  EXPECT_FALSE(Combine(input).rule.has_value());
  input.overhead = 1.1;
  EXPECT_LT(Combine(input).total, 0);
}

double Share() { return *rc::gen::inRange(0, 100) / 100.0; }

CombineInput RandomInput() {
  CombineInput input;
  const std::vector<std::string> names = {"a", "b", "c", "d", "e"};
  const auto some = [&names] {
    return static_cast<std::size_t>(*rc::gen::inRange<int>(0, static_cast<int>(names.size())));
  };
  const std::size_t fixes = some();
  for (std::size_t i = 0; i < fixes; ++i) input.fixes.push_back({names[i], Share()});
  const double waste = Share();
  if (*rc::gen::arbitrary<bool>()) input.waste = waste;
  double left = waste;
  const int pools = *rc::gen::inRange(0, 4);
  for (int k = 0; k < pools; ++k) {
    CombineInput::Pool pool = {"p" + std::to_string(k), left * Share(), {}};
    left -= pool.share;
    const std::size_t parts = 1 + some();
    for (std::size_t i = 0; i < parts; ++i) pool.fixes.push_back({names[i], Share()});
    input.pools.push_back(pool);
  }
  const int lanes = *rc::gen::inRange(0, 4);
  for (int k = 0; k < lanes; ++k) {
    CombineInput::Lane lane = {"l" + std::to_string(k), {}};
    const int stages = *rc::gen::inRange(1, 4);
    for (int s = 0; s < stages; ++s) {
      lane.stages.push_back({"s" + std::to_string(2 * k + s), static_cast<double>(*rc::gen::inRange(1, 200))});
    }
    input.lanes.push_back(lane);
  }
  if (lanes > 0) {
    const std::size_t lane_fixes = some();
    for (std::size_t i = 0; i < lane_fixes; ++i) {
      CombineInput::LaneFix fix = {names[i], {}};
      for (int s = 0; s < 7; ++s) {
        if (*rc::gen::inRange(0, 3) == 0) fix.cuts.push_back({"s" + std::to_string(s), Share()});
      }
      input.lane_fixes.push_back(fix);
    }
  }
  if (*rc::gen::arbitrary<bool>()) input.substitutes = {{"a", "c"}};
  if (*rc::gen::arbitrary<bool>()) input.substitutes.push_back({"b", "d", "e"});
  if (input.waste && *rc::gen::arbitrary<bool>()) input.cheaper = {{Share(), 1 + Share() * 9}};
  input.avoided = Share();
  input.rate_cut = Share();
  return input;
}

// The best of all choices of fixes that take at most one of each group: what substitution means, by brute force.
double BestChoice(const std::map<std::string, double>& claims, const std::vector<std::vector<std::string>>& groups) {
  const std::vector<std::pair<std::string, double>> list(claims.begin(), claims.end());
  double best = 0;
  for (unsigned chosen = 0; chosen < (1U << list.size()); ++chosen) {
    double left = 1;
    std::map<std::size_t, int> taken;
    for (std::size_t i = 0; i < list.size(); ++i) {
      if ((chosen >> i & 1U) == 0) continue;
      left *= 1 - list[i].second;
      for (std::size_t g = 0; g < groups.size(); ++g) {
        taken[g] += std::find(groups[g].begin(), groups[g].end(), list[i].first) != groups[g].end() ? 1 : 0;
      }
    }
    const bool allowed = std::all_of(taken.begin(), taken.end(), [](const auto& group) { return group.second <= 1; });
    if (allowed) best = std::max(best, 1 - left);
  }
  return best;
}

TEST(CombineTwin, PoolsAreTheSumOfBestChoices) {
  test::ExpectProperty([] {
    CombineInput input = RandomInput();
    input.cheaper.clear();
    double want = 0;
    for (const CombineInput::Pool& pool : input.pools) {
      std::map<std::string, double> claims;
      for (const CombineInput::Part& part : pool.fixes) claims[part.target] = part.share;
      want += pool.share * BestChoice(claims, input.substitutes);
    }
    const CombineResult got = Combine(input);
    RC_ASSERT(got.pools.has_value() == !input.pools.empty());
    if (got.pools) RC_ASSERT(std::abs(*got.pools - want) < kExact);
  });
}

TEST(CombineTwin, FractionsAreTheBestChoice) {
  test::ExpectProperty([] {
    CombineInput input = RandomInput();
    if (input.fixes.empty()) input.fixes = {{"a", Share()}};
    std::map<std::string, double> claims;
    for (const CombineInput::Fix& fix : input.fixes) claims[fix.name] = fix.fraction;
    RC_ASSERT(std::abs(*Combine(input).fraction_before_cap - BestChoice(claims, input.substitutes)) < kExact);
  });
}

TEST(CombineTwin, LanesAreRecomputedForEverySubsetOfFixes) {
  test::ExpectProperty([] {
    const CombineInput whole = RandomInput();
    for (unsigned chosen = 1; chosen < (1U << whole.lane_fixes.size()); ++chosen) {
      CombineInput input = whole;
      input.lane_fixes.clear();
      for (std::size_t i = 0; i < whole.lane_fixes.size(); ++i) {
        if ((chosen >> i & 1U) != 0) input.lane_fixes.push_back(whole.lane_fixes[i]);
      }
      std::vector<double> before;
      std::vector<double> after;
      for (const CombineInput::Lane& lane : input.lanes) {
        before.push_back(0);
        after.push_back(0);
        for (const CombineInput::Stage& stage : lane.stages) {
          std::map<std::string, double> claims;
          for (const CombineInput::LaneFix& fix : input.lane_fixes) {
            for (const CombineInput::Part& cut : fix.cuts) {
              if (cut.target == stage.name) claims[fix.name] = cut.share;
            }
          }
          before.back() += stage.ms;
          after.back() += stage.ms * (1 - BestChoice(claims, input.substitutes));
        }
      }
      const double want =
          1 - *std::max_element(after.begin(), after.end()) / *std::max_element(before.begin(), before.end());
      RC_ASSERT(std::abs(*Combine(input).lanes - want) < kExact);
    }
  });
}

TEST(CombineProperty, FixesOnWasteNeverSaveMoreThanTheWaste) {
  test::ExpectProperty([] {
    const CombineInput input = RandomInput();
    const CombineResult result = Combine(input);
    if (input.waste && result.waste) RC_ASSERT(*result.waste <= *input.waste + kExact);
    RC_ASSERT(result.total < 1);
    RC_ASSERT(result.total >= 0);
  });
}

TEST(CombineProperty, OrderDoesNotMatter) {
  test::ExpectProperty([] {
    const CombineInput input = RandomInput();
    CombineInput turned = input;
    std::reverse(turned.fixes.begin(), turned.fixes.end());
    std::reverse(turned.pools.begin(), turned.pools.end());
    for (CombineInput::Pool& pool : turned.pools) std::reverse(pool.fixes.begin(), pool.fixes.end());
    std::reverse(turned.lanes.begin(), turned.lanes.end());
    std::reverse(turned.lane_fixes.begin(), turned.lane_fixes.end());
    std::reverse(turned.substitutes.begin(), turned.substitutes.end());
    RC_ASSERT(std::abs(Combine(input).total - Combine(turned).total) < kExact);
    RC_ASSERT(std::abs(Combine(input).naive_sum - Combine(turned).naive_sum) < kExact);
  });
}

TEST(CombineProperty, AStrongerFixNeverSavesLess) {
  test::ExpectProperty([] {
    const CombineInput input = RandomInput();
    CombineInput stronger = input;
    const auto raise = [](double& share) { share += (0.99 - share) * Share(); };
    for (CombineInput::Fix& fix : stronger.fixes) raise(fix.fraction);
    for (CombineInput::Pool& pool : stronger.pools) {
      for (CombineInput::Part& part : pool.fixes) raise(part.share);
    }
    for (CombineInput::LaneFix& fix : stronger.lane_fixes) {
      for (CombineInput::Part& cut : fix.cuts) raise(cut.share);
    }
    RC_ASSERT(Combine(stronger).total >= Combine(input).total - kExact);
  });
}

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
