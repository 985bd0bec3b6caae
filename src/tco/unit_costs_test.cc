#include "tco/unit_costs.h"

#include <gtest/gtest.h>

#include "tco/scenario_file.h"

namespace idleburn {
namespace {

TcoPlan Read(const std::string& text) {
  Result<TcoFile> file = ReadTcoFile("x.toml", text, "2026-11-21");
  EXPECT_TRUE(file.has_value()) << (file ? "" : file.error().message);
  return file ? file->plans.front() : TcoPlan{};
}

PlanCost Cost(const TcoPlan& plan) {
  const Result<PlanCost> cost = CostOfPlan(plan);
  EXPECT_TRUE(cost.has_value());
  return cost ? *cost : PlanCost{};
}

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
  const TcoPlan plan = Read(kTenHours + std::string("utilisation = \"60%\"\n"));
  EXPECT_EQ(Per(plan, "effective GPU-hour", 4), "13.3333");
  EXPECT_EQ(Per(plan, "sample", 4), "0.0004");
  EXPECT_EQ(Per(plan, "1,000 samples", 2), "0.40");
  EXPECT_EQ(FormatExact(*NotBusyCost(plan, Cost(plan))), "32.00");
}

TEST(UnitCosts, WithoutBusyTimeAnEffectiveHourIsUndefined) {
  const TcoPlan plan = Read(kTenHours + std::string("utilisation = 0\n"));
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
        Read("contingency = 0\nhorizon_months = 1\n[[compute]]\nhourly = \"" + std::string(row.hourly) + "\"\n");
    EXPECT_EQ(FormatExact(Cost(plan).total), row.month);
    const std::vector<HourlyProjection> projections = ProjectionsOf(plan);
    ASSERT_EQ(projections.size(), 1U);
    EXPECT_EQ(FormatExact(projections[0].month), row.month);
    EXPECT_EQ(FormatExact(projections[0].twelve_months), row.twelve);
    EXPECT_EQ(FormatExact(projections[0].year), row.year);
  }
  const TcoPlan calendar = Read("month_hours = 730\nhorizon_months = 12\n[[compute]]\nhourly = 4\n");
  EXPECT_EQ(FormatExact(Cost(calendar).subtotal), "35040.00");  // 12 x 730 is the year
}

// By hand: 2.95 / (3600 x 20 x 0.35) a request, 2.95 / (3600 x 2,400 x 0.35) a token.
TEST(UnitCosts, ServingCostsByTheThousandAndTheMillion) {
  const char* const kServing = "price = \"2.95\"\nutilisation = \"35%\"\n";
  const TcoPlan requests = Read("[[inference]]\nrequests = 5000000\nrequests_per_s = 20\n" + std::string(kServing));
  EXPECT_EQ(Per(requests, "1,000 requests", 4), "0.1171");
  EXPECT_EQ(Per(requests, "1,000 requests", 6), "0.117063");
  const TcoPlan tokens = Read("[[inference]]\ntokens = 7000000000\ntokens_per_s = 2400\n" + std::string(kServing));
  EXPECT_EQ(Per(tokens, "10^6 tokens", 4), "0.9755");
}

TEST(UnitCosts, ServingCrossesOverTraining) {
  // 2,000 of compute at 0.50 per 1,000 requests: 4 million of them; a part of a request counts as one.
  const char* const kServing = "[[inference]]\nrequests = 1000\nper_request = \"0.0005\"\n";
  const TcoPlan plan = Read("[[compute]]\namount = 2000\n" + std::string(kServing));
  const std::vector<ServingCrossing> crossings = CrossingsOf(plan, Cost(plan));
  ASSERT_EQ(crossings.size(), 1U);
  EXPECT_EQ(Compare(crossings[0].count, Fraction::Of(4'000'000, 1)), 0);
  const TcoPlan odd = Read("[[compute]]\namount = \"2000.0001\"\n" + std::string(kServing));
  EXPECT_EQ(Compare(CrossingsOf(odd, Cost(odd))[0].count, Fraction::Of(4'000'001, 1)), 0);
  EXPECT_TRUE(CrossingsOf(Read(kServing), Cost(Read(kServing))).empty());  // nothing was trained
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
        Read("contingency = 0\nhorizon_months = 1\n[[inference]]\nprice = 2\n" + std::string(row.more));
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
  const TcoPlan plan = Read(
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
  const TcoPlan plan = Read(
      "contingency = 0\n[[inference]]\ninput_tokens = 3000000000\ninput_per_million = \"0.25\"\n"
      "output_tokens = 500000000\noutput_per_million = \"1.25\"\n");
  EXPECT_EQ(FormatExact(Cost(plan).total), "1375.00");
}

// The price of a rented GPU-hour holds its energy; only what it emits is told.
TEST(UnitCosts, ARentedGpuEmitsButItsEnergyIsNotPaidTwice) {
  const std::string rented =
      "contingency = 0\n[[compute]]\nruns = 4\ngpu_hours = 200\nprice = \"2.50\"\nwatts = 350\npue = \"1.3\"\n"
      "grid_kg_per_kwh = \"0.40\"\n";
  const TcoPlan plan = Read(rented);
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
  const TcoPlan plan = Read(
      "[[infrastructure]]\nname = \"energy\"\ngpu_hours = 800\nwatts = 350\npue = \"1.3\"\ntariff = \"0.12\"\n"
      "grid_kg_per_kwh = \"0.40\"\nembodied_kg = 1500\nlife_hours = 40000\n");
  EXPECT_EQ(FormatExact(*CarbonOf(plan, plan.lines.front())->AsMoney(), 1), "175.6");
}

TEST(UnitCosts, ADemandChargeIsByTheMonth) {
  const TcoPlan plan =
      Read("horizon_months = 6\n[[infrastructure]]\npeak_kilowatts = \"10.2\"\nper_kilowatt_month = 15\n");
  EXPECT_EQ(FormatExact(Cost(plan).subtotal), "918.00");
}

}  // namespace
}  // namespace idleburn
