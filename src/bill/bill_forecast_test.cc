#include "bill/bill_forecast.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "stats/order.h"
#include "stats/random.h"

namespace idleburn {
namespace {

constexpr std::int64_t kDay = 86'400;
// 2026-10-01 was a Thursday; the month has 31 days, with weekends on 3, 4, 10, 11, 17, 18, 24, 25 and 31.
constexpr std::int64_t kOctober = 1'790'812'800;
const MonthSpan kMonth = {"2026-10", kOctober, kOctober + 31 * kDay};

bool Weekend(std::int64_t day) {
  const std::int64_t of_month = (day - kOctober) / kDay + 1;
  const std::int64_t place = ((of_month - 3) % 7 + 7) % 7;  // 0: Saturday
  return place == 0 || place == 1;
}

TeamDayCost Cost(double dollars) {
  TeamDayCost cost;
  cost.cost = Money::Nano(std::llround(dollars * 1e9));
  cost.ms = std::llround(dollars * 3.6e6);
  return cost;
}

// Days from `first` of October (0 is the 1st), each of one team.
std::vector<DayCosts> Days(int first, const std::vector<double>& dollars) {
  std::vector<DayCosts> days;
  for (const double amount : dollars) {
    DayCosts& day = days.emplace_back();
    day.day = kOctober + (first++) * kDay;
    day.teams["a"] = Cost(amount);
  }
  return days;
}

double Dollars(const std::optional<Money>& money) { return static_cast<double>(money.value().nano()) / 1e9; }

// Seven days before the month and ten of it, by hand: one level, since there are fewer than four weekend days.
TEST(BillForecastTest, TheIntervalIsThatOfTheFormula) {
  const std::vector<double> cost = {100, 104, 98, 101, 97, 105, 99, 100, 103, 96};
  const BillForecast forecast = ForecastMonth(Days(0, cost), kMonth, {});
  const double n = 10;
  const double mean = std::accumulate(cost.begin(), cost.end(), 0.0) / n;
  double squares = 0;
  std::vector<double> rest;
  for (const double x : cost) {
    squares += (x - mean) * (x - mean);
    rest.push_back(x - mean);
  }
  const double tau = CorrelationTimeOf(rest).tau;
  const double left = 21;
  const double half = 1.833112933 * std::sqrt(tau * squares / 9 * (left + left * left / n));  // t, 9 df, 0.95
  EXPECT_EQ(forecast.days, 10);
  EXPECT_EQ(forecast.days_left, 21);
  EXPECT_NEAR(Dollars(forecast.whole.expected), 10 * mean + left * mean, 1e-6);
  EXPECT_NEAR(Dollars(forecast.whole.low), 31 * mean - half, 1e-4);
  EXPECT_NEAR(Dollars(forecast.whole.high), 31 * mean + half, 1e-4);
}

// Weekends that cost half are half at the end of the month too.
TEST(BillForecastTest, WeekendsHaveALevelOfTheirOwn) {
  std::vector<double> cost;
  for (int day = -14; day < 7; ++day) cost.push_back(Weekend(kOctober + day * kDay) ? 50 : 100);
  const BillForecast forecast = ForecastMonth(Days(-14, cost), kMonth, {});
  double right = 0;
  for (int day = 0; day < 31; ++day) right += Weekend(kOctober + day * kDay) ? 50 : 100;
  EXPECT_NEAR(Dollars(forecast.whole.expected), right, 1e-6);
  EXPECT_NEAR(Dollars(forecast.whole.low), right, 1e-6) << "days that never vary leave no doubt";
}

TEST(BillForecastTest, AbstainsWithTooFewDaysAndWhereCostDrifts) {
  const BillForecast few = ForecastMonth(Days(0, {100, 101, 99, 100, 100, 102}), kMonth, {{"a", 5'000'000'000'000}});
  EXPECT_FALSE(few.whole.expected.has_value());
  EXPECT_EQ(few.whole.why, "too_few_days");
  EXPECT_EQ(few.teams[0].verdict, "unknown");
  EXPECT_EQ(few.whole.spent, Money::Cents(60'200));
  std::vector<double> growing;
  for (int day = 0; day < 24; ++day) growing.push_back(100 + 25 * day);
  EXPECT_EQ(ForecastMonth(Days(0, growing), kMonth, {}).whole.why, "drifting");
  // A month that is over has no interval.
  const BillForecast over = ForecastMonth(Days(0, std::vector<double>(31, 10)), kMonth, {});
  EXPECT_EQ(over.whole.low, over.whole.high);
  EXPECT_EQ(over.whole.spent, Money::Cents(31'000));
}

TEST(BillForecastTest, BudgetsAreJudgedByTheInterval) {
  const std::vector<double> cost = {100, 104, 98, 101, 97, 105, 99, 100, 103, 96};
  const auto verdict = [&](double budget) {
    return ForecastMonth(Days(0, cost), kMonth, {{"a", std::llround(budget * 1e9)}, {"none", 1}}).teams[0];
  };
  const BillForecast all = ForecastMonth(Days(0, cost), kMonth, {{"none", 1}});
  EXPECT_EQ(all.unmatched, std::vector<std::string>{"none"});
  EXPECT_EQ(verdict(1000).verdict, "over");
  EXPECT_EQ(verdict(2000).verdict, "will_exceed");
  // 1,003 so far and 100.3 a day: the tenth day to come passes 2,000.
  EXPECT_EQ(verdict(2000).exceeded_day, kOctober + 19 * kDay);
  EXPECT_EQ(verdict(Dollars(all.whole.expected) + 1).verdict, "may_exceed");
  EXPECT_EQ(verdict(Dollars(all.whole.high) + 1).verdict, "within");
  EXPECT_FALSE(verdict(Dollars(all.whole.high) + 1).exceeded_day.has_value());
}

// Of 400 invented fleets with weekends and days that remember the day before, nine of ten months end inside.
TEST(BillForecastTest, NineOfTenMonthsEndInside) {
  Random random(5);
  int inside = 0;
  int told = 0;
  for (int fleet = 0; fleet < 400; ++fleet) {
    std::vector<double> cost;
    double noise = 0;
    for (int day = -20; day < 31; ++day) {
      noise = 0.3 * noise + 8 * random.Normal();
      cost.push_back((Weekend(kOctober + day * kDay) ? 60 : 100) + noise);
    }
    double right = 0;
    for (std::size_t i = 20; i < cost.size(); ++i) right += cost[i];
    cost.resize(30);  // the month's first ten days
    const BillForecast forecast = ForecastMonth(Days(-20, cost), kMonth, {});
    if (!forecast.whole.expected) continue;
    ++told;
    inside += Dollars(forecast.whole.low) <= right && right <= Dollars(forecast.whole.high) ? 1 : 0;
  }
  EXPECT_GT(told, 380);
  EXPECT_GT(inside, told * 80 / 100);
  EXPECT_LT(inside, told * 99 / 100) << "an interval that is always right says nothing";
}

// --- anomalies

std::vector<DayCosts> Steady() {
  std::vector<DayCosts> days;
  for (int i = 0; i < 20; ++i) {
    DayCosts& day = days.emplace_back();
    day.day = kOctober + i * kDay;
    day.teams["a"] = Cost(100 + i % 3);
    day.teams["a"].jobs["usual"] = day.teams["a"].ms;
    day.teams["b"] = Cost(50);
    day.teams["b"].jobs["other"] = day.teams["b"].ms;
  }
  return days;
}

TEST(BillForecastTest, SteadyDaysAreNoAnomalies) {
  EXPECT_TRUE(ForecastMonth(Steady(), kMonth, {}).anomalies.empty());
  // A small team may do what it likes: less than 3.5 hundredths of the fleet's day is no matter of the bill.
  std::vector<DayCosts> days = Steady();
  days[12].teams["tiny"] = Cost(5);
  EXPECT_TRUE(ForecastMonth(days, kMonth, {}).anomalies.empty());
}

TEST(BillForecastTest, AnomaliesNameTeamAndCause) {
  std::vector<DayCosts> days = Steady();
  days[8].teams["a"] = Cost(180);  // a new job
  days[8].teams["a"].jobs = {{"usual", Cost(101).ms}, {"sweep", Cost(79).ms}};
  days[12].teams["b"] = Cost(90);  // the same job, idle
  days[12].teams["b"].idle_ms = Cost(40).ms;
  days[12].teams["b"].jobs = {{"x", Cost(15).ms}, {"other", Cost(60).ms}, {"y", Cost(15).ms}};
  days[15].teams.erase("b");  // its job ended
  days[17].teams["a"] = Cost(190);
  days[17].teams["a"].unobserved_ms = Cost(80).ms;
  days[17].teams["a"].jobs = {{"usual", Cost(101).ms}};
  const BillForecast forecast = ForecastMonth(days, kMonth, {});
  std::map<std::pair<std::int64_t, std::string>, std::string> causes;
  for (const CostAnomaly& anomaly : forecast.anomalies) {
    causes[{(anomaly.day - kOctober) / kDay, anomaly.team}] = anomaly.cause + anomaly.job;
  }
  EXPECT_EQ(causes,
            (std::map<std::pair<std::int64_t, std::string>, std::string>{
                {{8, "a"}, "jobsweep"}, {{12, "b"}, "idle"}, {{15, "b"}, "jobother"}, {{17, "a"}, "unobserved"}}));
  EXPECT_EQ(forecast.anomalies[0].usual, Money::Cents(10'100));
}

TEST(BillForecastTest, MonthsAreRead) {
  const Instant now = Instant::FromNanos(kOctober * kNanosPerSecond + 5);
  EXPECT_EQ(ParseMonth("", now)->name, "2026-10");
  EXPECT_EQ(ParseMonth("2026-10", now)->begin, kOctober);
  EXPECT_EQ(ParseMonth("2026-10", now)->end, kOctober + 31 * kDay);
  EXPECT_EQ(ParseMonth("2024-02", now)->end - ParseMonth("2024-02", now)->begin, 29 * kDay);
  for (const char* text : {"2026", "2026-1", "2026-00", "2026-13", "2026/10", "x026-10", "2026-10-01"}) {
    EXPECT_FALSE(ParseMonth(text, now).has_value()) << text;
  }
}

}  // namespace
}  // namespace idleburn
