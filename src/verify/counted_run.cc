#include "verify/counted_run.h"

#include <algorithm>

#include "stats/order.h"
#include "text/number.h"

namespace idleburn {
namespace {

constexpr std::array<WorkUnit, kWorkUnitCount> kPreferred = {WorkUnit::kSample, WorkUnit::kToken, WorkUnit::kRequest,
                                                             WorkUnit::kStep, WorkUnit::kEpoch};
constexpr double kHeld = 2.5;  // as long as an audit holds a reading, in periods (classify/thresholds.h)

}  // namespace

MeasuredRun CountedRun::In(std::optional<WorkUnit> unit) const {
  MeasuredRun measured = run;
  if (!unit || !Counts(*unit)) {
    const auto first =
        std::find_if(kPreferred.begin(), kPreferred.end(), [this](WorkUnit other) { return Counts(other); });
    if (first == kPreferred.end()) return measured;
    unit = *first;
  }
  const auto index = static_cast<std::size_t>(*unit);
  measured.unit = unit;
  measured.work = *total[index];
  for (const std::vector<CountedRow>& piece : pieces) {
    WorkPiece rows;
    for (const CountedRow& row : piece) rows.push_back({row.end, row.gpu_seconds, row.work[index]});
    measured.pieces.push_back(std::move(rows));
  }
  return measured;
}

std::optional<WorkUnit> CommonUnit(std::span<const CountedRun> runs) {
  for (const WorkUnit unit : kPreferred) {
    if (std::all_of(runs.begin(), runs.end(), [unit](const CountedRun& run) { return run.Counts(unit); })) return unit;
  }
  return std::nullopt;
}

std::vector<std::vector<CountedRow>> CutAtGaps(std::vector<CountedRow> rows) {
  std::vector<std::vector<CountedRow>> pieces;
  std::vector<double> distances;
  std::vector<double> gpus;
  for (std::size_t i = 1; i < rows.size(); ++i) {
    distances.push_back(InSeconds(rows[i].end - rows[i - 1].end));
    if (distances.back() > 0) gpus.push_back(rows[i].gpu_seconds / distances.back());
  }
  const double usual = distances.empty() ? 0 : Median(distances);
  const double at_once = gpus.empty() ? 0 : Median(gpus);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const double explained = std::max(usual, at_once > 0 ? rows[i].gpu_seconds / at_once : 0);
    const bool gap = i > 0 && distances[i - 1] > kHeld * explained;
    if (pieces.empty() || gap) pieces.emplace_back();
    pieces.back().push_back(rows[i]);
  }
  return pieces;
}

}  // namespace idleburn
