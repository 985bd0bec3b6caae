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
    sums_.Add(cell, cell.time);
  }

  // Time that no team has: lost by agents, or of a span that cannot be split at an end of the window.
  void TakeGpu(const LedgerCell& cell) {
    FleetTime lost;
    if (cell.from < days_.from || cell.to > days_.to) {
      ++days_.crossing;
      lost.phases[kFleetUnobserved] = cell.MsInside(days_.from, days_.to);
    } else {
      lost.phases[kFleetUnobserved] = cell.time.reset_ms;
      lost.reset_ms = cell.time.reset_ms;
      if (cell.to > LedgerDay(cell.from) + kDaySeconds) ++days_.over_midnight;
    }
    if (lost.TotalMs() > 0) by_day_[LedgerDay(std::max(cell.from, days_.from))][kFleetUnknown].Add(lost);
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
    sums_.ForEach([this](const CellName& name, const FleetTime& time) { by_day_[day_][name.owner.team].Add(time); });
    sums_ = {};
    day_ = next;
  }

  TeamDays days_;
  std::int64_t day_ = 0;
  CellSums sums_;  // of the day
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
