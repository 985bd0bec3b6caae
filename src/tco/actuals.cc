#include "tco/actuals.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "config/flag_values.h"
#include "os/input_file.h"
#include "tco/scenario_file.h"
#include "text/figures.h"
#include "text/number.h"
#include "text/time_zone.h"

namespace idleburn {

// One comparison is a sequence of steps that each fill a part of the report: add up, assume what is missing, compare
// months, burn, completion, forecast. Sums of shares are rounded from running totals, so that parts add up to their
// whole exactly and no cent is lost between months or categories.

namespace {

// More months than these come from a typing error.
constexpr std::int64_t kMostMonths = 600;
constexpr std::size_t kNobody = kCostCategoryCount;  // of amounts that no category claims

// A category's place in arrays that have one more for the rest.
std::size_t IndexOf(const std::optional<CostCategory>& category) {
  return category ? static_cast<std::size_t>(*category) : kNobody;
}

// Plain sums and differences: AddUp has made sure that none leaves Money.
Money Sum(Money a, Money b) { return Money::Nano(a.nano() + b.nano()); }
Money Less(Money a, Money b) { return Money::Nano(a.nano() - b.nano()); }

// Months since the year 0, and back.
std::int64_t MonthNumber(const std::string& month) {
  return 12 * *ParseInteger(month.substr(0, 4)) + *ParseInteger(month.substr(5, 2)) - 1;
}
std::string MonthText(std::int64_t number) { return fmt::format("{:04}-{:02}", number / 12, number % 12 + 1); }

// Days in a month such as "2026-07".
int DaysIn(const std::string& month) {
  return DaysInMonth(*ParseInteger(month.substr(0, 4)), static_cast<int>(*ParseInteger(month.substr(5))));
}

// A plan, month by month, always as a running total from its start.
class Schedule {
 public:
  Schedule(const TcoPlan& plan, const PlanCost& cost) : plan_(plan), cost_(cost) {}

  // What of a category is planned to be paid within the first `months` months; none of what no category claims.
  [[nodiscard]] Money Through(std::size_t category, std::int64_t months) const {
    Fraction sum;
    for (std::size_t i = 0; i < plan_.lines.size(); ++i) {
      if (static_cast<std::size_t>(plan_.lines[i].category) != category) continue;
      sum = sum + Fraction::Of(cost_.lines[i]) * Share(plan_.lines[i], months);
    }
    return sum.AsMoney().value_or(Money());
  }
  [[nodiscard]] Money Through(std::int64_t months) const {
    Money sum;
    for (std::size_t c = 0; c < kCostCategoryCount; ++c) sum = Sum(sum, Through(c, months));
    return sum;
  }
  // Months of the horizon, a part counted as a whole one.
  [[nodiscard]] std::int64_t length() const {
    return static_cast<std::int64_t>(plan_.months->top / plan_.months->bottom) +
           (plan_.months->top % plan_.months->bottom > 0 ? 1 : 0);
  }

 private:
  // The share of a line that is due within so many months.
  [[nodiscard]] Fraction Share(const PlanLine& line, std::int64_t months) const {
    const Fraction one = Fraction::Of(1, 1);
    if (months <= 0) return {};
    Fraction share = Fraction::Of(months, 1) / *plan_.months;
    // Evenly over its own months.
    if (line.paid_in) {
      const auto [first, last] = *line.paid_in;
      if (months < first) return {};
      share = Fraction::Of(months - first + 1, last - first + 1);
    }
    return Compare(share, one) > 0 ? one : share;
  }

  const TcoPlan& plan_;
  const PlanCost& cost_;
};

// The plan of a category as quantity (of GPU-hours or the like) and price, where one line makes all of it.
struct CategoryPlan {
  std::optional<Fraction> quantity;
  std::optional<Fraction> price;
};

// The plan of a category. It has a price and a quantity only where a single line makes all of it.
CategoryPlan PlanOf(const TcoPlan& plan, const PlanCost& cost, CostCategory category) {
  CategoryPlan found;
  int lines = 0;
  for (const PlanLine& line : plan.lines) {
    if (line.category != category) continue;
    ++lines;
    if (!line.price || plan.figures[*line.price].likely.top == 0) continue;
    found.price = plan.figures[*line.price].likely;
    found.quantity = Fraction::Of(cost.categories[static_cast<std::size_t>(category)]) / *found.price;
  }
  // Two lines of a category have two prices.
  if (lines != 1) found.quantity = found.price = std::nullopt;
  return found;
}

// Splits a category's difference over all months. `planned` is what the plan has of it for these months.
std::optional<PriceAndQuantity> SplitVariance(const CategoryPlan& plan, CostCategory category, const Money& planned,
                                              const ActualBill& bill) {
  if (!plan.quantity || !plan.price) return std::nullopt;
  Fraction quantity;
  Money actual;
  bool any = false;
  for (const ActualRow& row : bill.rows) {
    if (row.category != category) continue;
    // One row without a quantity leaves the split unknown.
    if (!row.quantity) return std::nullopt;
    any = true;
    quantity = quantity + *row.quantity;
    actual = Sum(actual, row.amount);
  }
  const std::optional<Money> at_plan_price = (quantity * *plan.price).AsMoney();
  if (!any || !at_plan_price) return std::nullopt;
  return PriceAndQuantity{category, Less(actual, *at_plan_price), Less(*at_plan_price, planned)};
}

// What was paid in a month, by category. A month may have open and closed rows at once.
struct PaidMonth {
  std::map<std::size_t, Money> by_category;
  Money all;
  Money assumed;  // the plan of categories that the bill lacks
  bool open = false;
  bool closed = false;
  bool any = false;
};

// Compares one bill with one plan; each step fills a part of the report.
class Comparison {
 public:
  Comparison(const TcoPlan& plan, const PlanCost& cost, const ActualBill& bill, std::string_view today)
      : plan_(plan), cost_(cost), bill_(bill), today_(today), schedule_(plan, cost) {}

  Result<ActualReport> Report(std::optional<Fraction> earned) {
    report_.column = bill_.column;
    report_.plan = cost_.subtotal;
    TRY(AddUp());
    AssumeWhatIsNotBilled();
    CompareMonths();
    for (std::size_t c = 0; c < kCostCategoryCount; ++c) {
      const auto category = static_cast<CostCategory>(c);
      const auto parts = SplitVariance(PlanOf(plan_, cost_, category), category, schedule_.Through(c, passed_), bill_);
      if (parts) report_.parts.push_back(*parts);
    }
    if (!bill_.rows.empty()) SetBurn();
    Complete(earned);
    ForecastMonths();
    return std::move(report_);
  }

 private:
  Result<void> AddUp();
  void AssumeWhatIsNotBilled();
  void CompareMonths();
  void ShareLeft();
  void SetBurn();
  void Complete(std::optional<Fraction> earned);
  void ForecastMonths();

  // The plan, over the whole horizon, of the categories that have a row in the bill, or of those that have none.
  [[nodiscard]] Money PlanOfBilled(bool billed) const {
    Money sum;
    for (std::size_t c = 0; c < kCostCategoryCount; ++c) {
      if (report_.categories[c].known == billed) sum = Sum(sum, cost_.categories[c]);
    }
    return sum;
  }
  [[nodiscard]] Money SoFar() const { return Sum(report_.actual, report_.assumed); }

  const TcoPlan& plan_;
  const PlanCost& cost_;
  const ActualBill& bill_;
  std::string_view today_;
  Schedule schedule_;
  ActualReport report_;
  // Every month from the first to the last of the bill, with or without a row.
  std::map<std::int64_t, PaidMonth> paid_;
  // The plan's first month, and months of the plan up to the bill's last.
  std::int64_t start_ = 0;
  std::int64_t passed_ = 0;
};

// Adds up what was paid by month and category, and fills the months between without a row.
Result<void> Comparison::AddUp() {
  std::int64_t gross = 0;
  for (const ActualRow& row : bill_.rows) {
    // Credits count as much as charges here, so that no order of rows can overflow.
    gross += std::abs(Units(row.amount)) + 1;
    if (gross > kMostUnits) return Fail("the actuals come to more than 4 billion; check their amounts");
    PaidMonth& month = paid_[MonthNumber(row.month)];
    Money& of_category = month.by_category[IndexOf(row.category)];
    Money& to_date = report_.categories[IndexOf(row.category)].actual;
    for (Money* sum : {&of_category, &to_date, &month.all, &report_.actual}) *sum = Sum(*sum, row.amount);
    if (row.line) report_.lines[*row.line] = Sum(report_.lines[*row.line], row.amount);
    month.any = true;
    month.open = month.open || (row.open && *row.open);
    month.closed = month.closed || (row.open && !*row.open);
  }
  if (paid_.empty()) return {};
  const std::int64_t last = paid_.rbegin()->first;
  // Without a start, a plan begins with what was paid first.
  start_ = plan_.start ? MonthNumber(*plan_.start) : paid_.begin()->first;
  const std::int64_t first = std::min(start_, paid_.begin()->first);
  if (last - first > kMostMonths) return Fail("the actuals and the plan span more than 50 years; check their months");
  for (std::int64_t number = first; number <= last; ++number) {
    PaidMonth& month = paid_[number];
    const std::string text = MonthText(number);
    // A month without a status is open until it is over.
    if (!month.closed) month.open = month.open || text >= today_.substr(0, text.size());
    if (!month.any) report_.doubts.push_back("actuals: no payments for " + text + "; it counts as 0");
  }
  passed_ = last - start_ + 1;
  if (passed_ <= 0) return Fail("the actuals end before the plan's start, " + *plan_.start + "; check its month");
  return {};
}

// Counts a planned category as planned if the bill has no row of it: it may be billed elsewhere. Where nothing was paid
// for it, a row of 0 says so.
void Comparison::AssumeWhatIsNotBilled() {
  for (std::size_t c = 0; c < kCostCategoryCount; ++c) {
    const auto billed = [c](const auto& paid) { return paid.second.by_category.count(c) > 0; };
    if (cost_.categories[c] == Money() || std::any_of(paid_.begin(), paid_.end(), billed)) continue;
    report_.categories[c].known = false;
    const Money planned = schedule_.Through(c, std::max<std::int64_t>(passed_, 0));
    report_.assumed = Sum(report_.assumed, planned);
    if (paid_.empty()) continue;
    report_.doubts.push_back(fmt::format(
        "actuals: no row for {}, so its payments are unknown and count as planned ({}); add its rows, or one row of 0",
        kCostCategoryNames[c], Amount(planned, plan_.currency)));
  }
}

// Compares every category in every month. A month that is over also judges the plan as a forecast of it.
void Comparison::CompareMonths() {
  for (auto& [number, month] : paid_) {
    for (std::size_t c = 0; c < kCostCategoryCount; ++c) {
      // A planned category without a row in this month was not paid in it.
      if (cost_.given[c]) month.by_category.try_emplace(c);
    }
    const std::string text = MonthText(number);
    const std::int64_t before = number - start_;
    Money planned_in_month;
    for (const auto& [c, actual] : month.by_category) {
      const auto category = c == kNobody ? std::nullopt : std::optional(static_cast<CostCategory>(c));
      // From running totals, so that months add up to the whole.
      const Money planned = Less(schedule_.Through(c, before + 1), schedule_.Through(c, before));
      if (!report_.categories[c].known) {
        month.assumed = Sum(month.assumed, planned);
        report_.months.push_back({text, category, planned, planned, Money(), month.open, true});
        continue;
      }
      planned_in_month = Sum(planned_in_month, planned);
      report_.months.push_back({text, category, planned, actual, Less(actual, planned), month.open});
    }
    const auto spent = static_cast<double>(month.all.nano());
    if (!month.open && spent != 0) {
      report_.forecast_errors.emplace_back(text, (static_cast<double>(planned_in_month.nano()) - spent) / spent);
    }
  }
}

// The last day that a bill reaches. A charge for more than a month says nothing of how far it goes, and one for the
// current month is not used up yet.
std::int64_t LastDay(const std::vector<ActualRow>& rows, std::optional<std::int64_t> today) {
  constexpr std::int64_t kMonth = 31;
  std::int64_t begins = *rows.front().day;
  std::int64_t ends = begins;
  for (const ActualRow& row : rows) {
    begins = std::max(begins, *row.day);
    if (row.days <= kMonth) ends = std::max(ends, *row.day + row.days - 1);
  }
  return std::max(begins, today ? std::min(ends, *today) : ends);
}

// Sets what a day costs: over the trailing 30 days where every row has its day, else over the last month.
void Comparison::SetBurn() {
  constexpr std::int64_t kTrailing = 30;
  const std::vector<ActualRow>& rows = bill_.rows;
  const bool dated = std::all_of(rows.begin(), rows.end(), [](const ActualRow& row) { return row.day.has_value(); });
  Money spent = paid_.rbegin()->second.all;
  report_.burn_days = DaysIn(MonthText(paid_.rbegin()->first));
  if (dated) {
    const auto first = std::min_element(rows.begin(), rows.end(),
                                        [](const ActualRow& a, const ActualRow& b) { return *a.day < *b.day; });
    const std::int64_t last = LastDay(rows, DayOf(today_));
    report_.burn_days = static_cast<int>(std::min(kTrailing, last - *first->day + 1));
    spent = Money();
    for (const ActualRow& row : rows) {
      // The part of a charge that lies within the window.
      const std::int64_t from = std::max(*row.day, last - kTrailing + 1);
      const std::int64_t within = std::min(*row.day + row.days, last + 1) - from;
      if (within > 0) spent = Sum(spent, Scale(row.amount, within, row.days).value_or(Money()));
    }
  }
  report_.burn_a_day = (Fraction::Of(spent) / Fraction::Of(report_.burn_days, 1)).AsMoney();
  if (plan_.budget && report_.burn_a_day && report_.burn_a_day->nano() > 0) {
    report_.runway_days = static_cast<double>(plan_.budget->nano() - report_.actual.nano()) /
                          static_cast<double>(report_.burn_a_day->nano());
  }
}

// Sets the sum at completion, by each way to estimate it.
void Comparison::Complete(std::optional<Fraction> earned) {
  const Fraction billed = Fraction::Of(PlanOfBilled(true));
  const Fraction actual = Fraction::Of(report_.actual);
  const Money planned_left = Less(report_.plan, schedule_.Through(passed_));
  const Fraction not_earned = Fraction::Of(report_.plan) * (Fraction::Of(1, 1) - earned.value_or(Fraction{}));
  report_.at_completion_if_as_planned =
      Sum(SoFar(), earned ? not_earned.AsMoney().value_or(planned_left) : planned_left);
  if (earned && earned->top > 0 && actual.top > 0 && billed.top > 0) {
    // What the work was planned to cost, by what it did cost.
    const Fraction efficiency = billed * *earned / actual;
    const std::optional<Money> end = (billed / efficiency).AsMoney();
    report_.efficiency = efficiency.AsDouble();
    if (end && Units(*end) <= kMostUnits) report_.at_completion = Sum(*end, PlanOfBilled(false));
  }
  report_.expected = report_.at_completion.value_or(Sum(SoFar(), planned_left));
  ShareLeft();
}

// Shares out what is left to pay as the plan has it left, else as it was paid so far. A category that the bill lacks
// comes to its plan.
void Comparison::ShareLeft() {
  Money planned_left = Less(report_.plan, schedule_.Through(passed_));
  Money of_billed = Less(report_.expected, SoFar());
  for (std::size_t c = 0; c < kCostCategoryCount; ++c) {
    if (report_.categories[c].known) continue;
    const Money not_due = Less(cost_.categories[c], schedule_.Through(c, passed_));
    planned_left = Less(planned_left, not_due);
    of_billed = Less(of_billed, not_due);
    report_.categories[c].at_completion = cost_.categories[c];
  }
  const Fraction left = Fraction::Of(of_billed);
  // Where the plan has nothing left, the past is all that is known.
  const bool by_plan = planned_left > Money();
  const Fraction all = Fraction::Of(by_plan ? planned_left : report_.actual);
  // What the categories up to this one weigh.
  Fraction weight;
  Money shared;
  for (std::size_t c = 0; c <= kNobody; ++c) {
    PaidToDate& of = report_.categories[c];
    if (!of.known) continue;
    const Money planned = c == kNobody ? Money() : Less(cost_.categories[c], schedule_.Through(c, passed_));
    weight = weight + Fraction::Of(by_plan ? planned : of.actual);
    Money to_here = of_billed;
    // Running totals again; the last one takes what rounding left.
    if (c != kNobody && all.top > 0) {
      const std::optional<Money> part = (left * weight / all).AsMoney();
      to_here = part && std::abs(Units(*part)) <= kMostUnits ? *part : shared;
    }
    of.at_completion = Sum(of.actual, Less(to_here, shared));
    shared = to_here;
  }
}

// Gives what is left to pay to the months to come, as the plan has them. Where it has none, there is one month more.
void Comparison::ForecastMonths() {
  Money so_far;
  for (const auto& [number, month] : paid_) {
    const std::int64_t months = number - start_ + 1;
    const Money expected = Sum(month.all, month.assumed);
    so_far = Sum(so_far, expected);
    const Money planned = schedule_.Through(months);
    report_.forecast.push_back({MonthText(number), Less(planned, schedule_.Through(months - 1)), month.all, expected,
                                so_far, Sum(so_far, Less(report_.plan, planned)), month.open});
  }
  if (paid_.empty()) return;
  const Money left = Less(report_.expected, SoFar());
  const Money at_start = schedule_.Through(passed_);
  const Fraction planned_left = Fraction::Of(Less(report_.plan, at_start));
  std::int64_t last = schedule_.length();
  // Something is left and the plan is over: one month more.
  if (last <= passed_ && left != Money()) last = passed_ + 1;
  Money spread;
  for (std::int64_t months = passed_ + 1; months <= last; ++months) {
    const Money planned = schedule_.Through(months);
    const Fraction share = planned_left.top > 0 ? Fraction::Of(Less(planned, at_start)) / planned_left
                                                : Fraction::Of(months - passed_, last - passed_);
    const Money to_here = months == last ? left : (Fraction::Of(left) * share).AsMoney().value_or(left);
    const Money expected = Less(to_here, spread);
    spread = to_here;
    report_.forecast.push_back({MonthText(start_ + months - 1),
                                Less(planned, schedule_.Through(months - 1)),
                                {},
                                expected,
                                Sum(SoFar(), spread),
                                {},
                                false});
  }
}

}  // namespace

Result<ActualReport> CompareWithPlan(const TcoPlan& plan, const ActualBill& bill, std::optional<Fraction> earned,
                                     std::string_view today) {
  if (!plan.months) return FailUsage("a comparison with actuals needs horizon_months, to know the plan of a month");
  if (Compare(*plan.months, Fraction::Of(kMostMonths, 1)) > 0) {
    return FailUsage("a comparison with actuals needs a horizon of at most 600 months");
  }
  const PlanCost cost = TRY(CostOfPlan(plan));
  if (Units(cost.subtotal) > kMostUnits) return Fail("the plan is beyond 4 billion; check its figures");
  return Comparison(plan, cost, bill, today).Report(earned);
}

Result<std::vector<JudgedForecast>> ScenarioForecasts(const std::string& scenario, const std::string& actuals,
                                                      Instant now) {
  constexpr std::size_t kMostBytes = 1 << 20;
  const std::string today = FormatDay(now);
  const std::string text = TRY(ReadInput(scenario, kMostBytes));
  const TcoFile file = TRY(ReadTcoFile(scenario, text, today));
  const TcoPlan& plan = file.plans.front();
  std::unique_ptr<ByteSource> paid = TRY(OpenInput(actuals));
  const ActualBill bill = TRY(ReadActuals(*paid, plan));
  const ActualReport report = TRY(CompareWithPlan(plan, bill, std::nullopt, today));
  std::vector<JudgedForecast> judged;
  for (const auto& [month, error] : report.forecast_errors) {
    // The plan as a share of what was paid. A plan is one figure, so it has no interval.
    const double share = 1 + error;
    judged.push_back({plan.name, month, ForecastQuantity::kScenarioCost, {share, share, share}, 1});
  }
  return judged;
}

}  // namespace idleburn
