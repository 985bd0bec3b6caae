#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/billing.h"
#include "base/int128.h"
#include "base/result.h"
#include "classify/totals.h"
#include "price/rate_card.h"
#include "price/work.h"
#include "telemetry/device.h"

namespace idleburn {

// What one device, or the whole run, held, used and cost. Times are GPU-nanoseconds: a MIG instance counts by
// its share of the board's compute slices, split by largest remainder, so that every sum is exact.
struct UsageCost {
  std::int64_t window_ns = 0;  // = observed + unobserved + unallocated
  std::int64_t observed_ns = 0;
  std::int64_t unobserved_ns = 0;
  std::int64_t unallocated_ns = 0;  // slices of a MIG board that no instance has
  std::array<std::int64_t, kPhaseCount> phase_ns{};
  std::int64_t idle_held_ns = 0;
  std::int64_t idle_empty_ns = 0;
  std::int64_t idle_unknown_ns = 0;
  std::int64_t spin_wait_ns = 0;
  std::int64_t throttled_ns = 0;
  std::int64_t throttled_with_loss_ns = 0;
  double effective_ns = 0;                 // observed x utilisation
  double spin_effective_ns = 0;            // the part of it that was spin-wait
  std::optional<double> mean_utilization;  // percent of observed time
  std::optional<double> energy_kwh;        // taken once per board; of the whole only if every GPU tells it
  std::int64_t energy_ns = 0;              // the time of boards that it tells of, of `energy_window_ns`
  std::int64_t energy_window_ns = 0;       // of a board with MIG instances: all of it
  std::optional<double> mean_power_w;      // of one GPU: the mean over GPUs, weighted by time

  // Time of GPUs without a rate: in the times above and in no amount below.
  struct Unpriced {
    std::int64_t window_ns = 0;
    std::int64_t unobserved_ns = 0;
    double effective_ns = 0;
  } unpriced;

  // Money, absent where there is no rate. phase + unobserved + unallocated costs sum to total exactly.
  std::optional<Money> total;
  std::array<std::optional<Money>, kPhaseCount> phase_cost;
  std::optional<Money> unobserved_cost;
  std::optional<Money> unallocated_cost;
  std::optional<Money> idle_held_cost;
  std::optional<Money> idle_empty_cost;
  std::optional<Money> idle_unknown_cost;
  std::optional<Money> spin_wait_cost;
  std::optional<Money> waste;  // observed cost x (1 - U) + spin-wait: docs/money.md, "Waste and unit costs"
};

struct EnergyPrice {
  std::optional<Money> per_kwh;
  std::optional<double> grams_co2e_per_kwh;
  std::string currency = "USD";  // of per_kwh; GPU-hours may have a price in another
};

struct CostReport {
  Rate rate;  // of every GPU of the run; of several what they have in common, see OneRate
  struct RateUse {
    Rate rate;
    int gpus = 0;       // physical ones
    double others = 0;  // of them, what is not the run's: where only MIG instances of one are
    std::int64_t window_ns = 0;
    std::optional<Money> cost;
  };
  std::vector<RateUse> rates;              // each once; their costs sum to the whole's
  std::optional<double> spot_discount;     // what spot takes off these rates, as the user says
  std::vector<std::string> price_remarks;  // what a reader must know of how they were found
  UsageCost whole;
  // What one run of a log held and cost, or a device in it: the phases, unobserved, unallocated.
  struct RunUsage {
    static constexpr std::size_t kLines = kPhaseCount + 2;
    std::array<std::int64_t, kLines> ns{};
    std::array<std::optional<Money>, kLines> cost;  // absent where there is no rate

    [[nodiscard]] std::int64_t WindowNs() const;
    [[nodiscard]] std::int64_t ObservedNs() const;
    [[nodiscard]] std::optional<Money> Total() const;  // of what has a rate
    void Merge(const RunUsage& o);
  };
  struct RunCost {
    RunSpan span;
    int gpus = 0;  // physical ones with a row in it
    RunUsage usage;
    std::optional<double> mean_utilization;  // percent of observed time
  };
  std::vector<RunCost> runs;  // in order of time; they sum to `whole` (price/cost_split.h)
  struct DeviceCost {
    DeviceId device = 0;
    double gpu_share = 1;  // of a GPU: slices / board slices; of a board with instances, what they do not have
    UsageCost usage;
    std::size_t rate = 0;  // its position in `rates`
    // GPU-time per nanosecond of the device's observed time: 1, of an instance slices / board slices, of a board with
    // instances what of its readings is not theirs.
    double weight = 1;
    std::vector<std::string> owners = {};  // who had it at some time, each once; empty: none was named
    struct InRun {
      std::size_t run = 0;  // its position in `runs`
      RunUsage usage;
    };
    std::vector<InRun> runs = {};  // in order; they sum to `usage`
  };
  // What counts as capacity, in the order in which people look for GPUs (StandsBefore), not in that of DeviceId: boards
  // without instances; MIG instances; and a board with instances, with the time in which it was one GPU, what no
  // instance has, and the board's own power and throttling. Not such a board of which only instances are the run's.
  // Sums to `whole`. Entered by Add.
  std::vector<DeviceCost> devices;
  struct OwnerCost {
    std::string owner;  // empty: time for which none was named; "unallocated": slices of a board that no instance has
    std::int64_t gpu_ns = 0;
    std::optional<Money> cost;
    bool estimated = false;
    std::int64_t unpriced_ns = 0;  // of gpu_ns; not in the cost
  };
  std::vector<OwnerCost> owners;  // empty when no input names owners; otherwise sums to whole
  int gpus = 0;                   // physical GPUs in the window
  double others = 0;              // of them, what is not the run's
  double waste_share = 0;         // w = waste / observed cost; unless rates differ, from time alone: known without one

  // With a rate. Of the GPUs that have one, where some have none; a cost per unit of work is then not known.
  // Absent with a rate: undefined, no busy time, or so little that the quotient is more than money holds.
  std::optional<Money> per_effective_gpu_hour;
  std::map<std::string, std::optional<CostOfOne>> per_unit;  // "sample" -> 0.0004; absent: so few, likewise
  std::optional<Money> hourly;                               // these absent with a rate: more than money holds
  std::optional<Money> monthly;
  std::optional<Money> yearly;
  int month_hours = kUsualMonthHours;
  // Where GPUs have candidates instead: the range of the total and of the waste over all that have either.
  std::optional<Money> total_low, total_high, waste_low, waste_high;

  std::optional<Money> energy_cost;
  std::string energy_currency = "USD";
  bool energy_beyond_range = false;  // asked for and measured, and more than money holds
  std::optional<double> co2e_kg;

  void Add(DeviceCost cost);
  // Null: no capacity of this run.
  [[nodiscard]] const DeviceCost* Of(DeviceId device) const;
  // Whether `a` stands before `b` in `devices`; what is not there stands last.
  [[nodiscard]] bool StandsBefore(DeviceId a, DeviceId b) const;
  [[nodiscard]] bool several() const { return rates.size() > 1; }
  [[nodiscard]] const Rate& RateOf(const DeviceCost& d) const { return several() ? rates[d.rate].rate : rate; }

 private:
  [[nodiscard]] std::size_t PositionOf(DeviceId device) const;
  std::vector<std::size_t> positions_;  // in `devices`, by DeviceId; SIZE_MAX: not there
};

// Sum of rate x allocated time over the GPUs that have a rate: what they cost before it is divided into an amount, in
// nano-units x nanoseconds per hour. Of one device, and of all.
Int128 RateTimesAllocated(const CostReport& cost, const CostReport::DeviceCost& device);
Int128 RateTimesAllocated(const CostReport& cost);
// That over effective time, rounded this once. Absent: no such time, or so little that it is more than money holds.
std::optional<Money> PerEffectiveHour(Int128 rate_times_allocated, std::int64_t effective_ns);

// Prices a classified run, each GPU at its rate. Nanoseconds are summed first and priced once per rate; every part is
// split off the total of its rate by largest remainder, devices and lines at once (price/cost_split.h), so all sums are
// exact. What is paid per unit of work and per effective hour is the cost of allocated time: without slices that no
// instance has. Fails if MIG instances of a board hold more slices than it has, if the total is beyond 9.2 billion, if
// the rates are in two currencies, or (usage) for a count of work of 0.
Result<CostReport> PriceRun(const RunResult& run, const DeviceTable& devices, const OwnerLedger& owners,
                            const RateCard& rates, const WorkDone& work, const EnergyPrice& energy, int month_hours);

}  // namespace idleburn
