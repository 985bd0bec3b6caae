#include "tco/tco_history.h"

#include <fmt/format.h>

#include "history/runs.h"
#include "text/time_zone.h"

namespace idleburn {

ActualBill BillOfRuns(std::span<const HistoryRun> runs, const std::string& currency, std::vector<std::string>& told) {
  ActualBill bill;
  bill.column = "history";
  int audits = 0;
  int unpriced = 0;
  int foreign = 0;
  int parts = 0;
  const std::vector<std::string> within = CountedWithin(runs, runs);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const HistoryRun& run = runs[i];
    if (run.kind == "audit") {
      ++audits;
      continue;
    }
    if (!within[i].empty()) {
      ++parts;
      continue;
    }
    if (!run.figures.cost_nano) {
      ++unpriced;
      continue;
    }
    if (run.figures.currency != currency) {
      ++foreign;
      continue;
    }
    const CivilTime started = ToCivil(run.started);
    ActualRow row;
    row.month = FormatRfc3339(run.started).substr(0, 7);
    row.day = DaysFromCivil(started.year, started.month, started.day);
    row.category = CostCategory::kCompute;
    row.amount = Money::Nano(*run.figures.cost_nano);
    if (const auto rate = run.figures.rate_nano; rate && *rate > 0) {
      row.quantity = Fraction::Of(row.amount) / Fraction::Of(Money::Nano(*rate));
    }
    if (run.state == RunState::kRunning) row.open = true;
    bill.rows.push_back(std::move(row));
  }
  const auto tell = [&](int count, const std::string& why) {
    if (count > 0) told.push_back(fmt::format("actuals: {} of the history are left out: {}", count, why));
  };
  tell(audits, "audits, which may measure the same runs again");
  tell(parts, "runs inside another run, which counts their GPUs");
  tell(unpriced, "runs without a cost");
  tell(foreign, "runs that were not paid in " + currency);
  return bill;
}

}  // namespace idleburn
