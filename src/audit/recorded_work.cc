#include "audit/recorded_work.h"

#include <algorithm>

#include "text/number.h"
#include "text/time_zone.h"

// Turns marks of progress into rows of work. Each rank reports its own running count, and the sum over ranks makes the
// rows. The rows must not invent precision: marks arrive at the sampler's ticks, so rows of a few milliseconds would
// mostly show when the sampler looked.

namespace idleburn {
namespace {

constexpr Nanos kShortestRow(kNanosPerSecond);  // marks come at the sampler's ticks: shorter rows are mostly rounding
// A longer silence of all GPUs cuts the rows: nothing tells how the work was spread over it.
constexpr Nanos kLongestSilence(2 * kNanosPerSecond);

}  // namespace

void RecordedWork::OnSamples(std::span<const Sample> samples) {
  for (const Sample& sample : samples) {
    if (last_sample_ && sample.time - *last_sample_ > kLongestSilence) gaps_.push_back(*last_sample_);
    last_sample_ = last_sample_ ? std::max(*last_sample_, sample.time) : sample.time;
    if (!first_sample_) first_sample_ = sample.time;
  }
}

void RecordedWork::OnFact(const RunFact& fact) {
  window_.Take(fact);
  of_command_ = of_command_ || fact.key == "command";
}

WorkCount RecordedWork::All() const {
  WorkCount all;
  for (const auto& [rank, mark] : ranks_) all.AddRank(mark.done);
  return all;
}

void RecordedWork::OnWork(const WorkMark& mark) {
  if (!mark.done.any()) {  // printed lines are no longer believed: markers count from the start of the command
    ranks_.clear();
    changes_.clear();
    return;
  }
  ranks_[mark.rank] = mark;
  // A count that goes back makes the comparison INVALID: how much of the work was kept is not recorded.
  const WorkCount now = All();
  if (!changes_.empty()) {
    for (std::size_t u = 0; u < kWorkUnitCount; ++u) {
      const std::optional<std::int64_t>& before = changes_.back().done.of[u];
      if (before && (!now.of[u] || *now.of[u] < *before) && doubt_.empty()) {
        doubt_ = "its count of " + std::string(kWorkUnitPlurals[u]) + " goes back at " + FormatRfc3339(mark.time) +
                 ": the work started over";
      }
    }
  }
  if (changes_.empty() || changes_.back().time < mark.time) {
    changes_.push_back({mark.time, now});
  } else {
    changes_.back().done = now;
  }
}

void RecordedWork::Fill(double gpus, CountedRun& counted) const {
  if (!doubt_.empty()) counted.run.doubts.push_back({"work_counter_restarted", doubt_});
  std::optional<Instant> start = window_.start ? window_.start : first_sample_;
  const std::optional<Instant> end = window_.end ? window_.end : last_sample_;
  if (!start || !end) return;
  WorkCount done;
  // Without a command, the recording began in the middle of some work. The first mark then gives the origin.
  if (!of_command_ && !changes_.empty()) {
    start = std::max(*start, changes_.front().time);
    done = changes_.front().done;
  }
  const WorkCount origin = done;
  counted.run.start = start;
  counted.run.end = end;
  counted.run.gpu_seconds = gpus * InSeconds(*end - *start);
  if (changes_.empty()) return;
  // Rows of one stretch without a gap.
  std::vector<CountedRow> piece;
  const auto cut = [&] {
    if (!piece.empty()) counted.pieces.push_back(std::move(piece));
    piece.clear();
  };
  Instant since = *start;
  // Ends a row at `at` with the count `now`. A row across a gap ends the piece and is dropped.
  const auto close = [&](Instant at, const WorkCount& now) {
    CountedRow row{at, gpus * InSeconds(at - since), {}};
    for (std::size_t u = 0; u < kWorkUnitCount; ++u) {
      row.work[u] = static_cast<double>(now.of[u].value_or(0) - done.of[u].value_or(0));
    }
    const bool gap =
        std::any_of(gaps_.begin(), gaps_.end(), [&](Instant begun) { return since <= begun && begun < at; });
    if (gap) {
      cut();
    } else {
      piece.push_back(row);
    }
    since = at;
    done = now;
  };
  for (const At& change : changes_) {
    if (change.time <= *end && change.time - since >= kShortestRow) close(change.time, change.done);
  }
  if (since < *end) close(*end, changes_.back().done);
  cut();
  for (std::size_t u = 0; u < kWorkUnitCount; ++u) {
    const std::optional<std::int64_t>& all = changes_.back().done.of[u];
    if (all) counted.total[u] = static_cast<double>(*all - origin.of[u].value_or(0));
  }
}

}  // namespace idleburn
