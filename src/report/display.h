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

// Figures of an audit made ready for display: rounded so that what is printed together adds up, and put
// together over devices. Every writer takes them from here, so that no two of them can disagree.

// Money for people: "$16.00", "1,600 JPY".
std::string Amount(Money m, std::string_view currency);
// Exact amounts rounded to `unit` so that they sum to `total`, which is itself rounded (docs/money.md).
std::vector<Money> RoundedTo(Money total, std::span<const Money> exact, std::int64_t unit);
// Nanoseconds rounded to `unit` nanoseconds so that they sum to their rounded total; or to `total`, the rounded cell of
// a larger table that they are the parts of.
std::vector<std::int64_t> RoundedTimes(std::span<const std::int64_t> ns, std::int64_t unit);
std::vector<std::int64_t> RoundedTimesTo(std::int64_t total, std::span<const std::int64_t> ns, std::int64_t unit);

// The times of one table in nanoseconds rounded to `unit`: phases + unobserved + unallocated = total.
struct HourColumn {
  std::array<std::int64_t, kPhaseCount> phase{};
  std::int64_t idle_held = 0, idle_empty = 0, idle_unknown = 0;  // sum to idle
  std::int64_t spin_wait = 0;                                    // of compute_bound
  std::int64_t unobserved = 0;
  std::int64_t unallocated = 0;
  std::int64_t total = 0;
};
HourColumn HourColumnOf(const UsageCost& usage, std::int64_t unit);

// Nano-units in the minor unit of a currency: 10^7 for USD, 10^9 for JPY.
std::int64_t MinorUnit(std::string_view currency);

// Shares of parts in hundredths of a percent, summing to 10,000; all 0 where the parts are.
std::vector<std::int64_t> SharesOf(std::span<const std::int64_t> parts);
// The same of observed time by phase; absent: nothing observed.
std::optional<std::array<std::int64_t, kPhaseCount>> PhaseShares(const UsageCost& usage);

// The costs of one table in the currency's minor unit: phases + unobserved + unallocated = total.
struct CostColumn {
  std::array<Money, kPhaseCount> phase{};
  Money idle_held, idle_empty, idle_unknown;  // sum to the cost of idle
  Money spin_wait;                            // of that of compute_bound
  Money unobserved;
  Money unallocated;
  Money total;
  Money waste;  // at most the total; over the devices of a table its column sums to the whole's
};
// Absent without a price.
std::optional<CostColumn> CostColumnOf(const CostReport& cost);
// The cost of each finding in the currency's minor unit: together at most the waste that the table shows. Absent for a
// finding without a cost.
std::vector<std::optional<Money>> FindingCosts(const CostReport& cost, std::span<const Finding> findings);
// One for each of cost.devices, absent for those without a price; their totals and `unallocated` of the whole sum to
// the whole's total.
std::vector<std::optional<CostColumn>> DeviceCostColumns(const CostReport& cost);

// The classified device behind a priced one; null if it reported nothing.
const DeviceResult* ResultOf(const AuditReport& report, DeviceId device);
// "nvml.utilization.gpu": what decided the phases of a device; empty if nothing did.
std::string CounterOf(const AuditReport& report, DeviceId device);
// The counter of all devices; empty if there is none, or more than one.
std::string CommonCounter(const AuditReport& report);
// All of them, each once.
std::vector<std::string> CountersOf(const AuditReport& report);

// The captures of one report that are not joined as ranks of one job; 0 where they are, or there is one.
std::size_t CapturesApart(const AuditReport& report);

// Names of the GPUs as their drivers say them, each once, in order of appearance.
std::vector<std::string> GpuNames(const AuditReport& report);
// "2026-07-02T14:00:00Z to 2026-07-02T15:00:00Z"; of logs without dates how long the run was: "no dates: 2 s".
std::string WindowText(const RunResult& run);
// "8 GPUs"; "0.14 of 1 GPU" where `others` of them is not the run's.
std::string GpuCount(int gpus, double others);

// "GPU 3", "node7 GPU 3" where the run has several hosts, "GPU 3 1g.10gb #7" of a MIG instance. As the source
// spelled it: writers escape it.
std::string DeviceLabel(const AuditReport& report, DeviceId device);

// What the raw published readings say about bursts.
struct TickView {
  std::int64_t total = 0;
  std::array<double, kPhaseCount>
      shares{};                  // by the band of each; of several GPUs the mean, a board counting as a board
  std::optional<double> error;   // see StandardError
  std::int64_t rows = 0;         // that were read, with those that repeat a reading
  std::int64_t independent = 0;  // readings, each collected for itself
  bool collection_known = true;  // else nobody knows how many are
  bool coarse = false;           // stamps carry several readings, which count as their mean
  std::string_view pattern = "cannot_tell";  // steady | starved | cannot_tell
  std::optional<Nanos> window;               // the coarsest distance of independent readings

  [[nodiscard]] std::optional<double> Share(Phase p) const;
  [[nodiscard]] std::optional<double> BurstIndex() const;  // B = 4 x share below 10 % x share from 90 %
  // Of the mean of the readings, in percentage points, as if each were drawn alone: s / sqrt(independent), of several
  // GPUs that of the mean of their means. Readings share the fate of their neighbours, so what is known is less (see
  // stats/ for that). Absent where a GPU has fewer than two independent readings, or nobody knows how many it has.
  [[nodiscard]] std::optional<double> StandardError() const { return error; }
};
TickView TicksOf(const DeviceResult& device, const Thresholds& thresholds);
// Of all priced devices: starved if one is, steady only if all are.
TickView TicksOf(const AuditReport& report);

// Whether spin-wait could be told from work: it takes SM activity, or power with known limits.
struct SpinView {
  std::optional<std::int64_t> ns;  // absent: there was compute_bound time, and none of it could be told
  std::int64_t unknown_ns = 0;     // compute_bound time that could not be told
  std::int64_t dim_ns = 0;         // compute_bound time at little power that is neither spin-wait nor shown to be work
  std::string_view lacks;          // what power lacked to tell: an id; "several" of several GPUs; empty: nothing
};
SpinView SpinOf(const AuditReport& report, const CostReport::DeviceCost& device);
SpinView SpinOf(const AuditReport& report);

// Unobserved GPU-time by reason, scaled to the usage (of a MIG instance: its slices), summing to it exactly.
using UnobservedTimes = std::array<std::int64_t, kUnobservedCount>;
UnobservedTimes UnobservedOf(const AuditReport& report, const CostReport::DeviceCost& device);
UnobservedTimes UnobservedOf(const AuditReport& report);

// GPU-time with each clock-event bit set; absent if the mask of no board was ever read.
using ReasonTimes = std::array<std::int64_t, kEventReasonCount>;
std::optional<ReasonTimes> ReasonsOf(const AuditReport& report, DeviceId device);
std::optional<ReasonTimes> ReasonsOf(const AuditReport& report);
// Whether it is known what throttling cost: it takes the SM clock and its maximum, unless there was none.
bool KnowsClockLoss(const AuditReport& report, DeviceId device);
bool KnowsClockLoss(const AuditReport& report);

// Cost of allocated time / effective GPU-hours when the unobserved time counts as not busy (high) and as busy (low).
struct EffectiveBounds {
  std::optional<Money> low;
  std::optional<Money> high;
};
EffectiveBounds EffectiveBoundsOf(const CostReport& cost);  // of the GPUs that have a price
EffectiveBounds EffectiveBoundsOf(const CostReport& cost, const CostReport::DeviceCost& device);
// Share of the window that was observed, 0 to 1; absent for an empty window.
std::optional<double> ObservedShare(const UsageCost& usage);

// Share of the boards' time that their energy tells of, 0 to 1; absent without energy, or time.
std::optional<double> EnergyCoverage(const UsageCost& usage);

// Why money of GPUs at this rate is null: "no_price", "ambiguous_price"; of several rates also "several_rates".
std::string_view NoMoneyReason(const Rate& rate);

// A part of the bill. The slices are the phases, with idle time by who held the GPU and spin-wait apart from the rest
// of compute_bound, and what was unobserved or unallocated: each GPU-nanosecond is in one.
struct BillSlice {
  std::string_view id;    // "idle_held", "compute_bound", "unobserved"
  std::string_view name;  // "idle, held by a process"
  std::int64_t ns = 0;
  std::optional<Money> cost;  // absent without a price
  std::int64_t shown_ns = 0;  // as its table shows them: they add up to the table's total
  Money shown_cost;
};

// Those that are not empty, and the four phases in any case; in the order of the phases.
std::vector<BillSlice> SlicesOf(const UsageCost& usage, const HourColumn& hours,
                                const std::optional<CostColumn>& costs);

}  // namespace idleburn
