#include "verify/measured_run.h"

#include <algorithm>
#include <numeric>

#include "text/number.h"

// Prepares the rows of a run for statistics. Rows are merged where they repeat a reading and summed where there are
// many. Neither changes a total, so R stays exact; only the number of rows changes, and with it how sure they look.
// Repeated rows that stay in pretend to be independent readings and make the interval too narrow.

namespace idleburn {

namespace {

// Rows that remain at most after summing, roughly.
constexpr std::size_t kMostRows = 1000;
// Share of repeated rows from which they count as one reading. Below it, equal neighbours are chance: a steady job
// repeats some values.
constexpr double kRepeats = 1.0 / 3;

// Exact equality on purpose: a gauge that was not renewed repeats every digit.
bool SaysTheSame(const WorkRow& a, const WorkRow& b) { return a.gpu_seconds == b.gpu_seconds && a.work == b.work; }

// Adds a row to the one before it, which then ends later.
void Join(const WorkRow& row, WorkRow& into) {
  into.end = row.end;
  into.gpu_seconds += row.gpu_seconds;
  into.work += row.work;
}

// Applies the first two rules of MergeRepeated.
WorkPiece JoinIdleRows(const WorkPiece& rows) {
  WorkPiece joined;
  bool open = false;  // the last row has no work yet
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (i > 0 && rows[i].end == rows[i - 1].end && SaysTheSame(rows[i], rows[i - 1])) continue;
    if (open) {
      Join(rows[i], joined.back());
    } else {
      joined.push_back(rows[i]);
    }
    open = joined.back().work <= 0;
  }
  return joined;
}

}  // namespace

WorkPiece MergeRepeated(const WorkPiece& rows) {
  const WorkPiece joined = JoinIdleRows(rows);
  std::size_t repeats = 0;
  for (std::size_t i = 1; i < joined.size(); ++i) repeats += SaysTheSame(joined[i], joined[i - 1]) ? 1U : 0U;
  const auto pairs = static_cast<double>(joined.size()) - 1;
  // All rows equal, or too few repeats: nothing to merge.
  if (repeats + 1 >= joined.size() || static_cast<double>(repeats) < kRepeats * pairs) return joined;
  WorkPiece merged;
  for (std::size_t i = 0; i < joined.size(); ++i) {
    if (i > 0 && SaysTheSame(joined[i], joined[i - 1])) {
      Join(joined[i], merged.back());
    } else {
      merged.push_back(joined[i]);
    }
  }
  return merged;
}

std::vector<WorkPiece> SumRows(const std::vector<WorkPiece>& pieces) {
  // Rounded up: about kMostRows rows remain at most.
  const std::size_t together = (CountRows(pieces) + kMostRows - 1) / kMostRows;
  std::vector<WorkPiece> summed;
  for (const WorkPiece& piece : pieces) {
    if (piece.empty()) continue;
    const std::size_t groups = std::max<std::size_t>(1, piece.size() / together);
    WorkPiece& sums = summed.emplace_back();
    for (std::size_t group = 0; group < groups; ++group) {
      const std::size_t end = (group + 1) * piece.size() / groups;
      std::size_t i = group * piece.size() / groups;
      WorkRow row = piece[i];
      for (++i; i < end; ++i) Join(piece[i], row);
      sums.push_back(row);
    }
  }
  return summed;
}

std::size_t CountRows(const std::vector<WorkPiece>& pieces) {
  return std::accumulate(pieces.begin(), pieces.end(), std::size_t{0},
                         [](std::size_t n, const WorkPiece& piece) { return n + piece.size(); });
}

WorkRow SumOf(const WorkPiece& rows) {
  WorkRow sum;
  for (const WorkRow& row : rows) Join(row, sum);
  return sum;
}

double SecondsBetweenRows(const std::vector<WorkPiece>& pieces) {
  double seconds = 0;
  std::size_t spans = 0;
  for (const WorkPiece& piece : pieces) {
    if (piece.size() < 2) continue;
    seconds += InSeconds(piece.back().end - piece.front().end);
    spans += piece.size() - 1;
  }
  return spans == 0 ? 0 : std::max(0.0, seconds / static_cast<double>(spans));
}

}  // namespace idleburn
