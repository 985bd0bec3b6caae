#include "report/display.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "base/result.h"
#include "diagnose/findings.h"
#include "diagnose/scene.h"
#include "telemetry/device.h"
#include "telemetry/reading_times.h"
#include "text/figures.h"
#include "text/time_zone.h"

// Makes figures of an audit ready to print. The rounding comes first, then the labels, then what several devices say
// together: bursts, spin-wait, unobserved time, clock events.
//
// Rounding goes from the outside in. The total is rounded by itself, its parts are rounded to that total, and the parts
// of a part to the part as printed. Rounding each cell by itself was rejected: 33.33 three times is not 100.00, and
// readers check sums before they trust anything else (docs/money.md, "Rounding").
//
// Merging keeps ignorance. If one GPU's figure is unknown, a sum over all GPUs says so, or is absent, and never counts
// the unknown as zero.

namespace idleburn {
namespace {

// A device is starved if its readings alternate between both extremes in blocks that cover this share of observed
// time.
constexpr std::int64_t kStarvedBlocksPercent = 3;

// Money has no operators for sums that may overflow. Parts of a bill that was checked cannot overflow, so these two
// add and subtract directly.
Money Sum(std::span<const Money> parts) {
  return std::accumulate(parts.begin(), parts.end(), Money(),
                         [](Money sum, Money m) { return Money::Nano(sum.nano() + m.nano()); });
}

// The difference may be negative.
Money Minus(Money a, Money b) { return Money::Nano(a.nano() - b.nano()); }

// A total rounded for itself. The columns below it are rounded to this.
Money RoundedTotal(Money exact, std::int64_t unit) { return RoundedTo(exact, std::array{exact}, unit).front(); }

// Rounds one table column from the outside in: total, then phases, then the parts of idle and of compute_bound. Each
// level sums to the printed cell above it.
CostColumn ColumnOf(const UsageCost& usage, Money total, Money waste, std::int64_t unit) {
  std::vector<Money> exact;
  for (const std::optional<Money>& cost : usage.phase_cost) exact.push_back(cost.value_or(Money()));
  exact.push_back(usage.unobserved_cost.value_or(Money()));
  exact.push_back(usage.unallocated_cost.value_or(Money()));
  const std::vector<Money> rounded = RoundedTo(total, exact, unit);
  CostColumn column;
  std::copy_n(rounded.begin(), kPhaseCount, column.phase.begin());
  const std::array idle = {usage.idle_held_cost.value_or(Money()), usage.idle_empty_cost.value_or(Money()),
                           usage.idle_unknown_cost.value_or(Money())};
  const std::vector<Money> by_holder = RoundedTo(column.phase.front(), idle, unit);
  column.idle_held = by_holder[0];
  column.idle_empty = by_holder[1];
  column.idle_unknown = by_holder[2];
  // Spin-wait and the rest of compute_bound are rounded together, so that the rest is not negative.
  const Money spin = usage.spin_wait_cost.value_or(Money());
  const std::array bound = {spin, Minus(exact[kPhaseCount - 1], spin)};
  column.spin_wait = RoundedTo(column.phase.back(), bound, unit).front();
  column.unobserved = rounded[kPhaseCount];
  column.unallocated = rounded[kPhaseCount + 1];
  column.total = total;
  column.waste = waste;
  return column;
}

// Amounts of several devices, exact and as shown. `shown` is `exact` rounded to the minor unit as one column.
struct Amounts {
  std::vector<Money> exact;
  std::vector<Money> shown;
  // Nano-units that rounding took from device i; negative if it gave some.
  [[nodiscard]] std::int64_t Taken(std::size_t i) const { return Minus(exact[i], shown[i]).nano(); }
};

// Moves units so that no device shows more waste than cost. Both columns are rounded on their own, so a device that
// only wasted may show $0.02 waste and $0.01 cost. A unit of waste then moves to the device with room where rounding
// took most waste. If rounding took no waste from a device with room, a unit of cost comes from the device with room
// where rounding gave most. Both sums stay unchanged.
void KeepWasteWithinCost(std::int64_t unit, Amounts* totals, Amounts* wastes) {
  const auto room = [&](std::size_t i) { return wastes->shown[i] < totals->shown[i]; };
  const auto add = [](Money* m, std::int64_t nano) { *m = Money::Nano(m->nano() + nano); };
  const std::size_t n = totals->shown.size();
  for (std::size_t i = 0; i < n; ++i) {
    while (totals->shown[i] < wastes->shown[i]) {
      std::size_t next = n;
      std::size_t giver = n;
      for (std::size_t j = 0; j < n; ++j) {
        if (!room(j)) continue;
        if (wastes->Taken(j) > 0 && (next == n || wastes->Taken(j) > wastes->Taken(next))) next = j;
        if (giver == n || totals->Taken(j) < totals->Taken(giver)) giver = j;
      }
      if (next < n) {
        add(&wastes->shown[i], -unit);
        add(&wastes->shown[next], unit);
      } else if (giver < n) {
        add(&totals->shown[giver], -unit);
        add(&totals->shown[i], unit);
      } else {
        // No device can give or take a unit: the columns stay as they are.
        return;
      }
    }
  }
}

// Times are rounded by the same code as amounts: a nanosecond stands for a nano-unit.
std::vector<Money> AsMoney(std::span<const std::int64_t> ns) {
  std::vector<Money> amounts;
  for (const std::int64_t n : ns) amounts.push_back(Money::Nano(n));
  return amounts;
}

// Splits `whole` in proportion to `weights` by largest remainder. If all weights are zero there is no proportion, and
// all parts are zero.
std::vector<std::int64_t> SplitWhole(std::int64_t whole, std::span<const std::int64_t> weights) {
  const Result<std::vector<Money>> parts = Split(Money::Nano(whole), weights);
  std::vector<std::int64_t> out(weights.size(), 0);
  if (parts) std::transform(parts->begin(), parts->end(), out.begin(), [](Money m) { return m.nano(); });
  return out;
}

}  // namespace

// Usually no second split is needed: the amounts round to the wanted total by themselves.
std::vector<Money> RoundedTo(Money total, std::span<const Money> exact, std::int64_t unit) {
  if (Result<std::vector<Money>> column = RoundColumn(exact, unit)) {
    // A cell of a larger table may differ by one unit from its own rounding. The parts are then split again to fit
    // the cell.
    const std::int64_t off = total.nano() - Sum(*column).nano();
    if (std::llabs(off) < unit) return *std::move(column);
  }
  std::vector<std::int64_t> weights;
  for (const Money m : exact) weights.push_back(std::max<std::int64_t>(0, m.nano()));
  const Result<std::vector<Money>> split = Split(total, weights, unit);
  return split ? *split : std::vector<Money>(exact.begin(), exact.end());
}

// Times pass through the functions for money, which round integers exactly.
std::vector<std::int64_t> RoundedTimes(std::span<const std::int64_t> ns, std::int64_t unit) {
  std::vector<std::int64_t> out(ns.begin(), ns.end());
  const Result<std::vector<Money>> rounded = RoundColumn(AsMoney(ns), unit);
  if (rounded) std::transform(rounded->begin(), rounded->end(), out.begin(), [](Money m) { return m.nano(); });
  return out;
}

std::vector<std::int64_t> RoundedTimesTo(std::int64_t total, std::span<const std::int64_t> ns, std::int64_t unit) {
  const std::vector<Money> rounded = RoundedTo(Money::Nano(total), AsMoney(ns), unit);
  std::vector<std::int64_t> out(ns.size());
  std::transform(rounded.begin(), rounded.end(), out.begin(), [](Money m) { return m.nano(); });
  return out;
}

HourColumn HourColumnOf(const UsageCost& usage, std::int64_t unit) {
  std::array<std::int64_t, kPhaseCount + 2> exact{};
  std::copy(usage.phase_ns.begin(), usage.phase_ns.end(), exact.begin());
  exact[kPhaseCount] = usage.unobserved_ns;
  exact[kPhaseCount + 1] = usage.unallocated_ns;
  const std::vector<std::int64_t> rounded = RoundedTimes(exact, unit);
  HourColumn column;
  std::copy_n(rounded.begin(), kPhaseCount, column.phase.begin());
  column.unobserved = rounded[kPhaseCount];
  column.unallocated = rounded[kPhaseCount + 1];
  column.total = std::accumulate(rounded.begin(), rounded.end(), std::int64_t{0});
  const std::array<std::int64_t, 3> idle = {usage.idle_held_ns, usage.idle_empty_ns, usage.idle_unknown_ns};
  const std::vector<std::int64_t> parts = RoundedTimesTo(column.phase[0], idle, unit);
  column.idle_held = parts[0];
  column.idle_empty = parts[1];
  column.idle_unknown = parts[2];
  const std::array<std::int64_t, 2> bound = {usage.spin_wait_ns, usage.phase_ns.back() - usage.spin_wait_ns};
  column.spin_wait = RoundedTimesTo(column.phase.back(), bound, unit).front();
  return column;
}

std::vector<std::int64_t> SharesOf(std::span<const std::int64_t> parts) { return SplitWhole(10'000, parts); }

std::optional<std::array<std::int64_t, kPhaseCount>> PhaseShares(const UsageCost& usage) {
  if (usage.observed_ns == 0) return std::nullopt;
  const std::vector<std::int64_t> parts = SharesOf(usage.phase_ns);
  std::array<std::int64_t, kPhaseCount> shares{};
  std::copy_n(parts.begin(), kPhaseCount, shares.begin());
  return shares;
}

std::optional<CostColumn> CostColumnOf(const CostReport& cost) {
  if (!cost.whole.total) return std::nullopt;
  const std::int64_t unit = MinorUnit(cost.rate.currency);
  // Waste is no part of the column's sum: it lies across the phases.
  const Money waste = RoundedTotal(cost.whole.waste.value_or(Money()), unit);
  return ColumnOf(cost.whole, RoundedTotal(*cost.whole.total, unit), waste, unit);
}

// The unexplained rest takes part in the rounding. Without it, findings would round up to more than the waste.
std::vector<std::optional<Money>> FindingCosts(const CostReport& cost, std::span<const Finding> findings) {
  std::vector<std::optional<Money>> shown(findings.size());
  if (!cost.whole.waste) return shown;
  const std::int64_t unit = MinorUnit(cost.rate.currency);
  std::vector<Money> exact;
  for (const Finding& f : findings) exact.push_back(f.cost.value_or(Money()));
  exact.push_back(Minus(*cost.whole.waste, Sum(exact)));  // what no finding explains
  const std::vector<Money> rounded = RoundedTo(RoundedTotal(*cost.whole.waste, unit), exact, unit);
  for (std::size_t i = 0; i < findings.size(); ++i) {
    if (findings[i].cost) shown[i] = rounded[i];
  }
  return shown;
}

// Rounds total and waste over the devices first, then the column of each device to its printed total. Time that no
// device has takes part as one more row.
std::vector<std::optional<CostColumn>> DeviceCostColumns(const CostReport& cost) {
  std::vector<std::optional<CostColumn>> columns(cost.devices.size());
  if (!cost.whole.total) return columns;
  const std::int64_t unit = MinorUnit(cost.rate.currency);
  const auto share_out = [&](std::optional<Money> UsageCost::*amount) {
    const Money whole = (cost.whole.*amount).value_or(Money());
    std::vector<Money> parts;
    for (const CostReport::DeviceCost& d : cost.devices) parts.push_back((d.usage.*amount).value_or(Money()));
    parts.push_back(Minus(whole, Sum(parts)));  // what no device has
    std::vector<Money> shown = RoundedTo(RoundedTotal(whole, unit), parts, unit);
    return Amounts{std::move(parts), std::move(shown)};
  };
  Amounts totals = share_out(&UsageCost::total);
  Amounts wastes = share_out(&UsageCost::waste);
  KeepWasteWithinCost(unit, &totals, &wastes);
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const UsageCost& usage = cost.devices[i].usage;
    if (usage.total) columns[i] = ColumnOf(usage, totals.shown[i], wastes.shown[i], unit);
  }
  return columns;
}

const DeviceResult* ResultOf(const AuditReport& report, DeviceId device) { return report.run.Of(device); }

// A counter without a name from its source has the name of the signal, so that a report never says "unknown counter"
// for a known signal.
std::string CounterOf(const AuditReport& report, DeviceId device) {
  // A counter without a name from its source has the name of the signal.
  const DeviceResult* result = ResultOf(report, device);
  if (result == nullptr || !result->counter) return {};
  const std::string& named = (*report.devices)[device].counter[Index(*result->counter)];
  return named.empty() ? std::string(Info(*result->counter).name) : named;
}

std::vector<std::string> CountersOf(const AuditReport& report) {
  std::set<std::string> counters;
  for (const CostReport::DeviceCost& d : report.cost.devices) counters.insert(CounterOf(report, d.device));
  // A device that reported nothing has no counter.
  counters.erase("");
  return {counters.begin(), counters.end()};
}

std::string CommonCounter(const AuditReport& report) {
  const std::vector<std::string> counters = CountersOf(report);
  return counters.size() == 1 ? counters.front() : std::string();
}

// Counted by profile, because one file may have several GPUs.
std::size_t CapturesApart(const AuditReport& report) {
  if (!report.traced_only || !report.trace || report.trace->apart.empty()) return 0;
  std::set<std::size_t> profiles;
  for (const DeviceDiagnosis& d : report.trace->devices) profiles.insert(d.profile);
  return profiles.size() > 1 ? profiles.size() : 0;
}

std::vector<std::string> GpuNames(const AuditReport& report) {
  std::vector<std::string> names;
  for (const CostReport::DeviceCost& d : report.cost.devices) {
    const std::string& name = (*report.devices)[d.device].name;
    if (!name.empty() && std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  return names;
}

// Seconds since 1970 of such a log would print as a date in the year 1970.
std::string WindowText(const RunResult& run) {
  if (IsDated(run.start)) return FormatRfc3339(run.start) + " to " + FormatRfc3339(run.end);
  return "no dates: " + DurationForPeople(run.end - run.start);
}

std::string GpuCount(int gpus, double others) {
  std::string text = std::to_string(gpus) + (gpus == 1 ? " GPU" : " GPUs");
  return others > 0 ? ThreeDigits(gpus - others) + " of " + text : text;
}

std::string DeviceLabel(const AuditReport& report, DeviceId device) {
  CHECK(report.devices != nullptr);
  return DeviceLabel(*report.devices, device);
}

std::optional<double> TickView::Share(Phase p) const {
  if (total == 0) return std::nullopt;
  return shares[static_cast<std::size_t>(p)];
}

std::optional<double> TickView::BurstIndex() const {
  if (total == 0) return std::nullopt;
  return 4 * *Share(Phase::kIdle) * *Share(Phase::kComputeBound);
}

namespace {

// The standard error of the mean reading, in percentage points. `total` readings were read, and `independent` of them
// were collected separately. Repeated readings add no information, so the error divides by the independent ones.
std::optional<double> TickError(const DeviceTotals& totals, std::int64_t total, std::int64_t independent) {
  if (independent < 2) return std::nullopt;
  const auto n = static_cast<double>(total);
  // n * squares - sum * sum is exact in integers. In doubles it would vanish for readings that hardly differ.
  const Int128 sum = totals.tick_sum;
  const double variance = static_cast<double>(total * totals.tick_squares - sum * sum) / n / (n - 1);
  return std::sqrt(variance / static_cast<double>(independent)) * static_cast<double>(kTickUnit) /
         static_cast<double>(kPercent);
}

}  // namespace

TickView TicksOf(const DeviceResult& device, const Thresholds& thresholds) {
  TickView view;
  const auto& ticks = device.totals.ticks;
  view.total = std::accumulate(ticks.begin(), ticks.end(), std::int64_t{0});
  for (std::size_t p = 0; p < kPhaseCount && view.total > 0; ++p) {
    view.shares[p] = static_cast<double>(ticks[p]) / static_cast<double>(view.total);
  }
  // If stamps are coarser than readings, duplicates of a stamp are rows too.
  view.coarse = device.totals.RowsPerStamp().has_value();
  view.rows = device.totals.samples + (view.coarse ? device.totals.duplicates : 0);
  // An exporter that is scraped more often than it collects repeats readings.
  view.independent = view.total / device.collection.scrapes;
  view.collection_known = device.collection.known != Collection::Known::kConstant;
  if (view.collection_known) view.error = TickError(device.totals, view.total, view.independent);
  // A counter that is polled fast and hardly changes has no known distance between readings. Bursts may still show,
  // but their absence proves nothing, so the pattern is then "starved" or "cannot_tell", never "steady".
  view.window = device.tick_window || device.fast ? device.tick_window : device.period;
  // Readings that are coarse, of unknown distance or slow cannot show a burst.
  if (view.total == 0 || view.coarse || (!view.window && !device.fast)) return view;
  if (view.window && *view.window > thresholds.fast_period) return view;
  // Two tests, because bursts may fill the whole run or only a part of it.
  const Int128 observed = std::accumulate(device.totals.phase_ns.begin(), device.totals.phase_ns.end(), Int128{0});
  const bool in_blocks = device.totals.burst.ns > 0 &&
                         static_cast<Int128>(device.totals.burst.ns) * 100 >= observed * kStarvedBlocksPercent;
  // The burst index of the whole run, beside the test by blocks.
  const bool overall = *view.BurstIndex() * 100 > static_cast<double>(thresholds.burst_percent);
  view.pattern = in_blocks || overall ? "starved" : view.window ? "steady" : "cannot_tell";
  return view;
}

// Shares and the error are means over GPUs, weighted by the part of a board, not by the number of readings. A GPU
// that is read ten times as often says no more about the run.
TickView TicksOf(const AuditReport& report) {
  TickView all;
  bool starved = false;
  bool steady = true;
  bool told = true;
  double weights = 0;
  double squares = 0;
  for (const CostReport::DeviceCost& d : report.cost.devices) {
    const DeviceResult* result = ResultOf(report, d.device);
    if (result == nullptr) continue;
    const TickView one = TicksOf(*result, report.thresholds);
    all.total += one.total;
    all.rows += one.rows;
    all.independent += one.independent;
    all.coarse = all.coarse || one.coarse;
    all.collection_known = all.collection_known && one.collection_known;
    if (one.window && (!all.window || *one.window > *all.window)) all.window = one.window;
    starved = starved || one.pattern == "starved";
    steady = steady && one.pattern == "steady";
    if (one.total == 0) continue;
    weights += d.gpu_share;
    for (std::size_t p = 0; p < kPhaseCount; ++p) all.shares[p] += d.gpu_share * one.shares[p];
    told = told && one.error.has_value();
    squares += d.gpu_share * d.gpu_share * one.error.value_or(0) * one.error.value_or(0);
  }
  for (double& share : all.shares) share /= weights > 0 ? weights : 1;
  if (told && weights > 0) all.error = std::sqrt(squares) / weights;
  all.pattern = starved ? "starved" : steady && all.total > 0 ? "steady" : "cannot_tell";
  return all;
}

namespace {

// Scales a part of the time as read to the usage: `part` of `read` becomes the same share of `whole`. Both differ for
// a MIG instance, whose usage counts by slices.
std::int64_t Scaled(std::int64_t whole, std::int64_t part, std::int64_t read) {
  return static_cast<std::int64_t>(DivHalfEven(static_cast<Int128>(whole) * part, read));
}

}  // namespace

SpinView SpinOf(const AuditReport& report, const CostReport::DeviceCost& device) {
  const std::int64_t bound = device.usage.phase_ns[kBoundPhase];
  const DeviceResult* result = ResultOf(report, device.device);
  SpinView view;
  view.unknown_ns = bound;
  if (bound == 0) {
    view.ns = device.usage.spin_wait_ns;
    return view;
  }
  // Where the test could be made, whether or not it found spin-wait. High SM activity proves work, so low power means
  // nothing then.
  if (const std::int64_t read = result == nullptr ? 0 : result->totals.phase_ns[3]; read > 0) {
    const bool computes = BusySmActivity(result->totals).value_or(0) >= kSmCompute;
    view.unknown_ns = Scaled(bound, read - result->spin.ToldNs(result->totals), read);
    view.dim_ns = computes ? 0 : Scaled(bound, std::min(result->spin.dim_ns, read - result->spin.time.ns), read);
  }
  if (view.unknown_ns < bound) view.ns = device.usage.spin_wait_ns;
  if (view.unknown_ns > 0 && result != nullptr) view.lacks = kSpinLacks[static_cast<std::size_t>(result->spin.lacks)];
  return view;
}

SpinView SpinOf(const AuditReport& report) {
  SpinView all;
  std::int64_t told_ns = 0;
  bool told = report.cost.devices.empty();
  for (const CostReport::DeviceCost& d : report.cost.devices) {
    const SpinView one = SpinOf(report, d);
    all.unknown_ns += one.unknown_ns;
    all.dim_ns += one.dim_ns;
    if (!one.lacks.empty()) all.lacks = all.lacks.empty() || all.lacks == one.lacks ? one.lacks : "several";
    told_ns += one.ns.value_or(0);
    told = told || (one.ns && d.usage.phase_ns[kBoundPhase] > 0);
  }
  if (told || all.unknown_ns == 0) all.ns = told_ns;
  return all;
}

UnobservedTimes UnobservedOf(const AuditReport& report, const CostReport::DeviceCost& device) {
  UnobservedTimes times{};
  const DeviceResult* result = ResultOf(report, device.device);
  if (result == nullptr) return times;
  const std::vector<std::int64_t> parts = SplitWhole(device.usage.unobserved_ns, result->totals.unobserved_ns);
  std::copy_n(parts.begin(), kUnobservedCount, times.begin());
  return times;
}

// The sum is exact, because the parts of each device are.
UnobservedTimes UnobservedOf(const AuditReport& report) {
  UnobservedTimes all{};
  for (const CostReport::DeviceCost& d : report.cost.devices) {
    const UnobservedTimes one = UnobservedOf(report, d);
    for (std::size_t i = 0; i < kUnobservedCount; ++i) all[i] += one[i];
  }
  return all;
}

std::optional<ReasonTimes> ReasonsOf(const AuditReport& report, DeviceId device) {
  // Clock events belong to the board; an instance looks them up there.
  const DeviceId home = report.devices->Home(device, Signal::kEventReasons);
  const DeviceResult* result = ResultOf(report, home);
  if (result == nullptr || result->totals.reasons_ns == 0) return std::nullopt;
  return result->totals.reason_ns;
}

std::optional<ReasonTimes> ReasonsOf(const AuditReport& report) {
  std::optional<ReasonTimes> all;
  for (const DeviceResult& d : report.run.devices) {
    // An instance repeats the events of its board. They count once.
    if (report.devices->Home(d.device, Signal::kEventReasons) != d.device) continue;
    const std::optional<ReasonTimes> one = ReasonsOf(report, d.device);
    if (!one) continue;
    if (!all) all.emplace();
    for (std::size_t i = 0; i < kEventReasonCount; ++i) (*all)[i] += (*one)[i];
  }
  return all;
}

bool KnowsClockLoss(const AuditReport& report, DeviceId device) {
  const DeviceResult* result = ResultOf(report, report.devices->Home(device, Signal::kEventReasons));
  return result == nullptr || result->totals.throttled_told_ns > 0 || result->totals.throttled_untold_ns == 0;
}

bool KnowsClockLoss(const AuditReport& report) {
  std::int64_t told = 0;
  std::int64_t untold = 0;
  for (const DeviceResult& d : report.run.devices) {
    told += d.totals.throttled_told_ns;
    untold += d.totals.throttled_untold_ns;
  }
  return told > 0 || untold == 0;
}

namespace {

// GPUs without a price are in neither the money nor the hours. Both bounds have the same cost above the line. The more
// of the time was busy, the cheaper was an effective hour, so `low` counts unobserved time as busy.
EffectiveBounds BoundsOf(Int128 rate_times_allocated, const UsageCost& usage) {
  const auto per_hour = [&](double effective_ns) -> std::optional<Money> {
    if (!usage.total) return std::nullopt;
    return PerEffectiveHour(rate_times_allocated, std::llround(effective_ns));
  };
  const double effective = usage.effective_ns - usage.unpriced.effective_ns;
  const std::int64_t unobserved = usage.unobserved_ns - usage.unpriced.unobserved_ns;
  return {per_hour(effective + static_cast<double>(unobserved)), per_hour(effective)};
}

}  // namespace

EffectiveBounds EffectiveBoundsOf(const CostReport& cost) { return BoundsOf(RateTimesAllocated(cost), cost.whole); }

EffectiveBounds EffectiveBoundsOf(const CostReport& cost, const CostReport::DeviceCost& device) {
  return BoundsOf(RateTimesAllocated(cost, device), device.usage);
}

std::optional<double> ObservedShare(const UsageCost& usage) {
  const std::int64_t allocated = usage.observed_ns + usage.unobserved_ns;
  if (allocated == 0) return std::nullopt;
  return static_cast<double>(usage.observed_ns) / static_cast<double>(allocated);
}

// Above 95 % the energy is taken as complete (EnergyBasis in report/view_context.h).
std::optional<double> EnergyCoverage(const UsageCost& usage) {
  if (!usage.energy_kwh || usage.energy_window_ns == 0) return std::nullopt;
  return static_cast<double>(usage.energy_ns) / static_cast<double>(usage.energy_window_ns);
}

std::string_view NoMoneyReason(const Rate& rate) {
  return rate.reason.empty() ? std::string_view("no_price") : std::string_view(rate.reason);
}

namespace {

// The part may be absent where the whole has a cost: it then takes nothing off.
std::optional<Money> Less(const std::optional<Money>& whole, const std::optional<Money>& part) {
  return whole ? std::optional(Money::Nano(whole->nano() - part.value_or(Money()).nano())) : std::nullopt;
}

}  // namespace

// The slices in the order of the phases. All idle slices may be empty; then one row "idle" of 0 stays, because a
// missing phase would look like an error of the report.
std::vector<BillSlice> SlicesOf(const UsageCost& u, const HourColumn& hours, const std::optional<CostColumn>& costs) {
  // Zeros without a price. Writers look at `cost` first, which is then absent.
  const CostColumn k = costs.value_or(CostColumn());
  const BillSlice idle[] = {
      {"idle_held", "idle, held by a process", u.idle_held_ns, u.idle_held_cost, hours.idle_held, k.idle_held},
      {"idle_empty", "idle, no process", u.idle_empty_ns, u.idle_empty_cost, hours.idle_empty, k.idle_empty},
      {"idle_unknown", "idle, holder unknown", u.idle_unknown_ns, u.idle_unknown_cost, hours.idle_unknown,
       k.idle_unknown}};
  const BillSlice bound = {kPhaseNames[kBoundPhase],
                           u.spin_wait_ns > 0 ? "compute_bound, without spin-wait" : kPhaseNames[kBoundPhase],
                           u.phase_ns[kBoundPhase] - u.spin_wait_ns,
                           Less(u.phase_cost[kBoundPhase], u.spin_wait_cost),
                           hours.phase[kBoundPhase] - hours.spin_wait,
                           Money::Nano(k.phase[kBoundPhase].nano() - k.spin_wait.nano())};
  const BillSlice rest[] = {
      {"spin_wait", "compute_bound, spin-wait", u.spin_wait_ns, u.spin_wait_cost, hours.spin_wait, k.spin_wait},
      {"unobserved", "unobserved", u.unobserved_ns, u.unobserved_cost, hours.unobserved, k.unobserved},
      {"unallocated", "unallocated MIG slices", u.unallocated_ns, u.unallocated_cost, hours.unallocated,
       k.unallocated}};
  std::vector<BillSlice> slices;
  for (const BillSlice& slice : idle) {
    if (slice.ns > 0) slices.push_back(slice);
  }
  if (slices.empty()) slices.push_back({kPhaseNames[0], kPhaseNames[0], 0, u.phase_cost[0], 0, k.phase[0]});
  for (std::size_t p = 1; p < kBoundPhase; ++p) {
    slices.push_back({kPhaseNames[p], kPhaseNames[p], u.phase_ns[p], u.phase_cost[p], hours.phase[p], k.phase[p]});
  }
  slices.push_back(bound);
  for (const BillSlice& slice : rest) {
    if (slice.ns > 0) slices.push_back(slice);
  }
  return slices;
}

}  // namespace idleburn
