#include "tco/plan_cost.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tco/scenario_file.h"

namespace idleburn {
// Costs of small plans by hand, as exact amounts. Draws are random, so they are held against the quantiles that a
// triangle has.

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

TcoPlan FirstPlan(const std::string& text) { return Read(text).plans.front(); }

std::string Per(const TcoPlan& plan, const std::string& unit, int digits) {
  for (const UnitCost& cost : UnitCostsOf(plan, Cost(plan))) {
    if (cost.unit == unit) return cost.amount ? FormatMoney(*cost.amount, digits) : "undefined";
  }
  return "not there";
}

constexpr const char* kTenHours =
    "contingency = 0\n[[compute]]\namount = 80\n[units]\nsamples = 200000\ngpu_hours = 10\n";

// docs/money.md, "Waste and unit costs": the ten GPU-hours.
TEST(UnitCosts, ExampleCIsExact) {
  const TcoPlan plan = FirstPlan(kTenHours + std::string("utilisation = \"60%\"\n"));
  EXPECT_EQ(Per(plan, "effective GPU-hour", 4), "13.3333");
  EXPECT_EQ(Per(plan, "sample", 4), "0.0004");
  EXPECT_EQ(Per(plan, "1,000 samples", 2), "0.40");
  EXPECT_EQ(FormatExact(*NotBusyCost(plan, Cost(plan))), "32.00");
}

TEST(UnitCosts, WithoutBusyTimeAnEffectiveHourIsUndefined) {
  const TcoPlan plan = FirstPlan(kTenHours + std::string("utilisation = 0\n"));
  EXPECT_EQ(Per(plan, "effective GPU-hour", 4), "undefined");
  EXPECT_EQ(FormatExact(*NotBusyCost(plan, Cost(plan))), "80.00");
  EXPECT_EQ(Per(plan, "token", 4), "not there");
}

struct ProjectionRow {
  const char* hourly;
  const char* month;
  const char* twelve;
  const char* year;
};

// By hand: x 720, twelve of them, and x 8,760.
TEST(UnitCosts, ExampleDProjectsMonthsAndYears) {
  const ProjectionRow rows[] = {{"4.00", "2880.00", "34560.00", "35040.00"},
                                {"2.49", "1792.80", "21513.60", "21812.40"},
                                {"3.99", "2872.80", "34473.60", "34952.40"}};
  for (const ProjectionRow& row : rows) {
    const TcoPlan plan =
        FirstPlan("contingency = 0\nhorizon_months = 1\n[[compute]]\nhourly = \"" + std::string(row.hourly) + "\"\n");
    EXPECT_EQ(FormatExact(Cost(plan).total), row.month);
    const std::vector<HourlyProjection> projections = ProjectionsOf(plan);
    ASSERT_EQ(projections.size(), 1U);
    EXPECT_EQ(FormatExact(projections[0].month), row.month);
    EXPECT_EQ(FormatExact(projections[0].twelve_months), row.twelve);
    EXPECT_EQ(FormatExact(projections[0].year), row.year);
  }
  const TcoPlan calendar = FirstPlan("month_hours = 730\nhorizon_months = 12\n[[compute]]\nhourly = 4\n");
  EXPECT_EQ(FormatExact(Cost(calendar).subtotal), "35040.00");  // 12 x 730 is the year
}

// By hand: 2.95 / (3600 x 20 x 0.35) a request, 2.95 / (3600 x 2,400 x 0.35) a token.
TEST(UnitCosts, ServingCostsByTheThousandAndTheMillion) {
  const char* const kServing = "price = \"2.95\"\nutilisation = \"35%\"\n";
  const TcoPlan requests =
      FirstPlan("[[inference]]\nrequests = 5000000\nrequests_per_s = 20\n" + std::string(kServing));
  EXPECT_EQ(Per(requests, "1,000 requests", 4), "0.1171");
  EXPECT_EQ(Per(requests, "1,000 requests", 6), "0.117063");
  const TcoPlan tokens = FirstPlan("[[inference]]\ntokens = 7000000000\ntokens_per_s = 2400\n" + std::string(kServing));
  EXPECT_EQ(Per(tokens, "10^6 tokens", 4), "0.9755");
}

TEST(UnitCosts, ServingCrossesOverTraining) {
  // 2,000 of compute at 0.50 per 1,000 requests: 4 million of them; a part of a request counts as one.
  const char* const kServing = "[[inference]]\nrequests = 1000\nper_request = \"0.0005\"\n";
  const TcoPlan plan = FirstPlan("[[compute]]\namount = 2000\n" + std::string(kServing));
  const std::vector<ServingCrossing> crossings = CrossingsOf(plan, Cost(plan));
  ASSERT_EQ(crossings.size(), 1U);
  EXPECT_EQ(Compare(crossings[0].count, Fraction::Of(4'000'000, 1)), 0);
  const TcoPlan odd = FirstPlan("[[compute]]\namount = \"2000.0001\"\n" + std::string(kServing));
  EXPECT_EQ(Compare(CrossingsOf(odd, Cost(odd))[0].count, Fraction::Of(4'000'001, 1)), 0);
  EXPECT_TRUE(CrossingsOf(FirstPlan(kServing), Cost(FirstPlan(kServing))).empty());  // nothing was trained
}

struct ReplicaRow {
  const char* more;
  int replicas;
  const char* month;
};

TEST(UnitCosts, ReplicasAreWholeAndHaveAFloor) {
  const ReplicaRow rows[] = {
      {"peak_rps = 100\nrps_per_gpu = 20\n", 5, "7200.00"},  // 5 x 2 x 720
      {"peak_rps = 101\nrps_per_gpu = 20\n", 6, "8640.00"},
      {"peak_rps = 100\nrps_per_gpu = 20\nutilisation = \"70%\"\n", 8, "11520.00"},  // 7.14 of them
      {"peak_rps = \"0.1\"\nrps_per_gpu = 20\nheadroom = 1\n", 2, "2880.00"},
      {"peak_rps = 1\nrps_per_gpu = 20\nminimum_replicas = 3\n", 3, "4320.00"},
      {"peak_rps = 101\nrps_per_gpu = 20\nheadroom = 2\nminimum_replicas = 3\n", 8, "11520.00"},
  };
  for (const ReplicaRow& row : rows) {
    const TcoPlan plan =
        FirstPlan("contingency = 0\nhorizon_months = 1\n[[inference]]\nprice = 2\n" + std::string(row.more));
    EXPECT_EQ(FormatExact(Cost(plan).total), row.month) << row.more;
    const std::vector<ReplicaCount> counts = ReplicasOf(plan);
    ASSERT_EQ(counts.size(), 1U);
    EXPECT_EQ(counts[0].replicas.AsDouble(), row.replicas) << row.more;
    if (std::string_view(row.more).find("minimum") != std::string_view::npos) {
      EXPECT_EQ(FormatExact(*counts[0].floor_a_month), "4320.00");
    }
  }
}

// What is idle at night, cold starts and a promise that was not kept are counted.
TEST(UnitCosts, ReplicasThatFollowTheLoadAreALineForEachLevel) {
  const TcoPlan plan = FirstPlan(
      "contingency = 0\nhorizon_months = 2\n[[inference]]\nname = \"day\"\npeak_rps = 90\nrps_per_gpu = 20\n"
      "price = 3\nheadroom = 1\nhours_a_day = 10\ncold_starts_a_month = 60\ncold_start_hours = \"0.1\"\n"
      "penalty_a_month = 50\n[[inference]]\nname = \"night\"\npeak_rps = 5\nrps_per_gpu = 20\nprice = 3\n"
      "minimum_replicas = 2\nhours_a_day = 14\n");
  const PlanCost cost = Cost(plan);
  // 6 replicas for 600 h, 120 cold starts of 6 minutes, two penalties; 2 replicas for 840 h.
  EXPECT_EQ(FormatExact(cost.lines[0]), "10936.00");
  EXPECT_EQ(FormatExact(cost.lines[1]), "5040.00");
  const std::vector<ReplicaCount> counts = ReplicasOf(plan);
  EXPECT_EQ(counts[0].use.AsDouble(), 0.75);
  EXPECT_EQ(counts[1].use.AsDouble(), 0.125);
  EXPECT_EQ(FormatExact(*counts[1].floor_a_month), "2520.00");
}

TEST(UnitCosts, WhatIsReadAndWhatIsWrittenHavePricesOfTheirOwn) {
  const TcoPlan plan = FirstPlan(
      "contingency = 0\n[[inference]]\ninput_tokens = 3000000000\ninput_per_million = \"0.25\"\n"
      "output_tokens = 500000000\noutput_per_million = \"1.25\"\n");
  EXPECT_EQ(FormatExact(Cost(plan).total), "1375.00");
}

// The price of a rented GPU-hour holds its energy; only what it emits is told.
TEST(UnitCosts, ARentedGpuEmitsButItsEnergyIsNotPaidTwice) {
  const std::string rented =
      "contingency = 0\n[[compute]]\nruns = 4\ngpu_hours = 200\nprice = \"2.50\"\nwatts = 350\npue = \"1.3\"\n"
      "grid_kg_per_kwh = \"0.40\"\n";
  const TcoPlan plan = FirstPlan(rented);
  EXPECT_EQ(FormatExact(Cost(plan).total), "2000.00");
  EXPECT_EQ(FormatExact(*CarbonOf(plan, plan.lines.front())->AsMoney(), 1), "145.6");
  // A lower price leaves what it emits as it is; half of the runs do not.
  const Result<TcoFile> file = ReadTcoFile("x.toml",
                                           rented +
                                               "[[variant]]\n[[variant.lever]]\nline = \"compute\"\nrate = \"60%\"\n"
                                               "[[variant.lever]]\nline = \"compute\"\navoided = \"50%\"\n",
                                           "2026-11-21");
  ASSERT_TRUE(file.has_value());
  const TcoPlan& cheaper = file->plans[1];
  EXPECT_EQ(FormatExact(Cost(cheaper).total), "400.00");
  EXPECT_EQ(FormatExact(*CarbonOf(cheaper, cheaper.lines.front())->AsMoney(), 1), "72.8");
}

TEST(UnitCosts, MakingTheHardwareEmitsToo) {
  // 800 h x 0.35 kW x 1.3 x 0.40 kg = 145.6 kg of energy, and 800 of 40,000 h of 1,500 kg.
  const TcoPlan plan = FirstPlan(
      "[[infrastructure]]\nname = \"energy\"\ngpu_hours = 800\nwatts = 350\npue = \"1.3\"\ntariff = \"0.12\"\n"
      "grid_kg_per_kwh = \"0.40\"\nembodied_kg = 1500\nlife_hours = 40000\n");
  EXPECT_EQ(FormatExact(*CarbonOf(plan, plan.lines.front())->AsMoney(), 1), "175.6");
}

TEST(UnitCosts, ADemandChargeIsByTheMonth) {
  const TcoPlan plan =
      FirstPlan("horizon_months = 6\n[[infrastructure]]\npeak_kilowatts = \"10.2\"\nper_kilowatt_month = 15\n");
  EXPECT_EQ(FormatExact(Cost(plan).subtotal), "918.00");
}

}  // namespace

// The example of the documentation, worked out by hand, and offers around it that never pay back.

namespace {

// The server of docs/tco.md, "Buying or renting".
OwnOffer Server(const std::string& more = "") {
  const Result<TcoFile> file = ReadTcoFile(
      "x.toml",
      "[own]\ncapex = 300000\nresidual = \"10%\"\nlife_years = 4\ngpus = 8\nkilowatts = \"10.2\"\npue = \"1.3\"\n"
      "tariff = \"0.12\"\nsupport_a_year = \"5%\"\nspace_a_year = 18000\nutilisation = [\"100%\", \"70%\", \"40%\"]\n"
      "cloud = [\"2.29\", \"2.95\", \"6.88\"]\npayback_at = \"70%\"\n" +
          more,
      "2026-11-21");
  EXPECT_TRUE(file.has_value()) << (file ? "" : file.error().message);
  return *file->own;
}

std::string Text(const Fraction& f, int digits) { return FormatMoney(*f.AsMoney(), digits); }

TEST(OwnOrRent, AYearIsTheSumOfItsLines) {
  const OwnYear year = YearOf(Server());
  EXPECT_EQ(Text(year.depreciation, 3), "67500.000");
  EXPECT_EQ(Text(year.energy, 3), "13938.912");
  EXPECT_EQ(Text(year.support, 3), "15000.000");
  EXPECT_EQ(Text(year.space, 3), "18000.000");
  EXPECT_EQ(Text(year.total, 3), "114438.912");
  EXPECT_EQ(Text(year.total / Fraction::Of(8, 1), 3), "14304.864");  // a GPU
  EXPECT_EQ(Text(year.operation_a_month, 3), "3911.576");
}

TEST(OwnOrRent, AnHourCostsByUse) {
  const OwnOffer server = Server();
  const char* const costs[] = {"1.632975", "2.332822", "4.082438"};
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(Text(PerDeliveredHour(server, server.utilisations[i]), 6), costs[i]);
  }
}

TEST(OwnOrRent, BreakEvenAndPayback) {
  const OwnOffer calendar = Server();
  const OwnOffer projection = Server("payback_month_hours = 720\n");
  const char* const uses[] = {"71.309", "55.355", "23.735"};  // 114,438.912 / (8 x 8,760 x 6.88)
  const char* const months[] = {"55.046", "36.819", "12.390"};
  const char* const shorter[] = {"55.811", "37.330", "12.562"};
  EXPECT_EQ(Text(YearOf(projection).operation_a_month, 3), "3857.993");
  for (std::size_t i = 0; i < 3; ++i) {
    const Fraction& cloud = calendar.cloud[i];
    EXPECT_EQ(Text(BreakEvenUse(calendar, cloud) * Fraction::Of(100, 1), 3), uses[i]);
    EXPECT_EQ(Text(*PaybackMonths(calendar, cloud), 3), months[i]);
    EXPECT_EQ(Text(*PaybackMonths(projection, cloud), 3), shorter[i]);
  }
}

// Naive twin: month after month, with the price of its year.
std::optional<double> PaidBackAfter(double capex, double operation, double rented, double falls) {
  double left = capex;
  for (int month = 0; month < 1200; ++month) {
    const double saved = rented * std::pow(1 - falls, month / 12) - operation;
    if (saved <= 0) return std::nullopt;
    if (saved >= left) return month + left / saved;
    left -= saved;
  }
  return std::nullopt;
}

TEST(OwnOrRent, AFallingPriceIsTakenYearByYear) {
  const OwnOffer server = Server("cloud_falls_a_year = \"20%\"\n");
  for (const Fraction& cloud : server.cloud) {
    // (1 + .8 + .64 + .512) / 4 over the four years that it lives
    EXPECT_NEAR(MeanPrice(server, cloud).AsDouble(), cloud.AsDouble() * 2.952 / 4, 1e-12);
    const double rented = 8 * 730 * 0.7 * cloud.AsDouble();
    const std::optional<double> twin = PaidBackAfter(300'000, 46'938.912 / 12, rented, 0.2);
    const std::optional<Fraction> months = PaybackMonths(server, cloud);
    ASSERT_EQ(months.has_value(), twin.has_value()) << cloud.AsDouble();
    if (months) {
      EXPECT_NEAR(months->AsDouble(), *twin, 1e-6);
    }
  }
  const OwnOffer steady = Server();
  EXPECT_EQ(Compare(MeanPrice(steady, steady.cloud[0]), steady.cloud[0]), 0);
  EXPECT_FALSE(PaybackMonths(server, server.cloud[0]));  // 2.29 falls below what the server takes to run
}

TEST(OwnOrRent, ADemandChargeIsPaidForTheMostPowerEveryMonth) {
  const OwnYear year = YearOf(Server("demand_charge = 15\n"));
  EXPECT_EQ(Text(year.demand, 2), "2386.80");  // 10.2 x 1.3 x 15 x 12
  EXPECT_EQ(Text(year.total, 3), "116825.712");
}

TEST(OwnOrRent, WhatNeverPaysBackIsSaidSo) {
  EXPECT_FALSE(PaybackMonths(Server(), Fraction::Of(1, 2)));
  EXPECT_GT(Compare(BreakEvenUse(Server(), Fraction::Of(1, 1)), Fraction::Of(1, 1)), 0);
}

}  // namespace

}  // namespace idleburn
