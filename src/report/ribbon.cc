#include "report/ribbon.h"

#include <algorithm>
#include <cmath>

// Turns the timeline of a device into columns of a picture. A column may cover many buckets, or a part of one. It shows
// what most of its observed time was, since a mix of looks would be a colour that no legend explains.
//
// A ribbon is for orientation: when did it stand still, and which GPU differs. Exact times are in the tables, so
// doubles are enough here.

namespace idleburn {
namespace {

// Sums of the timeline buckets below one column, each weighted by its overlap. Doubles suffice for a picture: no
// printed figure comes from here.
struct ColumnSums {
  std::array<double, kPhaseCount> phase{};
  double held = 0;
  double throttled = 0;
  double busy_power_ns = 0;
  double busy_power_area = 0;  // milliwatts x ns
  double sm_ns = 0;
  double sm_area = 0;  // micro-percent x ns

  // Adds `part` (0 to 1) of a bucket. Within a bucket all is taken as evenly spread.
  void Add(const Timeline::Bucket& b, double part) {
    for (std::size_t p = 0; p < kPhaseCount; ++p) phase[p] += part * static_cast<double>(b.phase_ns[p]);
    held += part * static_cast<double>(b.held_ns);
    throttled += part * static_cast<double>(b.throttled_ns);
    busy_power_ns += part * static_cast<double>(b.busy_power.ns);
    busy_power_area += part * static_cast<double>(b.busy_power.area);
    sm_ns += part * static_cast<double>(b.sm_active.ns);
    sm_area += part * static_cast<double>(b.sm_active.area);
  }
};

// A stretch of time in nanoseconds since 1970, or since the start of a log without dates.
struct Span {
  double from;
  double to;
  [[nodiscard]] double Length() const { return std::max(0.0, to - from); }
};
// May be reversed if the spans do not meet; its length is then 0.
Span Overlap(Span a, Span b) { return {std::max(a.from, b.from), std::min(a.to, b.to)}; }

// Adds up the buckets below a column. The first and last bucket may reach beyond the window; their content lies
// inside it, so it is spread over the part inside only.
ColumnSums SumUnder(const Timeline& timeline, Span window, Span column) {
  ColumnSums sums;
  const double width = static_cast<double>(timeline.bucket_seconds) * kNanosPerSecond;
  const auto count = static_cast<std::int64_t>(timeline.buckets.size());
  // The position of the bucket that holds a time. It may be negative, before the first bucket.
  const auto number = [&](double ns) { return static_cast<std::int64_t>(std::floor(ns / width)) - timeline.first; };
  for (std::int64_t i = std::max<std::int64_t>(0, number(column.from)); i < count && i <= number(column.to); ++i) {
    const double start = static_cast<double>(timeline.first + i) * width;
    const Span bucket = Overlap({start, start + width}, window);
    const double overlap = Overlap(bucket, column).Length();
    if (overlap > 0) sums.Add(timeline.buckets[static_cast<std::size_t>(i)], overlap / bucket.Length());
  }
  return sums;
}

// Whether a busy column looks like spin-wait, by the evidence that decided for the whole device. Without evidence
// nothing is drawn as spin-wait.
bool IsSpinWait(const ColumnSums& sums, const SpinVerdict& spin, const Thresholds& thresholds) {
  switch (spin.evidence) {
    case SpinVerdict::Evidence::kNone:
      return false;
    case SpinVerdict::Evidence::kPower:
      return spin.below_watts && sums.busy_power_ns > 0 &&
             sums.busy_power_area < sums.busy_power_ns * 1000.0 * static_cast<double>(*spin.below_watts);
    case SpinVerdict::Evidence::kActivity:
      return sums.sm_ns > 0 && sums.sm_area < sums.sm_ns * static_cast<double>(thresholds.spin_sm_below);
  }
  return false;
}

// The look of a column. Less than half observed is unobserved: a picture must not show a phase for time that nobody
// saw.
RibbonColumn LookOf(const ColumnSums& sums, double width_ns, const DeviceResult& device, const Thresholds& thresholds) {
  double observed = 0;
  for (const double p : sums.phase) observed += p;
  if (observed == 0 || observed * 2 < width_ns) return {Look::kUnobserved, false};
  RibbonColumn column;
  column.throttled = sums.throttled * 2 >= observed;
  const auto widest = std::max_element(sums.phase.begin(), sums.phase.end()) - sums.phase.begin();
  switch (static_cast<Phase>(widest)) {
    // Idle time is held if a process held the GPU for at least half of it.
    case Phase::kIdle:
      column.look = sums.held * 2 >= sums.phase[0] ? Look::kIdleHeld : Look::kIdleEmpty;
      break;
    case Phase::kUnderutilized:
      column.look = Look::kUnderutilized;
      break;
    case Phase::kProductive:
      column.look = Look::kProductive;
      break;
    case Phase::kComputeBound:
      // The device as a whole must have spin-wait before a column can show it.
      column.look =
          device.spin.time.ns > 0 && IsSpinWait(sums, device.spin, thresholds) ? Look::kSpinWait : Look::kComputeBound;
      break;
  }
  return column;
}

}  // namespace

// Words a look by what the audit knows, so that a legend claims no more than was read.
std::string_view MeaningOf(Look look, const CostReport& cost) {
  const UsageCost& whole = cost.whole;
  if (look == Look::kUnobserved && cost.runs.size() > 1) return "no rows: unobserved, or between runs";
  if (look != Look::kIdleEmpty || whole.idle_unknown_ns == 0) return Info(look).meaning;
  return whole.idle_empty_ns == 0 ? "idle; no data on which process holds the GPU"
                                  : "idle, no process holds the GPU (or unknown)";
}

std::vector<RibbonColumn> RibbonOf(const DeviceResult& device, const Thresholds& thresholds, Instant from, Instant to,
                                   int columns) {
  std::vector<RibbonColumn> ribbon;
  // The column at the edge of a device's window is judged by the part inside it.
  const Span window = {static_cast<double>(device.first.nanos()), static_cast<double>(device.last.nanos())};
  const auto start = static_cast<double>(from.nanos());
  const double width = static_cast<double>((to - from).count()) / columns;
  for (int i = 0; i < columns; ++i) {
    const Span column = Overlap({start + i * width, start + (i + 1) * width}, window);
    ribbon.push_back(LookOf(SumUnder(device.totals.timeline, window, column), column.Length(), device, thresholds));
  }
  return ribbon;
}

}  // namespace idleburn
