#include "tco/plan_cost.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tco/scenario_file.h"
#include "tco/unit_costs.h"

namespace idleburn {
namespace {

TcoFile Read(const std::string& text) {
  Result<TcoFile> file = ReadTcoFile("x.toml", text, "2026-11-21");
  EXPECT_TRUE(file.has_value()) << (file ? "" : file.error().message);
  return file ? *std::move(file) : TcoFile{{TcoPlan{}}, {}};
}

PlanCost Cost(const TcoPlan& plan) {
  const Result<PlanCost> cost = CostOfPlan(plan);
  EXPECT_TRUE(cost.has_value());
  return cost ? *cost : PlanCost{};
}
std::string Total(const std::string& text) { return FormatExact(Cost(Read(text).plans.front()).total); }

// Example A is the plan of examples/tco.toml, which the template is, and B its variant: sums by hand.
TEST(PlanCost, ExampleAIsExact) {
  const TcoFile file = Read(TcoTemplate());
  const PlanCost cost = Cost(file.plans.front());
  const char* const categories[] = {"2000.00", "4650.00", "13500.00", "1200.00", "200.00", "0.00", "0.00", "0.00"};
  for (std::size_t c = 0; c < kCostCategoryCount; ++c) {
    EXPECT_EQ(FormatExact(cost.categories[c]), categories[c]);
    EXPECT_EQ(cost.given[c], c < 5);
  }
  EXPECT_EQ(FormatExact(cost.lines[1]), "4500.00");
  EXPECT_EQ(FormatExact(cost.lines[2]), "150.00");
  EXPECT_EQ(FormatExact(cost.subtotal), "21550.00");
  EXPECT_EQ(FormatExact(cost.contingency), "3232.50");
  EXPECT_EQ(FormatExact(cost.total), "24782.50");
}

TEST(PlanCost, ExampleAAtTenAndTwentyPercent) {
  TcoPlan plan = Read(TcoTemplate()).plans.front();
  plan.contingency = Fraction::Of(1, 10);
  EXPECT_EQ(FormatExact(Cost(plan).total), "23705.00");
  plan.contingency = Fraction::Of(1, 5);
  EXPECT_EQ(FormatExact(Cost(plan).total), "25860.00");
}

TEST(PlanCost, AForcedContingencyNamesItsRate) {
  TcoPlan plan = Read(TcoTemplate()).plans.front();
  plan.forced_contingency = Money::Cents(310000);
  EXPECT_NEAR(100 * Cost(plan).contingency_rate.AsDouble(), 14.385, 0.0005);
  EXPECT_EQ(FormatExact(Cost(plan).total), "24650.00");
}

TEST(PlanCost, ExampleBSavesWhatTheWholeColumnsSay) {
  const TcoFile file = Read(TcoTemplate());
  ASSERT_EQ(file.plans.size(), 2U);
  const PlanCost optimised = Cost(file.plans[1]);
  EXPECT_EQ(FormatExact(optimised.subtotal), "12800.00");
  EXPECT_EQ(FormatExact(optimised.contingency), "1920.00");
  EXPECT_EQ(FormatExact(optimised.total), "14720.00");
  EXPECT_NEAR(*SavedShare(Cost(file.plans[0]), optimised), 0.40603, 5e-6);
  TcoPlan dropped = file.plans[1];  // the storage row left out
  dropped.lines.erase(dropped.lines.begin() + 2);
  EXPECT_EQ(FormatExact(Cost(dropped).total), "14547.50");
  EXPECT_NEAR(*SavedShare(Cost(file.plans[0]), Cost(dropped)), 0.41299, 5e-6);
}

TEST(PlanCost, DepreciationIsAYearTimesTheHorizon) {
  const std::string server =
      "contingency = 0\n[[depreciation]]\npurchase_price = 120000\nuseful_years = 4\nfraction = \"25%\"\n";
  EXPECT_EQ(Total("horizon_months = 6\n" + server), "3750.00");
  EXPECT_EQ(Total("horizon_months = 12\n" + server), "7500.00");
  EXPECT_EQ(Total("horizon_months = 6\n" + server + "residual = 20000\n"), "3125.00");
}

TEST(PlanCost, RisksAreExpectedLossesWithoutContingency) {
  const TcoPlan plan = Read(
                           "[[risk]]\nname = \"a\"\nprobability = \"5%\"\nimpact = 40000\n"
                           "[[risk]]\nname = \"b\"\nprobability = \"0.2\"\nimpact = 2500\n")
                           .plans.front();
  EXPECT_EQ(FormatExact(Cost(plan).subtotal), "2500.00");
  EXPECT_EQ(FormatExact(Cost(plan).contingency), "0.00");
}

TEST(PlanCost, UnitPricesOfServing) {
  const std::string requests =
      "contingency = 0\n[[inference]]\nrequests = 1000\nprice = \"2.95\"\nrequests_per_s = 20\n"
      "utilisation = \"35%\"\n";
  EXPECT_EQ(Total(requests), "0.117063492");  // 0.1171 per 1,000
  const std::string tokens =
      "contingency = 0\n[[inference]]\ntokens = 1000000\nprice = \"2.95\"\n"
      "tokens_per_s = 2400\nutilisation = \"35%\"\n";
  EXPECT_EQ(Total(tokens), "0.975529101");
  EXPECT_EQ(Total("contingency = 0\n[[inference]]\ntokens = 2000000000000\nper_million = \"0.5\"\n"), "1000000.00");
}

TEST(PlanCost, EnergyAndItsCarbon) {
  const TcoPlan plan = Read(
                           "contingency = 0\n[[infrastructure]]\nname = \"energy\"\ngpu_hours = 800\nwatts = 350\n"
                           "pue = \"1.3\"\ntariff = \"0.12\"\ngrid_kg_per_kwh = \"0.40\"\n")
                           .plans.front();
  EXPECT_EQ(FormatExact(Cost(plan).total), "43.68");
  EXPECT_EQ(FormatExact(*CarbonOf(plan, plan.lines.front())->AsMoney(), 1), "145.6");
}

TEST(PlanCost, AShareOfComputeFollowsIt) {
  const std::string text =
      "contingency = 0\n[[compute]]\ngpu_hours = 100\nprice = 4\n"
      "[[operations]]\nshare_of_compute = \"5%\"\n";
  EXPECT_EQ(Total(text), "420.00");
}

TEST(PlanCost, WhatRecursIsAMonthlyRate) {
  const PlanCost cost = Cost(Read(TcoTemplate()).plans.front());
  EXPECT_EQ(FormatMoney(cost.monthly_after_launch, 2), "258.33");  // (150 + 1200 + 200) / 6
}

TEST(PlanCost, ThreePointEstimate) {
  const TcoPlan plan = Read("[[labour]]\namount = [9000, 13500, 24000]\n").plans.front();
  EXPECT_DOUBLE_EQ(PertOf(plan).mean, 14500);
  EXPECT_DOUBLE_EQ(PertOf(plan).deviation, 2500);
}

TEST(PlanCost, TheTornadoPutsTheLargestFirst) {
  const TcoPlan plan = Read(
                           "contingency = 0\n[shared]\nh100 = [2, 3, 4]\n[[compute]]\ngpu_hours = 100\nprice = "
                           "\"h100\"\n[[inference]]\nhours = 50\nprice = \"h100\"\n[[labour]]\namount = [10, 20, 30]\n")
                           .plans.front();
  const Result<std::vector<TornadoBar>> bars = TornadoOf(plan);
  ASSERT_EQ(bars->size(), 2U);
  EXPECT_EQ((*bars)[0].figure, "shared.h100");
  EXPECT_EQ(FormatExact((*bars)[0].low), "320.00");
  EXPECT_EQ(FormatExact((*bars)[0].high), "620.00");
}

TEST(PlanCost, ADrawnTriangleHasItsQuantiles) {
  const TcoPlan plan = Read("budget = 20\n[[labour]]\namount = [0, 10, 40]\n").plans.front();
  const std::optional<PlanDraws> draws = DrawPlan(plan, 100'000, 7);
  // F(x) = x^2/400 up to 10, then 1 - (40-x)^2/1200.
  EXPECT_NEAR(draws->p10, std::sqrt(40.0), 0.1);
  EXPECT_NEAR(draws->p50, 40 - std::sqrt(600.0), 0.15);
  EXPECT_NEAR(draws->p90, 40 - std::sqrt(120.0), 0.2);
  EXPECT_NEAR(*draws->over_budget, 400.0 / 1200, 0.006);
  EXPECT_EQ(DrawPlan(plan, 10'000, 7)->p50, DrawPlan(plan, 10'000, 7)->p50);
}

TEST(PlanCost, ARiskHappensOrNot) {
  const TcoPlan plan = Read("budget = 1\n[[risk]]\nprobability = \"5%\"\nimpact = 40000\n").plans.front();
  const std::optional<PlanDraws> draws = DrawPlan(plan, 100'000, 3);
  EXPECT_EQ(draws->p50, 0);
  EXPECT_EQ(draws->p90, 0);
  EXPECT_NEAR(*draws->over_budget, 0.05, 0.003);
}

TEST(PlanCost, ASharedFigureIsDrawnOnce) {
  // Drawn apart, the two ranges would cancel; together they add.
  const char* const lines = "[[compute]]\ngpu_hours = 100\nprice = %\n[[inference]]\nhours = 100\nprice = %\n";
  const auto spread = [&](const std::string& price) {
    std::string text = "[shared]\np = [1, 2, 3]\n" + std::string(lines);
    for (std::size_t at = text.find('%'); at != std::string::npos; at = text.find('%')) text.replace(at, 1, price);
    const std::optional<PlanDraws> draws = DrawPlan(Read(text).plans.front(), 50'000, 5);
    return draws->p90 - draws->p10;
  };
  const double p90_of_one = 3 - std::sqrt(0.2);
  EXPECT_NEAR(spread("\"p\""), 2 * 100 * 2 * (p90_of_one - 2), 3);
  EXPECT_LT(spread("[1, 2, 3]"), spread("\"p\"") * 0.8);
}

TEST(PlanCost, NothingUncertainIsNotDrawn) { EXPECT_FALSE(DrawPlan(Read(TcoTemplate()).plans.front(), 10'000, 1)); }

struct LeverRow {
  const char* levers;
  const char* waste;
  double saved;
};

// By the formulas of docs/combining.md, written out.
TEST(PlanCost, LeversOnGpuWorkCombineAndAreNeverAddedUp) {
  const LeverRow rows[] = {
      {"time=\"40%\" rate=\"60%\"", "", 0.76},
      {"time=\".35\";time=\".30\";time=\".25\"", "", 0.65875},
      {"time=\".35\";time=\".30\";time=\".25\" rate=\"60%\"", "0.5", 0.80},
      {"time=\".35\";time=\".30\";time=\".25\" rate=\"60%\"", "0.8", 0.8635},
      {"time=\".32\" cheaper=\"0.75:2\" avoided=\"10%\" rate=\"60%\" overhead=\"10%\"", "0.4",
       1 - .9 * .455 * .4 * 1.1},
  };
  for (const LeverRow& row : rows) {
    std::string text = "contingency = 0\n[[compute]]\ngpu_hours = 1000\nprice = 1\n[[variant]]\nname = \"v\"\n";
    if (*row.waste != '\0') text += std::string("waste = \"") + row.waste + "\"\n";
    text += "[[variant.lever]]\nname = \"l\"\nline = \"compute\"\n";
    for (const char* c = row.levers; *c != '\0'; ++c) {
      text += *c == ' '   ? "\n"
              : *c == ';' ? "\n[[variant.lever]]\nname = \"l\"\nline = \"compute\"\n"
                          : std::string(1, *c);
    }
    const TcoFile file = Read(text);
    ASSERT_EQ(file.plans.size(), 2U) << text;
    EXPECT_NEAR(*SavedShare(Cost(file.plans[0]), Cost(file.plans[1])), row.saved, 1e-9) << row.levers;
  }
}

TEST(PlanCost, EachLeverAloneIsRankedByWhatItSaves) {
  const TcoFile file = Read(TcoTemplate());
  const std::vector<LeverSaving>& alone = file.plans[1].alone;
  // Of lines 4,500 / 2,500 / 1,400 / 300 / 50, each with its 15 % of contingency.
  const std::pair<const char*, const char*> expected[] = {{"CI gates", "5175.00"},
                                                          {"active learning", "2875.00"},
                                                          {"LoRA", "1610.00"},
                                                          {"one platform", "345.00"},
                                                          {"distillation", "57.50"}};
  ASSERT_EQ(alone.size(), std::size(expected));
  for (std::size_t i = 0; i < alone.size(); ++i) {
    EXPECT_EQ(alone[i].name, expected[i].first);
    EXPECT_EQ(FormatExact(alone[i].saves), expected[i].second);
  }
}

TEST(PlanCost, ALeverOfAKindKnowsWhatToDo) {
  const TcoFile file = Read(
      "[[compute]]\namount = 100\n[[variant]]\n[[variant.lever]]\nkind = \"spot\"\nline = \"compute\"\n"
      "rate = \"60%\"\n[[variant.lever]]\nkind = \"spot\"\nname = \"mine\"\ntodo = \"as we said\"\n"
      "line = \"compute\"\nfactor = \"0.9\"\n");
  const std::vector<LeverSaving>& alone = file.plans[1].alone;
  ASSERT_EQ(alone.size(), 2U);
  EXPECT_EQ(alone[0].name, "spot with checkpoints");
  EXPECT_NE(alone[0].edits[0].todo.find("idleburn drill"), std::string::npos);
  EXPECT_EQ(alone[1].name, "mine");
  EXPECT_EQ(alone[1].edits[0].todo, "as we said");
}

TEST(PlanCost, MoreLinesThatAFormulaMakes) {
  const std::string head = "contingency = 0\nhorizon_months = 6\n";
  EXPECT_EQ(Total(head + "[[data]]\nrecords = 20000\nper_record = \"0.05\"\n"), "1000.00");
  EXPECT_EQ(Total(head + "[[data]]\nstorage_tb = 2\nper_tb_month = 25\ncopies = 3\n"), "900.00");
  EXPECT_EQ(Total(head + "[[infrastructure]]\nmonthly_bill = 1000\nshare = \"30%\"\n"), "1800.00");
  EXPECT_EQ(Total(head + "[[infrastructure]]\nseats = 4\nper_seat = 20\n"), "480.00");
  EXPECT_EQ(Total(head + "[[risk]]\nprobability = \"10%\"\ndelay_days = 20\ncost_a_day = 500\n"), "1000.00");
}

TEST(PlanCost, WhatAVariantReplacedIsNotUncertainAnyMore) {
  const TcoFile file =
      Read("[[labour]]\namount = [1, 2, 3]\n[[variant]]\n[[variant.lever]]\nline = \"labour\"\nto = 2\n");
  EXPECT_TRUE(DrawPlan(file.plans[0], 10'000, 1));
  EXPECT_FALSE(DrawPlan(file.plans[1], 10'000, 1));
}

TEST(PlanCost, AVariantSetsSingleFigures) {
  const TcoFile file = Read(
      "contingency = 0\n[shared]\nh100 = [2, 3, 4]\n[[compute]]\nname = \"a\"\ngpu_hours = 100\nprice = \"h100\"\n"
      "[[labour]]\nrole_months = 2\nmonthly_rate = 10\n[[variant]]\nname = \"v\"\n"
      "set = { \"shared.h100\" = \"2.50\", \"compute.a.gpu_hours\" = 80 }\n"
      "[[variant.lever]]\nline = \"compute\"\nrate = \"50%\"\n");
  EXPECT_EQ(FormatExact(Cost(file.plans[0]).total), "320.00");
  EXPECT_EQ(FormatExact(Cost(file.plans[1]).total), "120.00");  // 80 x 2.50 x 0.5 + 20
  EXPECT_FALSE(DrawPlan(file.plans[1], 10'000, 1));             // no range is left
  EXPECT_EQ(file.plans[1].levers[0].how.find(" to ") == std::string::npos, false);
  ASSERT_EQ(file.plans[1].alone.size(), 3U);
  EXPECT_EQ(FormatExact(file.plans[1].alone[0].saves), "150.00");  // the rate: half of 300
}

TEST(PlanCost, AFigureInTwoTermsIsDrawnOnce) {
  const TcoPlan plan = Read(
                           "horizon_months = 12\n[[depreciation]]\npurchase_price = 1000\nresidual = 100\n"
                           "useful_years = [2, 3, 4]\n")
                           .plans.front();
  EXPECT_EQ(TornadoOf(plan)->size(), 1U);
  EXPECT_EQ(FormatExact(Cost(plan).subtotal), "300.00");
}

TEST(PlanCost, AFactorTakesItsLineDownExactly) {
  const TcoFile file = Read(
      "contingency = 0\n[[labour]]\nrole_months = 3\nmonthly_rate = 9000\n[[variant]]\n"
      "[[variant.lever]]\nline = \"labour\"\nfactor = \"0.3\"\n");
  EXPECT_EQ(FormatExact(Cost(file.plans[1]).total), "8100.00");
}

}  // namespace
}  // namespace idleburn
