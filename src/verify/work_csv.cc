#include "verify/work_csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <numeric>

#include "stats/order.h"
#include "stats/random.h"
#include "text/csv.h"
#include "text/figures.h"
#include "text/number.h"
#include "text/time_zone.h"
#include "verify/effect.h"
#include "verify/within_run.h"

// Reads logs of work, and judges profiler captures. The first part turns a CSV file into runs or blocks of a
// switchback. The second part, from CountSteps on, judges captures by the median of their steps.
//
// Captures have a judge of their own because their data differ in kind: few steps, exact to the nanosecond, and no
// bill. They share the terms (verify/terms.h) and the rule of the verdict (verify/verdict.h) with runs, so that neither
// way is easier.

namespace idleburn {
namespace {

// The first unit that all runs count is compared. Samples and tokens come first: a step is another amount of work if
// the batch size changes.
constexpr std::array<WorkUnit, kWorkUnitCount> kPreferred = {WorkUnit::kSample, WorkUnit::kToken, WorkUnit::kRequest,
                                                             WorkUnit::kStep, WorkUnit::kEpoch};
// As long as an audit holds a reading, in periods (classify/thresholds.h). Both must agree on what a gap is.
constexpr double kHeld = 2.5;

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
    // A long step explains its own length by its GPU-seconds, at the usual number of GPUs.
    const double explained = std::max(usual, at_once > 0 ? rows[i].gpu_seconds / at_once : 0);
    const bool gap = i > 0 && distances[i - 1] > kHeld * explained;
    if (pieces.empty() || gap) pieces.emplace_back();
    pieces.back().push_back(rows[i]);
  }
  return pieces;
}

namespace {

constexpr std::string_view kGpuSeconds = "gpu_seconds";
// Above it a double cannot tell a sum of counts from its neighbour, and times are no instants.
constexpr double kMostAmount = 1e15;

// A plain decimal from 0 to 1e15. Negative amounts are refused: a counter that fell was read as a count.
Result<double> Amount(const CsvTable& table, std::string_view column) {
  const std::string_view cell = Trim(table.Cell(column));
  double value = 0;
  const auto [end, fault] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  if (cell.empty() || fault != std::errc() || end != cell.data() + cell.size() || !std::isfinite(value)) {
    return table.Bad(column, "is not a number; write a plain decimal");
  }
  if (value < 0) return table.Bad(column, "is negative; it counts what was spent or done in the row");
  if (value > kMostAmount) return table.Bad(column, "is more than 1e15; check its unit");
  return value;
}

// The end of a row. Column `time` may hold RFC 3339 or seconds.
Result<Instant> End(const CsvTable& table) {
  if (table.Has("time")) {
    Result<Instant> time = ParseRfc3339(Trim(table.Cell("time")));
    const ScaledNumber seconds = ParseScaled(Trim(table.Cell("time")), 9);
    if (!time && seconds.fault == NumberFault::kNone && seconds.value >= 0) time = Instant::FromNanos(seconds.value);
    if (!time) return table.Bad("time", "is not a time; write 2026-07-03T22:22:01Z, or seconds from 0 or of the epoch");
    return time;
  }
  const ScaledNumber seconds = ParseScaled(Trim(table.Cell("time_s")), 9);
  if (seconds.fault != NumberFault::kNone) {
    return table.Bad("time_s", "is not a time in seconds; write a plain decimal");
  }
  if (seconds.value < 0) return table.Bad("time_s", "is negative; write times from 0 or from the epoch");
  return Instant::FromNanos(seconds.value);
}

// Which columns the header has.
struct Columns {
  std::string_view time = "time_s";
  std::array<std::string_view, kWorkUnitCount> work_names = kWorkUnitPlurals;
  std::array<bool, kWorkUnitCount> work{};
  bool arm = false;
  bool block = false;
};

// Reads the header. Fails if the time or gpu_seconds is missing. A column "work" counts as steps.
Result<Columns> ReadColumns(CsvTable& table) {
  TRY(table.ReadHeader());
  Columns columns;
  if (table.Has("time")) columns.time = "time";
  const std::array<std::string_view, 2> needed = {columns.time, kGpuSeconds};
  TRY(table.Require(needed));
  constexpr auto kStep = static_cast<std::size_t>(WorkUnit::kStep);
  if (!table.Has(kWorkUnitPlurals[kStep])) columns.work_names[kStep] = "work";  // the unit is not given
  for (std::size_t u = 0; u < kWorkUnitCount; ++u) columns.work[u] = table.Has(columns.work_names[u]);
  columns.arm = table.Has("arm");
  columns.block = table.Has("block");
  return columns;
}

// A block whose rows are still being read.
struct OpenBlock {
  std::string arm;
  std::string block;
  std::vector<CountedRow> rows;
};

// When the first row began. Only ends are known, so it lasts as long as its GPU-seconds take at the pace of the other
// rows. A single row begins where it ends.
Instant StartOf(const std::vector<CountedRow>& rows) {
  const auto ns = static_cast<double>((rows.back().end - rows.front().end).count());
  double later = 0;
  for (std::size_t i = 1; i < rows.size(); ++i) later += rows[i].gpu_seconds;
  if (later <= 0) return rows.front().end;
  const double first = std::min(ns * rows.front().gpu_seconds / later, static_cast<double>(rows.front().end.nanos()));
  return Instant::FromNanos(rows.front().end.nanos() - static_cast<std::int64_t>(first));
}

// Ends a block: sums it up and cuts it at its gaps. `before` is the end of the block before it, if any: a block cannot
// begin earlier, even if its first row seems to.
WorkTable::Block Close(OpenBlock open, const std::optional<Instant>& before, const Columns& columns) {
  WorkTable::Block block;
  block.arm = std::move(open.arm);
  CountedRun& run = block.run;
  for (std::size_t u = 0; u < kWorkUnitCount; ++u) {
    if (columns.work[u]) run.total[u] = 0;
  }
  for (const CountedRow& row : open.rows) {
    run.run.gpu_seconds += row.gpu_seconds;
    for (std::size_t u = 0; u < kWorkUnitCount; ++u) {
      if (columns.work[u]) *run.total[u] += row.work[u];
    }
  }
  // Blocks of one file share its clock, whatever that clock shows.
  if (IsDated(open.rows.front().end) || columns.arm) {
    run.run.start = std::max(StartOf(open.rows), before.value_or(Instant()));
    run.run.end = open.rows.back().end;
  }
  run.pieces = CutAtGaps(std::move(open.rows));
  return block;
}

}  // namespace

bool SniffWorkCsv(std::string_view head) {
  const std::string_view line = head.substr(0, head.find('\n'));
  std::size_t at = 0;
  while ((at = line.find(kGpuSeconds, at)) != std::string_view::npos) {
    // "gpu_seconds" must be a whole column name, not a part of one.
    const auto ends = [&](std::size_t i) {
      return i >= line.size() || std::string_view(", \t\r\"").find(line[i]) != std::string_view::npos;
    };
    if ((at == 0 || ends(at - 1)) && ends(at + kGpuSeconds.size())) return true;
    ++at;
  }
  return false;
}

Result<WorkTable> ReadWorkCsv(ByteSource& in) {
  CsvTable table(in);
  const Columns columns = TRY(ReadColumns(table));
  WorkTable read;
  OpenBlock open;
  std::optional<Instant> last;
  std::optional<Instant> before;
  while (true) {
    const bool more = TRY(table.Next());
    if (!more) break;
    CountedRow row;
    const Instant end = TRY(End(table));
    if (last && end <= *last) {
      return table.Bad(columns.time, "is not later than the row before; put rows in order of time, each once");
    }
    last = row.end = end;
    row.gpu_seconds = TRY(Amount(table, kGpuSeconds));
    for (std::size_t u = 0; u < kWorkUnitCount; ++u) {
      if (!columns.work[u]) continue;
      row.work[u] = TRY(Amount(table, columns.work_names[u]));
    }
    const std::string arm(columns.arm ? Trim(table.Cell("arm")) : std::string_view());
    const std::string block(columns.block ? Trim(table.Cell("block")) : std::string_view());
    // A row without a setting could belong to either side.
    if (columns.arm && arm.empty()) return table.Bad("arm", "is empty; say which setting was on");
    if (!open.rows.empty() && (arm != open.arm || block != open.block)) {
      const Instant end_of_block = open.rows.back().end;
      read.blocks.push_back(Close(std::move(open), before, columns));
      before = end_of_block;
      open = {};
    }
    open.arm = arm;
    open.block = block;
    open.rows.push_back(row);
  }
  if (open.rows.empty()) return Fail(table.name() + ": has no rows below its header, so there is nothing to compare");
  read.blocks.push_back(Close(std::move(open), before, columns));
  return read;
}

namespace {

// The first profiled step warms up, and the last one carries the end of the profiler.
constexpr std::size_t kDroppedSteps = 2;
// Fewer counted steps on a side give NOT_SHOWN.
constexpr int kLeastSteps = 20;
// Kernels or compute time per step may differ by so much before the work counts as different.
constexpr double kSameWork = 0.02;

// The steps of a side that count: each capture without its first and last step.
struct CountedSteps {
  std::vector<std::vector<double>> captures;
  CaptureSide side;
};

// The counted steps of a side as one list.
std::vector<double> Flattened(const std::vector<std::vector<double>>& captures) {
  std::vector<double> all;
  for (const std::vector<double>& steps : captures) all.insert(all.end(), steps.begin(), steps.end());
  return all;
}

// Takes the steps that count. A capture with too few steps contributes nothing. tau is the mean over captures, weighted
// by their steps.
CountedSteps CountSteps(std::span<const StepCapture> captures) {
  CountedSteps counted;
  double tau = 0;
  for (const StepCapture& capture : captures) {
    if (capture.step_seconds.size() <= kDroppedSteps) continue;
    const std::vector<double>& steps =
        counted.captures.emplace_back(capture.step_seconds.begin() + 1, capture.step_seconds.end() - 1);
    const auto n = static_cast<double>(steps.size());
    tau += n * (steps.size() < 2 ? 1 : CorrelationTimeOf(steps).tau);
  }
  const std::vector<double> all = Flattened(counted.captures);
  counted.side.captures = static_cast<int>(counted.captures.size());
  counted.side.steps = static_cast<int>(all.size());
  if (all.empty()) return counted;
  counted.side.median_seconds = Median(all);
  counted.side.mean_seconds = MeanOf(all);
  counted.side.tau = tau / static_cast<double>(all.size());
  return counted;
}

// One bootstrap draw of the median. Blocks are drawn within each capture, so that neighbouring steps stay together.
double DrawMedian(const std::vector<std::vector<double>>& captures, double block, Random& random) {
  std::vector<double> drawn;
  for (const std::vector<double>& steps : captures) {
    const std::size_t n = steps.size();
    const std::size_t length = std::clamp<std::size_t>(static_cast<std::size_t>(std::ceil(block)), 1, n);
    DrawBlocks(n, length, random, [&](std::size_t begin, std::size_t end) {
      drawn.insert(drawn.end(), steps.begin() + static_cast<std::ptrdiff_t>(begin),
                   steps.begin() + static_cast<std::ptrdiff_t>(end));
    });
  }
  return Median(std::move(drawn));
}

// ln of the median step of each capture: the value of a capture as one run.
std::vector<double> LogMedians(const std::vector<std::vector<double>>& captures) {
  std::vector<double> logs;
  for (const std::vector<double>& steps : captures) logs.push_back(std::log(Median(steps)));
  return logs;
}

// The variance of the mean of these values, by how captures differ from each other.
VarianceTerm BetweenCaptures(const std::vector<std::vector<double>>& captures) {
  const std::vector<double> logs = LogMedians(captures);
  const auto k = static_cast<double>(logs.size());
  return {VarianceOf(logs) / k, k - 1};
}

// One comparison of captures on its way to its verdict. The checks run first and collect reasons. Only if none of
// them is fatal the interval is computed.
class CaptureJudgement {
 public:
  CaptureJudgement(std::span<const StepCapture> before, std::span<const StepCapture> after, const VerdictTerms& terms,
                   std::uint64_t seed, int resamples)
      : before_(before),
        after_(after),
        terms_(terms),
        claim_(terms.claim.value_or(Claim{})),
        resamples_(resamples),
        random_(seed) {
    out_.seed = seed;
    out_.level = claim_.level;
  }

  CaptureVerdict Reach() {
    const CountedSteps before = CountSteps(before_);
    const CountedSteps after = CountSteps(after_);
    out_.before = before.side;
    out_.after = after.side;
    CheckWork();
    CheckEvidence();
    if (out_.before.median_seconds > 0 && out_.after.median_seconds > 0) {
      out_.fraction = 1 - out_.after.median_seconds / out_.before.median_seconds;
      out_.mean_fraction = 1 - out_.after.mean_seconds / out_.before.mean_seconds;
    }
    CheckTerms(before.captures, after.captures);
    Say("not_cashable_from_capture",
        "not cashable from capture: a median step shows the gain of a step, not of a bill");
    if (out_.fraction && !Weighs(ReasonWeight::kInvalid) && !Weighs(ReasonWeight::kNotShown)) {
      Measure(before.captures, after.captures);
    }
    Decide();
    return std::move(out_);
  }

 private:
  void Say(std::string_view id, const std::string& seen) { out_.reasons.push_back(MakeReason(id, seen)); }
  [[nodiscard]] bool Weighs(ReasonWeight weight) const { return AnyWeighs(out_.reasons, weight); }

  // A step must do the same work on both sides: fewer kernels in a shorter step are no saving. If no capture tells
  // its work, the comparison is invalid too, because equal work cannot be assumed.
  void CheckWork() {
    struct WorkRowOfStep {
      const char* what;
      std::optional<double> StepCapture::*value;
    };
    constexpr std::array<WorkRowOfStep, 2> kShown = {
        {{"kernels", &StepCapture::kernels_per_step}, {"compute time", &StepCapture::compute_seconds_per_step}}};
    if (claim_.unit != WorkUnit::kStep) {
      Say("unequal_units", "a capture is judged by steps, but the claim by " +
                               std::string(kWorkUnitPlurals[static_cast<std::size_t>(claim_.unit)]));
    }
    bool shown = false;
    for (const WorkRowOfStep& row : kShown) {
      const std::optional<double> before = MeanWork(before_, row.value);
      const std::optional<double> after = MeanWork(after_, row.value);
      if (!before || !after) continue;
      shown = true;
      if (std::abs(*after - *before) > kSameWork * std::abs(*before)) {
        Say("unequal_work",
            fmt::format("{} a step: {} before, {} after", row.what, ThreeDigits(*before), ThreeDigits(*after)));
      }
    }
    if (shown) return;
    for (const std::span<const StepCapture> side : {before_, after_}) {
      for (const StepCapture& capture : side) {
        if (!capture.step_seconds.empty()) continue;
        return Say("equal_work_not_shown", capture.name + " marks no steps, so the work per step is not known");
      }
    }
    Say("equal_work_not_shown", "no capture has kernels or compute time per step");
  }

  // The mean over the captures that tell it. Absent if none does.
  static std::optional<double> MeanWork(std::span<const StepCapture> captures,
                                        std::optional<double> StepCapture::*value) {
    std::vector<double> known;
    for (const StepCapture& capture : captures) {
      if (capture.*value) known.push_back(*(capture.*value));
    }
    if (known.empty()) return std::nullopt;
    return MeanOf(known);
  }

  // Whether there are enough steps and captures. Captures have no method for sequential looks, so these are at most an
  // indication.
  void CheckEvidence() {
    const int steps = std::min(out_.before.steps, out_.after.steps);
    if (steps < kLeastSteps) Say("few_steps", fmt::format("{} counted steps on a side", steps));
    const int captures = std::min(out_.before.captures, out_.after.captures);
    if (captures < kRunsThatSuffice) {
      Say("few_captures", fmt::format("{} capture{} with steps on a side", captures, captures == 1 ? "" : "s"));
    }
    if (claim_.stop == StopRule::kSequential) {
      Say("sequential_needs_switchback", "captures are judged as one look");
    }
  }

  // Holds the captures to what is asked of every comparison: claim, date, baseline and exclusions (verify/terms.h).
  void CheckTerms(const std::vector<std::vector<double>>& before, const std::vector<std::vector<double>>& after) {
    std::optional<SeenSaving> saving;
    if (out_.fraction) saving = SeenSaving{*out_.fraction, LogMedians(before), LogMedians(after)};
    const TermsReading reading =
        HoldToTerms(terms_, AsJudged<StepCapture>(before_), AsJudged<StepCapture>(after_), saving, random_);
    out_.reasons.insert(out_.reasons.end(), reading.reasons.begin(), reading.reasons.end());
    out_.retrospective = reading.retrospective;
  }

  // Resamples the saving. With fewer than three captures a side its quantiles are the interval. Then nothing is known
  // of what differs between captures, and a reason has said so.
  void Measure(const std::vector<std::vector<double>>& before, const std::vector<std::vector<double>>& after) {
    const double block = kBootstrapBlockTaus * std::max(out_.before.tau, out_.after.tau);
    std::vector<double> savings;
    std::vector<double> logs;
    for (int i = 0; i < resamples_; ++i) {
      const double old_median = DrawMedian(before, block, random_);
      const double ratio = DrawMedian(after, block, random_) / old_median;
      savings.push_back(1 - ratio);
      logs.push_back(std::log(ratio));
    }
    std::sort(savings.begin(), savings.end());
    if (std::min(before.size(), after.size()) < kRunsThatSuffice) {
      out_.saving = QuantileInterval(savings, *out_.fraction, out_.level);
      out_.saving90 = QuantileInterval(savings, *out_.fraction, LowerLevel(out_.level));
      return;
    }
    MeasureOverCaptures(before, after, logs);
  }

  // From three captures a side on, the variance between captures counts, unless the steps within them vary more. The
  // larger of both is used.
  void MeasureOverCaptures(const std::vector<std::vector<double>>& before,
                           const std::vector<std::vector<double>>& after, const std::vector<double>& logs) {
    const std::array<VarianceTerm, 2> terms = {BetweenCaptures(before), BetweenCaptures(after)};
    SavingEffect effect;
    effect.fraction = *out_.fraction;
    effect.df = WelchDf(terms);
    effect.error = std::sqrt(std::max(TotalVariance(terms), VarianceOf(logs)));
    out_.saving = IntervalOf(effect, out_.level);
    out_.saving90 = IntervalOf(effect, LowerLevel(out_.level));
    Guard(before, after);
  }

  // Fits a trend and a step over the dated captures: a saving that is only a trend leaves no step.
  void Guard(const std::vector<std::vector<double>>& before, const std::vector<std::vector<double>>& after) {
    std::vector<DatedLog> logs;
    const auto add = [&logs](std::span<const StepCapture> captures, const std::vector<double>& medians, bool is_after) {
      std::size_t counted = 0;
      for (const StepCapture& capture : captures) {
        if (capture.step_seconds.size() <= kDroppedSteps) continue;
        const double median = medians[counted++];
        if (!capture.start) continue;
        logs.push_back({InHours(capture.start->nanos()), median, is_after});
      }
    };
    add(before_, LogMedians(before), false);
    add(after_, LogMedians(after), true);
    out_.guard = GuardOverRuns(logs, out_.level);
    if (!out_.guard) {
      Say("few_dated_runs", "without different dates, drift and change look the same");
      return;
    }
    out_.guard->same_side = OnTheSideOf(*out_.guard, *out_.fraction);
    if (!out_.guard->same_side) Say("drift_not_excluded", "next to a common trend the step of the median may be 0");
  }

  // An invalid comparison has no figure: a number would be quoted.
  void Decide() {
    if (Weighs(ReasonWeight::kInvalid)) {
      out_.verdict = Verdict::kInvalid;
      out_.fraction.reset();
      out_.mean_fraction.reset();
      return;
    }
    if (out_.saving) out_.verdict = VerdictOf(*out_.saving, *out_.saving90, claim_.smallest_effect, out_.reasons);
  }

  std::span<const StepCapture> before_, after_;
  const VerdictTerms& terms_;
  // The claim, or the defaults of a claim if there is none.
  Claim claim_;
  int resamples_;
  Random random_;
  CaptureVerdict out_;
};

}  // namespace

CaptureVerdict JudgeCaptures(std::span<const StepCapture> before, std::span<const StepCapture> after,
                             const VerdictTerms& terms, std::uint64_t seed, int resamples) {
  return CaptureJudgement(before, after, terms, seed, resamples).Reach();
}

}  // namespace idleburn
