#include "bill/bill_forecast.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "bill/bill_telemetry.h"
#include "fleet/fleet_answer.h"
#include "stats/order.h"
#include "text/strings.h"

namespace idleburn {
namespace {

constexpr std::size_t kMostDays = 28;     // of history: four whole weeks
constexpr std::size_t kFewestDays = 7;    // below that a week's shape is not known
constexpr std::size_t kFewestOfKind = 4;  // weekdays and weekends have levels of their own from so many days each
constexpr double kFewestIndependent = 3;  // days / autocorrelation time; below that the level drifts
constexpr double kTail = 0.95;            // of Student's t: a 90 % interval
constexpr double kAnomalyScore = 3.5;     // Iglewicz and Hoaglin (1993)
constexpr double kSigmaOfMad = 1.4826;    // of a normal distribution
constexpr double kUsualChange = 0.05;     // of a team's median day: steady teams still vary so much
constexpr double kSmallChange = 0.01;     // of the fleet's median day: less is no anomaly of the bill

// 1970-01-01 was a Thursday.
bool IsWeekend(std::int64_t day) {
  const std::int64_t weekday = (day / kDaySeconds + 4) % 7;  // 0: Sunday
  return weekday == 0 || weekday == 6;
}

// The levels of a series of days, and how its sum over days to come varies.
struct DayLevels {
  std::array<double, 2> mean{};   // weekdays, weekends; equal if there is one level
  std::array<double, 2> count{};  // days behind each
  bool one = false;
  double variance = 0;  // of a day about its level
  double df = 0;
  double tau = 1;  // autocorrelation time of the days
};

DayLevels LevelsOf(const std::vector<double>& cost, const std::vector<bool>& weekend) {
  DayLevels levels;
  std::array<double, 2> sum{};
  for (std::size_t i = 0; i < cost.size(); ++i) {
    sum[weekend[i] ? 1 : 0] += cost[i];
    levels.count[weekend[i] ? 1 : 0] += 1;
  }
  levels.one = std::min(levels.count[0], levels.count[1]) < static_cast<double>(kFewestOfKind);
  const double all = (sum[0] + sum[1]) / static_cast<double>(cost.size());
  for (std::size_t k = 0; k < 2; ++k) levels.mean[k] = levels.one ? all : sum[k] / levels.count[k];
  std::vector<double> rest;
  double squares = 0;
  for (std::size_t i = 0; i < cost.size(); ++i) {
    rest.push_back(cost[i] - levels.mean[weekend[i] ? 1 : 0]);
    squares += rest.back() * rest.back();
  }
  levels.df = static_cast<double>(cost.size()) - (levels.one ? 1 : 2);
  levels.variance = squares / levels.df;
  // Days that are all alike have no correlation to find.
  if (levels.variance > 0) levels.tau = CorrelationTimeOf(rest).tau;
  return levels;
}

class MonthForecast {
 public:
  MonthForecast(const std::vector<DayCosts>& days, const MonthSpan& month,
                const std::map<std::string, std::int64_t>& budgets)
      : days_(days), month_(month), budgets_(budgets) {}

  BillForecast Run() {
    out_.month = month_.name;
    const std::int64_t end = days_.empty() ? month_.begin : days_.back().day + kDaySeconds;
    out_.to = end;
    history_ = days_.size() > kMostDays ? days_.size() - kMostDays : 0;
    out_.from = days_.empty() ? end : days_[history_].day;
    for (std::int64_t day = std::max(month_.begin, end); day < month_.end; day += kDaySeconds) left_.push_back(day);
    out_.days_left = static_cast<std::int64_t>(left_.size());
    std::set<std::string> teams;
    for (const DayCosts& day : days_) {
      if (InMonth(day.day)) ++out_.days;
      for (const auto& [team, cost] : day.teams) teams.insert(team);
    }
    out_.whole = SumOf("");
    for (const std::string& team : teams) out_.teams.push_back(SumOf(team));
    std::stable_sort(out_.teams.begin(), out_.teams.end(), [](const MonthEnd& a, const MonthEnd& b) {
      return a.expected.value_or(a.spent) > b.expected.value_or(b.spent);
    });
    for (const auto& [team, budget] : budgets_) {
      if (!teams.contains(team)) out_.unmatched.push_back(team);
    }
    FindAnomalies(teams);
    return std::move(out_);
  }

 private:
  [[nodiscard]] bool InMonth(std::int64_t day) const { return day >= month_.begin && day < month_.end; }

  // What a team cost on a day, or all teams; in units of the currency.
  [[nodiscard]] static std::int64_t NanoOf(const DayCosts& day, const std::string& team) {
    std::int64_t nano = 0;
    for (const auto& [name, cost] : day.teams) nano += team.empty() || name == team ? cost.cost.nano() : 0;
    return nano;
  }

  MonthEnd SumOf(const std::string& team) {
    MonthEnd sum;
    sum.name = team;
    std::int64_t spent = 0;
    std::vector<double> cost;
    std::vector<bool> weekend;
    for (std::size_t i = 0; i < days_.size(); ++i) {
      const std::int64_t nano = NanoOf(days_[i], team);
      if (InMonth(days_[i].day)) spent += nano;
      if (i < history_) continue;
      cost.push_back(static_cast<double>(nano) / 1e9);
      weekend.push_back(IsWeekend(days_[i].day));
    }
    sum.spent = Money::Nano(spent);
    std::optional<DayLevels> levels;
    if (left_.empty()) {
      sum.low = sum.expected = sum.high = sum.spent;
    } else if (cost.size() < kFewestDays) {
      sum.why = "too_few_days";
    } else {
      levels = LevelsOf(cost, weekend);
      if (static_cast<double>(cost.size()) / levels->tau < kFewestIndependent) {
        sum.why = "drifting";
      } else {
        Extend(*levels, &sum);
      }
    }
    JudgeBudget(levels, &sum);
    return sum;
  }

  // The days that are left cost their level each. The interval has two parts: days vary about their level, and the
  // level itself is known from a few days:
  //
  //     spent + sum of R_k m_k  -+  t sqrt(tau s^2 (R + sum of R_k^2 / n_k))      k: weekdays, weekends
  void Extend(const DayLevels& levels, MonthEnd* sum) const {
    std::array<double, 2> left{};
    for (const std::int64_t day : left_) left[IsWeekend(day) ? 1 : 0] += 1;
    const double rest = left[0] * levels.mean[0] + left[1] * levels.mean[1];
    const double all = left[0] + left[1];
    const double level_part = levels.one ? all * all / (levels.count[0] + levels.count[1])
                                         : left[0] * left[0] / levels.count[0] + left[1] * left[1] / levels.count[1];
    const double half =
        StudentTQuantile(levels.df, kTail) * std::sqrt(levels.tau * levels.variance * (all + level_part));
    const double spent = static_cast<double>(sum->spent.nano()) / 1e9;
    const auto money = [](double amount) { return Estimate(Money::Nano(1'000'000'000), amount).value_or(Money()); };
    sum->expected = money(spent + rest);
    // What is spent stays spent.
    sum->low = money(std::max(spent, spent + rest - half));
    sum->high = money(spent + rest + half);
  }

  void JudgeBudget(const std::optional<DayLevels>& levels, MonthEnd* sum) const {
    const auto found = budgets_.find(sum->name);
    if (sum->name.empty() || found == budgets_.end()) return;
    const Money budget = Money::Nano(found->second);
    sum->budget = budget;
    sum->verdict = sum->spent > budget   ? "over"
                   : !sum->expected      ? "unknown"
                   : *sum->low > budget  ? "will_exceed"
                   : *sum->high > budget ? "may_exceed"
                                         : "within";
    if (sum->verdict == "over" || !levels || !sum->expected) return;
    double so_far = static_cast<double>(sum->spent.nano()) / 1e9;
    for (const std::int64_t day : left_) {
      so_far += levels->mean[IsWeekend(day) ? 1 : 0];
      if (so_far <= static_cast<double>(budget.nano()) / 1e9) continue;
      sum->exceeded_day = day;
      return;
    }
  }

  void FindAnomalies(const std::set<std::string>& teams) {
    if (days_.size() < kFewestDays) return;
    std::vector<double> fleet;
    for (const DayCosts& day : days_) fleet.push_back(static_cast<double>(NanoOf(day, "")) / 1e9);
    const double small = kSmallChange * Median(fleet);
    for (const std::string& team : teams) {
      for (std::size_t i = 0; i < days_.size(); ++i) {
        if (InMonth(days_[i].day)) JudgeDay(team, i, small);
      }
    }
    std::stable_sort(out_.anomalies.begin(), out_.anomalies.end(),
                     [](const CostAnomaly& a, const CostAnomaly& b) { return a.day < b.day; });
  }

  // The other days that a day is compared with: of its kind, if there are enough.
  [[nodiscard]] std::vector<std::size_t> OthersOf(std::size_t day) const {
    std::vector<std::size_t> alike;
    std::vector<std::size_t> all;
    for (std::size_t i = 0; i < days_.size(); ++i) {
      if (i == day) continue;
      all.push_back(i);
      if (IsWeekend(days_[i].day) == IsWeekend(days_[day].day)) alike.push_back(i);
    }
    return alike.size() >= kFewestOfKind ? alike : all;
  }

  // The median of a value of a team over days.
  template <typename Value>
  [[nodiscard]] double MedianOf(const std::string& team, const std::vector<std::size_t>& days, Value value) const {
    std::vector<double> values;
    for (const std::size_t i : days) {
      const auto found = days_[i].teams.find(team);
      values.push_back(found == days_[i].teams.end() ? 0 : static_cast<double>(value(found->second)));
    }
    return Median(std::move(values));
  }

  void JudgeDay(const std::string& team, std::size_t day, double small) {
    const std::vector<std::size_t> others = OthersOf(day);
    const auto units = [](const TeamDayCost& cost) { return static_cast<double>(cost.cost.nano()) / 1e9; };
    const double usual = MedianOf(team, others, units);
    const double spread =
        MedianOf(team, others, [&](const TeamDayCost& cost) { return std::abs(units(cost) - usual); });
    const double scale = std::max({kSigmaOfMad * spread, kUsualChange * usual, small});
    const double cost = static_cast<double>(NanoOf(days_[day], team)) / 1e9;
    if (scale <= 0 || std::abs(cost - usual) <= kAnomalyScore * scale) return;
    CostAnomaly anomaly;
    anomaly.day = days_[day].day;
    anomaly.team = team;
    anomaly.cost = Money::Nano(NanoOf(days_[day], team));
    anomaly.usual = Estimate(Money::Nano(1'000'000'000), usual).value_or(Money());
    anomaly.score = (cost - usual) / scale;
    NameCause(team, day, others, &anomaly);
    out_.anomalies.push_back(std::move(anomaly));
  }

  // The cause is what makes up at least half of the change of the team's time: a job, idle time, or lost data.
  void NameCause(const std::string& team, std::size_t day, const std::vector<std::size_t>& others,
                 CostAnomaly* anomaly) const {
    static const TeamDayCost kNone;
    const auto found = days_[day].teams.find(team);
    const TeamDayCost& now = found == days_[day].teams.end() ? kNone : found->second;
    const auto change = [&](auto value) { return static_cast<double>(value(now)) - MedianOf(team, others, value); };
    const double whole = change([](const TeamDayCost& cost) { return cost.ms; });
    const auto explains = [&](double part) { return whole != 0 && part / whole >= 0.5; };
    std::set<std::string> jobs;
    for (const auto& [job, ms] : now.jobs) jobs.insert(job);
    for (const std::size_t i : others) {
      const auto other = days_[i].teams.find(team);
      if (other == days_[i].teams.end()) continue;
      for (const auto& [job, ms] : other->second.jobs) jobs.insert(job);
    }
    double most = 0;
    for (const std::string& job : jobs) {
      const double part = change([&](const TeamDayCost& cost) {
        const auto at = cost.jobs.find(job);
        return at == cost.jobs.end() ? std::int64_t{0} : at->second;
      });
      if (!explains(part) || std::abs(part) <= most) continue;
      most = std::abs(part);
      anomaly->cause = "job";
      anomaly->job = job;
    }
    if (!anomaly->cause.empty()) return;
    const bool idle = explains(change([](const TeamDayCost& cost) { return cost.idle_ms; }));
    const bool lost = explains(change([](const TeamDayCost& cost) { return cost.unobserved_ms; }));
    anomaly->cause = idle ? "idle" : lost ? "unobserved" : "unknown";
  }

  const std::vector<DayCosts>& days_;
  const MonthSpan& month_;
  const std::map<std::string, std::int64_t>& budgets_;
  BillForecast out_;
  std::size_t history_ = 0;         // the first day behind the levels
  std::vector<std::int64_t> left_;  // days of the month to come
};

// The end of the last day that the ledger has wholly: up to the edge for which every node was asked, or the newest hour
// of a ledger that was never pulled.
Result<std::int64_t> WholeDaysEnd(FleetLedger& ledger, std::int64_t begin, std::int64_t end) {
  std::int64_t through = 0;
  for (const LedgerReach& reach : TRY(ledger.Reaches())) through = std::max(through, reach.through);
  if (through == 0) {
    TRY(ledger.ForEach(CellKind::kGpu, begin, end,
                       [&](const LedgerCell& cell) { through = std::max(through, cell.to); }));
  }
  return LedgerDay(std::min(through, end));
}

DayCosts DayOf(std::int64_t day, const FleetReport& report) {
  DayCosts costs;
  costs.day = day;
  for (const FleetOwner& team : report.teams) {
    TeamDayCost& cost = costs.teams[team.name];
    cost.cost = team.cost.total.value_or(Money());
    cost.ms = team.time.TotalMs();
    cost.idle_ms = team.time.phases[0];
    cost.unobserved_ms = team.time.phases[kFleetUnobserved];
  }
  for (const FleetOwner& job : report.jobs) costs.teams[job.team].jobs[job.name] += job.time.TotalMs();
  return costs;
}

}  // namespace

BillForecast ForecastMonth(const std::vector<DayCosts>& days, const MonthSpan& month,
                           const std::map<std::string, std::int64_t>& budgets) {
  return MonthForecast(days, month, budgets).Run();
}

Result<BillForecast> ForecastFrom(const std::string& path, const Prices& prices, bool price_given,
                                  const MonthSpan& month, const std::map<std::string, std::int64_t>& budgets) {
  FleetLedger ledger = TRY(OpenLedger(path));
  const std::int64_t begin = month.begin - static_cast<std::int64_t>(kMostDays) * kDaySeconds;
  const std::int64_t end = TRY(WholeDaysEnd(ledger, begin, month.end));
  std::vector<DayCosts> days;
  std::string currency = "USD";
  std::string source;
  std::int64_t unpriced = 0;
  for (std::int64_t day = begin; day < end; day += kDaySeconds) {
    const FleetReport report = TRY(AnswerFrom(ledger, {day, day + kDaySeconds, prices, price_given, {}}));
    // Before its first hour a ledger says nothing of the fleet.
    if (report.whole.TotalMs() == 0 && days.empty()) continue;
    if (report.cost.total) {
      currency = report.currency;
      source = report.rate_source;
    }
    unpriced += report.unpriced_ms;
    days.push_back(DayOf(day, report));
  }
  if (!days.empty() && source.empty()) {
    return Fail(
        "bill forecast: the price of a GPU-hour is unknown; give --price 2.50, or --owned for your own hardware");
  }
  BillForecast forecast = ForecastMonth(days, month, budgets);
  forecast.currency = currency;
  forecast.rate_source = source;
  if (unpriced > 0) {
    forecast.doubts.push_back({"unpriced_gpu_hours", unpriced / kMsPerGpuHour + 1, "warn",
                               "GPUs without a price are in no amount; a ledger names no models, so give one price"});
  }
  return forecast;
}

}  // namespace idleburn
