#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/money.h"
#include "base/result.h"
#include "base/run_ids.h"
#include "fleet/allocation_report.h"
#include "fleet/engine.h"
#include "fleet/fleet_waster.h"
#include "fleet/gpu_findings.h"
#include "fleet/panel_answers.h"

// The answer of `idleburn fleet`, computed once and printed by report/fleet_output.h. Times are integer
// GPU-milliseconds, moments are Unix seconds.
namespace idleburn {

inline constexpr std::size_t kFleetPhaseCount = 5;
inline constexpr std::array<std::string_view, kFleetPhaseCount> kFleetPhaseNames = {
    "idle", "underutilized", "productive", "compute_bound", "unobserved"};
inline constexpr std::size_t kFleetUnobserved = 4;
inline constexpr std::int64_t kNanosPerMs = 1'000'000;
inline constexpr std::int64_t kMsPerGpuHour = 3'600'000;
inline double GpuHoursOf(std::int64_t ms) { return static_cast<double>(ms) / static_cast<double>(kMsPerGpuHour); }

// What stands in the place of an owner's name.
inline constexpr const char* kFleetUnallocated = "_unallocated";  // no job held the GPU
inline constexpr const char* kFleetUnknown = "_unknown";          // no owner is known
inline constexpr const char* kFleetOther = "_other";              // more owners than an agent counts

// GPU-milliseconds by phase. Additive.
using PhaseMs = std::array<std::int64_t, kFleetPhaseCount>;

// GPU time by phase. The phases sum to the whole.
struct FleetTime {
  PhaseMs phases{};
  std::int64_t reset_ms = 0;  // the part of unobserved that the agents lost (deficits)

  [[nodiscard]] std::int64_t TotalMs() const;
  [[nodiscard]] std::int64_t ObservedMs() const { return TotalMs() - phases[kFleetUnobserved]; }
  void Add(const FleetTime& other);
};

// Bounds of the GPU time that was waste, 1 - utilization of what was observed. Agents count the time in each band of
// utilization, so a band bounds it: 90 to 100 % of idle time, 30 to 90 % of underutilized time, 10 to 30 % of
// productive time, 0 to 10 % of compute-bound time (thresholds 10, 70 and 90 %).
struct WasteBounds {
  std::int64_t low_ms = 0;
  std::int64_t high_ms = 0;
};
WasteBounds WasteOf(const FleetTime& time);

// Money beside a time. Absent without a price.
struct FleetCost {
  std::optional<Money> total;
  std::optional<Money> waste;       // at least
  std::optional<Money> waste_high;  // at most
};

// The cost of a time, with the bounds of its waste. Fails if an amount is more than Money holds.
Result<FleetCost> PricedCost(const FleetTime& time, Money total);

// One team, user, job or experiment.
struct FleetOwner {
  std::string name;  // or kFleetUnallocated, kFleetUnknown, kFleetOther
  FleetTime time;
  FleetCost cost;
  std::optional<double> mean_utilization;  // 0 to 1; absent where only bands are known
  // Of a job.
  std::string team = {};
  std::string user = {};
  std::string experiment = {};
  std::string cluster = {};
  std::vector<std::string> nodes = {};
};

// One GPU.
struct FleetGpu {
  std::string uuid;
  std::string node;
  std::string model;  // empty: not told
  FleetTime time;
  FleetCost cost;
};

// Time of a GPU that its agent lost, or in which the GPU was removed. Counters at hours do not tell the two apart.
struct FleetDeficit {
  std::string uuid;
  std::string node;
  std::int64_t hour = 0;  // begin of the hour or span
  std::int64_t ms = 0;
  std::string reason;  // "reset"
};

// How far figures from a scraped gauge may be off (docs/fleet.md).
struct FleetError {
  std::string counter;
  std::int64_t interval_s = 0;
  std::int64_t samples = 0;
  double half_width = 0;  // of the mean utilization, 0 to 1, at 95 %
  std::string sentence;
};

// What a reader must know about the data.
struct FleetDoubt {
  std::string id;
  std::int64_t count = 0;
  std::string severity;  // "info", "warn", "error"
  std::string sentence;
};

struct FleetQueueWait {
  std::int64_t jobs = 0;
  std::int64_t p50_s = 0;
  std::int64_t p95_s = 0;
  std::vector<std::pair<std::int64_t, std::int64_t>> histogram;  // up to so many seconds: jobs; the last is -1: more
};

struct FleetKpi {
  std::optional<double> utilization_1h;  // 0 to 1
  std::optional<double> utilization_24h;
  std::vector<std::pair<std::int64_t, std::int64_t>> idle_ms_per_day;  // begin of the UTC day, GPU-milliseconds
  std::optional<FleetQueueWait> queue_wait;
  std::vector<std::pair<std::string, std::int64_t>> ended_ms;  // how jobs ended ("failed"): their GPU-milliseconds
};

// One week, or the part of it that lies in the window (fleet/fleet_trends.h).
struct FleetWeek {
  std::int64_t from = 0;
  std::int64_t to = 0;
  std::string name;      // "2026-W10"
  bool partial = false;  // the window or what was counted covers only a part
  std::int64_t gpus = 0;
  FleetTime time;
  FleetCost cost;
  std::vector<FleetOwner> teams;
};

struct FleetReport {
  RunIds ids = {};
  EngineFacts engine;
  std::int64_t from = 0;
  std::int64_t to = 0;
  std::optional<std::int64_t> closed_through;  // the newest hour edge that was read
  std::int64_t open_hours = 0;                 // of the window, not closed yet
  std::vector<FleetGpu> gpus;
  FleetTime whole;
  FleetTime unallocated;
  std::string currency = "USD";
  std::string rate_source;       // "--price 2.5"; empty: no price
  FleetCost cost;                // of the GPUs with a price
  std::int64_t unpriced_ms = 0;  // of GPUs without a price, in no cost; all time without any price
  std::optional<Money> unallocated_cost;
  std::vector<FleetOwner> teams;
  std::vector<FleetOwner> users;
  std::vector<FleetOwner> jobs;
  std::vector<FleetOwner> experiments;
  std::vector<FleetDeficit> deficits;
  std::vector<FleetWaster> wasters;
  FleetKpi kpi;
  std::optional<FleetAllocation> allocation;  // of a cluster without agents; absent: nothing tells it
  bool exact = true;                          // every figure comes from closed counters
  std::vector<FleetError> errors;
  std::vector<FleetDoubt> doubts;
  std::vector<FleetWeek> weeks;
  // From live counters and hours by node; absent unless asked for (docs/fleet-gpus.md).
  std::optional<FleetGpuUse> gpu_use;
  std::optional<FleetEnergy> energy;
  std::optional<FleetRightSizing> right_sizing;
  std::optional<FleetPacking> packing;
  std::vector<PanelAnswer> panels;  // of hardware, hosts and agents, for a page that draws them
};

// GPU time that remains of all GPUs, step by step.
struct FleetFunnel {
  std::int64_t total_ms = 0;
  std::int64_t allocated_ms = 0;  // an owner held the GPU
  std::int64_t active_ms = 0;     // of that: neither idle nor without data
  std::int64_t effective_ms = 0;  // of that: productive and compute-bound, less the spin-wait that was counted
};
FleetFunnel FunnelOf(const FleetReport& report);

}  // namespace idleburn
