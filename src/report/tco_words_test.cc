#include "report/tco_words.h"

#include <gtest/gtest.h>

#include <cmath>

#include "stats/random.h"
#include "tco/scenario_file.h"
#include "text/line_reader.h"

namespace idleburn {
namespace {

std::int64_t Cents(Money m) {
  EXPECT_EQ(m.nano() % kCent, 0);
  return m.nano() / kCent;
}

// Half to even, of nano-units.
std::int64_t RoundedCents(Money m) {
  const double cents = static_cast<double>(m.nano()) / static_cast<double>(kCent);
  return static_cast<std::int64_t>(std::nearbyint(cents));
}

// Half-cents everywhere: every sum is that of its parts, and the same wherever it stands.
TEST(TcoPrinted, SumsAreTheSameEverywhere) {
  Random random(7);
  for (int round = 0; round < 200; ++round) {
    std::string text = "horizon_months = 3\nstart = \"2026-01\"\n";
    std::string paid = "month,category,amount\n";
    const auto amount = [&] { return std::to_string(static_cast<int>(random.Uniform() * 900)) + ".005"; };
    for (const char* category : {"compute", "data", "labour"}) {
      text += "[[" + std::string(category) + "]]\namount = \"" + amount() + "\"\n";
      if (round % 2 == 1 && category == std::string("data")) continue;  // the bill lacks it
      paid += "2026-01," + std::string(category) + "," + amount() + "\n2026-02," + category + "," + amount() + "\n";
    }
    const Result<TcoFile> file = ReadTcoFile("x.toml", text, "2026-11-21");
    ASSERT_TRUE(file) << file.error().message;
    const TcoPlan& plan = file->plans.front();
    const TcoScenario scenario = {plan, *CostOfPlan(plan), {}, {}};
    const PrintedCost cost = PrintedCostOf(scenario);
    EXPECT_EQ(Cents(cost.subtotal), RoundedCents(scenario.cost.subtotal));
    EXPECT_EQ(Cents(cost.total), RoundedCents(scenario.cost.total));
    EXPECT_EQ(Cents(cost.subtotal), Cents(SumOf(cost.lines)));
    EXPECT_EQ(Cents(cost.subtotal) + Cents(cost.contingency), Cents(cost.total));

    StringSource in(paid, "paid.csv");
    const Result<ActualReport> report = CompareWithPlan(plan, *ReadActuals(in, plan), {}, "2026-11-21");
    ASSERT_TRUE(report) << report.error().message;
    const PrintedMonths months = PrintedMonthsOf(*report, "USD");
    const PrintedPaid to_date = PrintedPaidOf(*report, "USD");
    const PrintedVariances cells = PrintedVariancesOf(*report, "USD");
    EXPECT_EQ(Cents(SumOf(months.plan)), RoundedCents(report->plan));
    EXPECT_EQ(Cents(SumOf(months.expected)), RoundedCents(report->expected));
    EXPECT_EQ(Cents(SumOf(to_date.actual)), RoundedCents(report->actual));
    ASSERT_EQ(cells.plan.size(), report->months.size());
    for (std::size_t m = 0; m < report->forecast.size(); ++m) {
      std::int64_t plan_cents = 0;
      std::int64_t paid_cents = 0;
      for (std::size_t i = 0; i < cells.plan.size(); ++i) {
        if (report->months[i].month != report->forecast[m].month) continue;
        EXPECT_NEAR(static_cast<double>(cells.plan[i].nano()), static_cast<double>(report->months[i].plan.nano()),
                    2.0 * kCent);
        plan_cents += Cents(cells.plan[i]);
        paid_cents += Cents(cells.actual[i]);
      }
      if (!report->forecast[m].actual) continue;
      EXPECT_EQ(plan_cents, Cents(months.plan[m])) << round;
      EXPECT_EQ(paid_cents, Cents(months.expected[m])) << round;
    }
  }
}

}  // namespace

}  // namespace idleburn
