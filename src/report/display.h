#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "audit/audit_report.h"
#include "base/money.h"

namespace idleburn {

// Figures of an audit made ready for display. Two things happen here: amounts and times are rounded so that a printed
// column adds up, and figures of devices are merged into one. Every writer takes its figures from here, so two
// formats cannot print different numbers.
//
// Rounding is by largest remainder (docs/money.md, "Rounding"): three parts of $100.00 print as 33.34 + 33.33 +
// 33.33.

// Rounds exact amounts to `unit` nano-units so that they sum to `total`, a multiple of `unit`. If `total` is a cell of
// a larger table, it may differ by a unit from the rounded sum of the amounts. The parts are then split again to fit
// the cell.
std::vector<Money> RoundedTo(Money total, std::span<const Money> exact, std::int64_t unit);
// The same for nanoseconds: RoundedTimes to their own rounded sum, RoundedTimesTo to `total`, which is a rounded cell
// of a larger table.
std::vector<std::int64_t> RoundedTimes(std::span<const std::int64_t> ns, std::int64_t unit);
std::vector<std::int64_t> RoundedTimesTo(std::int64_t total, std::span<const std::int64_t> ns, std::int64_t unit);

// The times of one table in nanoseconds, rounded to a unit: phases + unobserved + unallocated = total. The parts of
// idle and of compute_bound are rounded within their phase, so they add up to the printed phase.
struct HourColumn {
  std::array<std::int64_t, kPhaseCount> phase{};
  std::int64_t idle_held = 0, idle_empty = 0, idle_unknown = 0;  // sum to idle
  std::int64_t spin_wait = 0;                                    // a part of compute_bound
  std::int64_t unobserved = 0;
  std::int64_t unallocated = 0;
  std::int64_t total = 0;
};
// `unit` is in nanoseconds: ViewContext::HourUnit for a table, 1 for exact times.
HourColumn HourColumnOf(const UsageCost& usage, std::int64_t unit);

// Shares of the parts in hundredths of a percent. They sum to 10,000, or are all 0 if all parts are.
std::vector<std::int64_t> SharesOf(std::span<const std::int64_t> parts);
// The shares of the phases in observed time. Absent if nothing was observed.
std::optional<std::array<std::int64_t, kPhaseCount>> PhaseShares(const UsageCost& usage);

// The costs of one table in the currency's minor unit: phases + unobserved + unallocated = total. The parts of idle
// and of compute_bound add up to the printed phase.
struct CostColumn {
  std::array<Money, kPhaseCount> phase{};
  Money idle_held, idle_empty, idle_unknown;  // sum to the cost of idle
  Money spin_wait;                            // a part of compute_bound
  Money unobserved;
  Money unallocated;
  Money total;
  Money waste;  // at most the total; the devices of a table add up to the waste of the whole
};
// The column of the whole run. Absent without a price.
std::optional<CostColumn> CostColumnOf(const CostReport& cost);
// The cost of each finding in the minor unit. Together they are at most the waste that the table shows. Absent for a
// finding without a cost, and for all findings without a price.
std::vector<std::optional<Money>> FindingCosts(const CostReport& cost, std::span<const Finding> findings);
// One column for each of cost.devices, absent for a device without a price. The totals of the devices and the
// unallocated time sum to the whole's total, and no device shows more waste than cost.
std::vector<std::optional<CostColumn>> DeviceCostColumns(const CostReport& cost);

// The classified device behind a priced one; null if it reported nothing, as a board may that only its instances
// report. The pointer lives as long as the report.
const DeviceResult* ResultOf(const AuditReport& report, DeviceId device);
// The counter that decided the phases of a device: "nvml.utilization.gpu". Empty if none did.
std::string CounterOf(const AuditReport& report, DeviceId device);
// The counter of all devices. Empty if none has one, or if they differ.
std::string CommonCounter(const AuditReport& report);
// The counters of all devices, each once, in alphabetical order.
std::vector<std::string> CountersOf(const AuditReport& report);

// How many captures a report of traces holds that are not joined as ranks of one job. 0 if they are joined, or if
// there is only one.
std::size_t CapturesApart(const AuditReport& report);

// The names of the GPUs as their drivers report them, each once, in order of appearance.
std::vector<std::string> GpuNames(const AuditReport& report);
// "2026-07-02T14:00:00Z to 2026-07-02T15:00:00Z". A log without dates has a length only: "no dates: 2 s".
std::string WindowText(const RunResult& run);
// "8 GPUs". Where the run has only a MIG instance, `others` is the part of the board that it does not have: "0.143 of
// 1 GPU".
std::string GpuCount(int gpus, double others);

// "GPU 3"; "node7 GPU 3" if the run has several hosts; "GPU 3 1g.10gb #7" for a MIG instance. Unescaped: names are
// spelled as in the input, and writers escape them.
std::string DeviceLabel(const AuditReport& report, DeviceId device);

// What single published readings show about bursts. The mean over seconds hides them: a GPU that alternates between 0
// and 100 % every half second has a mean of 50 %, and its readings have the pattern "starved".
struct TickView {
  std::int64_t total = 0;
  std::array<double, kPhaseCount>
      shares{};                  // by the band of each; of several GPUs the mean, a board counting as a board
  std::optional<double> error;   // percentage points; see StandardError
  std::int64_t rows = 0;         // rows read, including those that repeat a reading
  std::int64_t independent = 0;  // readings that the exporter collected separately
  bool collection_known = true;  // if false, `independent` is not reliable
  bool coarse = false;           // one stamp carries several readings, which count as their mean
  std::string_view pattern = "cannot_tell";  // steady | starved | cannot_tell
  std::optional<Nanos> window;               // the longest distance between independent readings

  // The share of readings in the band of `p`, 0 to 1. Absent without readings.
  [[nodiscard]] std::optional<double> Share(Phase p) const;
  // B = 4 x (share below 10 %) x (share from 90 %), 0 to 1. B is 1 if half of the readings are at each extreme.
  [[nodiscard]] std::optional<double> BurstIndex() const;
  // The standard error of the mean reading in percentage points: s / sqrt(independent), as if readings were
  // independent. Neighbouring readings resemble each other, so the true error is larger (see stats/). Absent if a GPU
  // has fewer than two independent readings, or if their number is unknown.
  [[nodiscard]] std::optional<double> StandardError() const { return error; }
};
// The view of one device. `thresholds` says which period is fast enough and from which index on a device is starved.
TickView TicksOf(const DeviceResult& device, const Thresholds& thresholds);
// The view of all devices with a cost entry: "starved" if one is, "steady" only if all are.
TickView TicksOf(const AuditReport& report);

// Whether spin-wait could be told from work. The test needs SM activity, or power with known limits.
struct SpinView {
  std::optional<std::int64_t> ns;  // absent if there was compute_bound time and none of it could be told
  std::int64_t unknown_ns = 0;     // compute_bound time that could not be told
  std::int64_t dim_ns = 0;         // compute_bound time at low power that is neither spin-wait nor proven work
  std::string_view
      lacks;  // an id of kSpinLacks: what the test by power lacked; "several" if GPUs differ; empty if nothing
};
// The first form is for one device, scaled to its usage; the second adds up all devices.
SpinView SpinOf(const AuditReport& report, const CostReport::DeviceCost& device);
SpinView SpinOf(const AuditReport& report);

// Unobserved GPU-time by reason, in nanoseconds. For a MIG instance it is scaled to its slices. The reasons sum to
// the unobserved time of the usage exactly.
using UnobservedTimes = std::array<std::int64_t, kUnobservedCount>;
UnobservedTimes UnobservedOf(const AuditReport& report, const CostReport::DeviceCost& device);
UnobservedTimes UnobservedOf(const AuditReport& report);

// GPU-time with each clock-event bit set, in nanoseconds. Absent if no board ever reported the mask. An instance has
// the events of its board, so the sum over devices counts boards only.
using ReasonTimes = std::array<std::int64_t, kEventReasonCount>;
std::optional<ReasonTimes> ReasonsOf(const AuditReport& report, DeviceId device);
std::optional<ReasonTimes> ReasonsOf(const AuditReport& report);
// Whether the cost of throttling is known. It takes readings of the SM clock and its maximum, unless nothing was
// throttled. Without them throttled time is known, but not how much speed it cost.
bool KnowsClockLoss(const AuditReport& report, DeviceId device);
bool KnowsClockLoss(const AuditReport& report);

// The cost per effective GPU-hour, as an interval. `high` counts unobserved time as not busy, `low` as fully busy:
// what nobody observed lies between the two.
struct EffectiveBounds {
  std::optional<Money> low;
  std::optional<Money> high;
};
// The first form covers the GPUs that have a price, the second one device.
EffectiveBounds EffectiveBoundsOf(const CostReport& cost);
EffectiveBounds EffectiveBoundsOf(const CostReport& cost, const CostReport::DeviceCost& device);
// Share of the allocated window that was observed, 0 to 1. Absent for an empty window. Below 95 %, unit costs are
// printed with their bounds.
std::optional<double> ObservedShare(const UsageCost& usage);

// Share of the boards' time for which energy is known, 0 to 1. Absent without energy.
std::optional<double> EnergyCoverage(const UsageCost& usage);

// Why money at this rate is null in JSON: "no_price", "ambiguous_price", or "several_rates" for the rate of a run
// with several.
std::string_view NoMoneyReason(const Rate& rate);

// A part of the bill. The slices are the phases, with idle time split by its holder, spin-wait split off compute_bound,
// and the unobserved and unallocated time. Each GPU-nanosecond is in exactly one slice, so a pie or a bar of slices is
// the whole (docs/money.md, "One bill on a page").
struct BillSlice {
  std::string_view id;    // "idle_held", "compute_bound", "unobserved"
  std::string_view name;  // "idle, held by a process"
  std::int64_t ns = 0;
  std::optional<Money> cost;  // absent without a price
  std::int64_t shown_ns = 0;  // as printed: the slices add up to the printed total
  Money shown_cost;
};

// The slices in the order of the phases. Empty slices are left out, except that each phase keeps one, so that a
// reader sees a zero where a phase did not occur.
std::vector<BillSlice> SlicesOf(const UsageCost& usage, const HourColumn& hours,
                                const std::optional<CostColumn>& costs);

}  // namespace idleburn
