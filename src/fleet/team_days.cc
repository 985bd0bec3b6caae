#include "fleet/team_days.h"

#include <algorithm>
#include <map>

namespace idleburn {
namespace {

// Time by team on one day.
using DaySums = std::map<std::string, FleetTime>;

// Sums the teams of one day by their id first: a team has a name on each of a thousand nodes.
class TeamDaySum {
 public:
  TeamDaySum(std::int64_t from, std::int64_t to) { days_.from = from, days_.to = to; }

  void TakeTeam(const LedgerCell& cell) {
    if (cell.from < days_.from || cell.to > days_.to) return;
    if (LedgerDay(cell.from) != day_) Flush(LedgerDay(cell.from));
    if (cell.id >= sums_.size()) {
      sums_.resize(cell.id + 1);
      names_.resize(cell.id + 1, nullptr);
    }
    sums_[cell.id].Add(cell.time);
    names_[cell.id] = cell.name;
  }

  // Time that no team has: lost by agents, or of a span that cannot be split at an end of the window.
  void TakeGpu(const LedgerCell& cell) {
    FleetTime lost;
    if (cell.from < days_.from || cell.to > days_.to) {
      ++days_.crossing;
      const std::int64_t inside = std::min(cell.to, days_.to) - std::max(cell.from, days_.from);
      lost.phases[kFleetUnobserved] = cell.time.TotalMs() * inside / (cell.to - cell.from);
    } else {
      lost.phases[kFleetUnobserved] = cell.time.reset_ms;
      lost.reset_ms = cell.time.reset_ms;
      if (cell.to > LedgerDay(cell.from) + kDaySeconds) ++days_.over_midnight;
    }
    if (lost.TotalMs() > 0) by_day_[LedgerDay(std::max(cell.from, days_.from))]["_unknown"].Add(lost);
  }

  TeamDays Take() {
    Flush(0);
    for (const auto& [day, teams] : by_day_) {
      for (const auto& [team, time] : teams) {
        if (time.TotalMs() > 0) days_.rows.push_back({day, team, time});
      }
    }
    return std::move(days_);
  }

 private:
  void Flush(std::int64_t next) {
    for (std::size_t id = 0; id < names_.size(); ++id) {
      if (names_[id] != nullptr) by_day_[day_][names_[id]->owner.team].Add(sums_[id]);
    }
    sums_.clear();
    names_.clear();
    day_ = next;
  }

  TeamDays days_;
  std::int64_t day_ = 0;
  std::vector<FleetTime> sums_;         // of the day, by id
  std::vector<const CellName*> names_;  // null: no cell
  std::map<std::int64_t, DaySums> by_day_;
};

}  // namespace

Result<TeamDays> TeamDaysFrom(FleetLedger& ledger, std::int64_t from, std::int64_t to) {
  TeamDaySum sum(from, to);
  TRY(ledger.ForEachDay(CellKind::kTeam, from, to, [&](const LedgerCell& cell) { sum.TakeTeam(cell); }));
  TRY(ledger.ForEachDay(CellKind::kGpu, from, to, [&](const LedgerCell& cell) { sum.TakeGpu(cell); }));
  return sum.Take();
}

}  // namespace idleburn
