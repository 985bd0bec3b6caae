#include "fleet/fleet_trends.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "fleet/ledger_month.h"
#include "text/time_zone.h"

namespace idleburn {
namespace {

constexpr std::int64_t kWeekSeconds = 7 * kDaySeconds;
constexpr std::int64_t kFirstMonday = 4 * kDaySeconds;  // 1970-01-05

// Times of cells by week and name. Ids of the ledger are sparse here, since jobs have ids too, and a week without cells
// takes no room.
class WeekTable {
 public:
  explicit WeekTable(std::size_t weeks) : times_(weeks) {}
  FleetTime& At(const LedgerCell& cell, std::size_t week) {
    if (cell.id >= row_of_.size()) row_of_.resize(cell.id + 1, kNone);
    std::size_t& row = row_of_[cell.id];
    if (row == kNone) {
      // A name has another id in the file of another month.
      const auto [known, fresh] =
          rows_.try_emplace({cell.name->node, cell.name->uuid, cell.name->owner}, names_.size());
      row = known->second;
      if (fresh) names_.push_back(cell.name);
    }
    if (row >= times_[week].size()) times_[week].resize(row + 1);
    return times_[week][row];
  }
  [[nodiscard]] const std::vector<const CellName*>& names() const { return names_; }
  [[nodiscard]] FleetTime Of(std::size_t row, std::size_t week) const {
    return row < times_[week].size() ? times_[week][row] : FleetTime();
  }

 private:
  static constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();
  std::vector<std::size_t> row_of_;  // by id
  std::map<std::tuple<std::string, std::string, JobKey>, std::size_t> rows_;
  std::vector<const CellName*> names_;
  std::vector<std::vector<FleetTime>> times_;  // by week and row
};

// The mean price of an hour on each node, in nano-units: what its GPUs cost by their time. Exact for an hour or more.
std::map<std::string, std::int64_t> NanosPerHour(const std::vector<FleetGpu>& gpus) {
  std::map<std::string, std::pair<Int128, std::int64_t>> sums;  // nano-units and milliseconds
  for (const FleetGpu& gpu : gpus) {
    if (!gpu.cost.total) continue;
    auto& [nano, ms] = sums[gpu.node];
    nano += gpu.cost.total->nano();
    ms += gpu.time.TotalMs();
  }
  std::map<std::string, std::int64_t> prices;
  for (const auto& [node, sum] : sums) {
    const auto& [nano, ms] = sum;
    prices[node] = ms == 0 ? 0 : static_cast<std::int64_t>(DivHalfEven(nano * kMsPerGpuHour, ms));
  }
  return prices;
}

class TrendSum {
 public:
  TrendSum(FleetLedger& ledger, FleetReport* report)
      : ledger_(ledger),
        report_(*report),
        weeks_(WeekCount(*report)),
        gpus_(weeks_),
        teams_(weeks_),
        nodeless_(weeks_) {}

  Result<void> Run() {
    TRY(ledger_.ForEach(CellKind::kGpu, report_.from, report_.to, [this](const LedgerCell& c) { TakeGpu(c); }));
    TRY(ledger_.ForEach(CellKind::kTeam, report_.from, report_.to, [this](const LedgerCell& c) { TakeTeam(c); }));
    BeginWeeks();
    TRY(FillCosts());
    TRY(FillTeams());
    for (std::size_t i = 0; first_ < last_ && i < weeks_; ++i) {
      if (i >= WeekOf(first_) && i <= WeekOf(last_ - 1)) report_.weeks.push_back(std::move(all_[i]));
    }
    if (crossing_ > 0) {
      report_.doubts.push_back({"span_crosses_week", crossing_, "info",
                                "some hours were read only together with hours of another week; they are unobserved "
                                "in the trend of weeks"});
    }
    return {};
  }

 private:
  using OfNodes = std::map<std::string, FleetTime>;

  static std::size_t WeekCount(const FleetReport& report) {
    return static_cast<std::size_t>((MondayOf(report.to - 1) - MondayOf(report.from)) / kWeekSeconds + 1);
  }

  [[nodiscard]] std::size_t WeekOf(std::int64_t second) const {
    return static_cast<std::size_t>((second - MondayOf(report_.from)) / kWeekSeconds);
  }

  // Whether a cell lies in the window and in one week.
  [[nodiscard]] bool Whole(const LedgerCell& cell) const {
    return cell.from >= report_.from && cell.to <= report_.to && WeekOf(cell.from) == WeekOf(cell.to - 1);
  }

  void TakeGpu(const LedgerCell& cell) {
    const std::int64_t from = std::max(cell.from, report_.from);
    const std::int64_t to = std::min(cell.to, report_.to);
    first_ = std::min(first_, from);
    last_ = std::max(last_, to);
    if (Whole(cell)) {
      const std::size_t week = WeekOf(from);
      gpus_.At(cell, week).Add(cell.time);
      if (cell.time.reset_ms == 0) return;
      FleetTime& lost = nodeless_[week][cell.name->node];
      lost.phases[kFleetUnobserved] += cell.time.reset_ms;
      lost.reset_ms += cell.time.reset_ms;
      return;
    }
    if (WeekOf(from) != WeekOf(to - 1)) ++crossing_;
    // What lies in the window, as the report has it; its parts sum to that.
    const std::int64_t ms = cell.MsInside(report_.from, report_.to);
    const auto up_to = [&](std::int64_t second) { return ms * (second - from) / (to - from); };
    for (std::size_t week = WeekOf(from); week <= WeekOf(to - 1); ++week) {
      const std::int64_t monday = MondayOf(report_.from) + static_cast<std::int64_t>(week) * kWeekSeconds;
      FleetTime part;
      part.phases[kFleetUnobserved] = up_to(std::min(to, monday + kWeekSeconds)) - up_to(std::max(from, monday));
      gpus_.At(cell, week).Add(part);
      nodeless_[week][cell.name->node].Add(part);
    }
  }

  void TakeTeam(const LedgerCell& cell) {
    if (Whole(cell)) teams_.At(cell, WeekOf(cell.from)).Add(cell.time);
  }

  void BeginWeeks() {
    for (std::size_t i = 0; i < weeks_; ++i) {
      const std::int64_t monday = MondayOf(report_.from) + static_cast<std::int64_t>(i) * kWeekSeconds;
      FleetWeek week;
      week.name = IsoWeekName(monday);
      week.from = std::max(monday, report_.from);
      week.to = std::min(monday + kWeekSeconds, report_.to);
      week.partial = std::max(report_.from, first_) > monday || std::min(report_.to, last_) < monday + kWeekSeconds;
      for (std::size_t row = 0; row < gpus_.names().size(); ++row) {
        const FleetTime time = gpus_.Of(row, i);
        week.time.Add(time);
        if (time.TotalMs() > 0) ++week.gpus;
      }
      all_.push_back(std::move(week));
    }
  }

  // Splits the cost of each GPU over the weeks. A GPU has one price in a report.
  Result<void> FillCosts() {
    if (!report_.cost.total) return {};
    std::map<std::pair<std::string, std::string>, const FleetGpu*> known;
    for (const FleetGpu& gpu : report_.gpus) known[{gpu.node, gpu.uuid}] = &gpu;
    price_of_node_ = NanosPerHour(report_.gpus);
    std::vector<Money> sums(weeks_);
    std::vector<FleetTime> priced(weeks_);
    std::vector<std::int64_t> weights(weeks_);
    for (std::size_t row = 0; row < gpus_.names().size(); ++row) {
      const auto gpu = known.find({gpus_.names()[row]->node, gpus_.names()[row]->uuid});
      if (gpu == known.end() || !gpu->second->cost.total) continue;
      for (std::size_t i = 0; i < weeks_; ++i) weights[i] = gpus_.Of(row, i).TotalMs();
      if (std::all_of(weights.begin(), weights.end(), [](std::int64_t ms) { return ms == 0; })) continue;
      const std::vector<Money> parts = TRY(Split(*gpu->second->cost.total, weights));
      for (std::size_t i = 0; i < weeks_; ++i) {
        sums[i] = TRY(Add(sums[i], parts[i]));
        priced[i].Add(gpus_.Of(row, i));
      }
    }
    for (std::size_t i = 0; i < weeks_; ++i) {
      all_[i].cost = TRY(PricedCost(priced[i], sums[i]));
    }
    return {};
  }

  Result<void> FillTeams() {
    for (std::size_t i = 0; i < weeks_; ++i) {
      std::map<std::string, OfNodes> by_team;
      for (std::size_t row = 0; row < teams_.names().size(); ++row) {
        const FleetTime time = teams_.Of(row, i);
        if (time.TotalMs() == 0) continue;
        by_team[teams_.names()[row]->owner.team][teams_.names()[row]->node].Add(time);
      }
      for (const auto& [node, time] : nodeless_[i]) {
        if (time.TotalMs() > 0) by_team[kFleetUnknown][node].Add(time);
      }
      TRY(FillTeamsOf(by_team, &all_[i]));
    }
    return {};
  }

  // Splits the cost of a week over its teams, by the price of their time on each node.
  Result<void> FillTeamsOf(const std::map<std::string, OfNodes>& by_team, FleetWeek* week) const {
    std::vector<std::int64_t> times;
    std::vector<std::int64_t> prices;
    std::vector<FleetTime> priced;
    for (const auto& [team, nodes] : by_team) {
      FleetOwner owner;
      owner.name = team;
      Int128 price = 0;
      priced.emplace_back();
      for (const auto& [node, time] : nodes) {
        owner.time.Add(time);
        const auto per_hour = price_of_node_.find(node);
        if (per_hour == price_of_node_.end()) continue;
        price += Int128{per_hour->second} * time.TotalMs();
        priced.back().Add(time);
      }
      times.push_back(owner.time.TotalMs());
      prices.push_back(static_cast<std::int64_t>(price / kMsPerGpuHour));
      week->teams.push_back(std::move(owner));
    }
    if (week->cost.total && !week->teams.empty()) {
      const bool free = std::all_of(prices.begin(), prices.end(), [](std::int64_t nano) { return nano == 0; });
      const std::vector<Money> parts = TRY(Split(*week->cost.total, free ? times : prices));
      for (std::size_t i = 0; i < parts.size(); ++i) {
        if (priced[i].TotalMs() == 0 && parts[i] == Money()) continue;
        week->teams[i].cost = TRY(PricedCost(priced[i], parts[i]));
      }
    }
    std::stable_sort(week->teams.begin(), week->teams.end(),
                     [](const FleetOwner& a, const FleetOwner& b) { return a.time.TotalMs() > b.time.TotalMs(); });
    return {};
  }

  FleetLedger& ledger_;
  FleetReport& report_;
  std::size_t weeks_;
  WeekTable gpus_;
  WeekTable teams_;
  std::vector<OfNodes> nodeless_;  // by week: time of no known owner, by node
  std::vector<FleetWeek> all_;     // of the window, with those that have no cells
  std::map<std::string, std::int64_t> price_of_node_;
  std::int64_t first_ = std::numeric_limits<std::int64_t>::max();  // of what was counted in the window
  std::int64_t last_ = std::numeric_limits<std::int64_t>::min();
  std::int64_t crossing_ = 0;
};

std::optional<double> ShareOfWeek(std::int64_t ms, const FleetWeek& week) {
  const std::int64_t whole = week.time.TotalMs();
  return whole == 0 ? std::nullopt : std::optional(static_cast<double>(ms) / static_cast<double>(whole));
}

}  // namespace

std::int64_t MondayOf(std::int64_t second) {
  const std::int64_t since = second - kFirstMonday;
  return kFirstMonday + (since - ((since % kWeekSeconds) + kWeekSeconds) % kWeekSeconds);
}

// The year of a week is that of its Thursday, so week 1 has the first Thursday of the year.
std::string IsoWeekName(std::int64_t monday) {
  const std::int64_t thursday = monday + 3 * kDaySeconds;
  const CivilTime civil = ToCivil(Instant::FromNanos(thursday * kNanosPerSecond));
  const std::int64_t day_of_year = thursday / kDaySeconds - DaysFromCivil(civil.year, 1, 1);
  return fmt::format("{:04}-W{:02}", civil.year, day_of_year / 7 + 1);
}

Result<void> AddFleetWeeks(FleetLedger& ledger, FleetReport* report) { return TrendSum(ledger, report).Run(); }

std::optional<double> WasteShareOf(const FleetWeek& week) { return ShareOfWeek(WasteOf(week.time).low_ms, week); }
std::optional<double> IdleShareOf(const FleetWeek& week) { return ShareOfWeek(week.time.phases[0], week); }

std::optional<FleetWeekChange> ChangeOf(const FleetWeek& before, const FleetWeek& week) {
  if (before.partial || week.partial || before.to != week.from) return std::nullopt;
  if (before.time.TotalMs() == 0 || week.time.TotalMs() == 0) return std::nullopt;
  FleetWeekChange change;
  const auto relative = [](std::int64_t a, std::int64_t b) {
    return static_cast<double>(b) / static_cast<double>(a) - 1;
  };
  if (before.cost.total && week.cost.total && before.cost.total->nano() > 0) {
    change.cost = relative(before.cost.total->nano(), week.cost.total->nano());
  }
  change.gpu_hours = relative(before.time.TotalMs(), week.time.TotalMs());
  change.waste_share = *WasteShareOf(week) - *WasteShareOf(before);
  change.idle_share = *IdleShareOf(week) - *IdleShareOf(before);
  return change;
}

}  // namespace idleburn
