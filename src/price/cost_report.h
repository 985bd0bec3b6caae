#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/int128.h"
#include "base/money.h"
#include "base/result.h"
#include "classify/totals.h"
#include "price/rate_book.h"
#include "telemetry/device.h"

namespace idleburn {
// Work done in the window of a run, as stated by --work or counted live.
struct WorkDone {
  static constexpr Int128 kOne = 1'000'000'000;
  // "samples" -> count in billionths, so that 2.64 epochs is exact.
  std::map<std::string, Int128> units;
};

// Reads the text of --work: "samples=200000,epochs=2.64". Units are samples, tokens, steps and epochs; counts are
// decimals above 0 with at most nine decimals. A bad text is a usage error.
Result<WorkDone> ParseWork(std::string_view text);

// The unit without its plural s: "samples" becomes "sample". A view into `unit`.
std::string_view Singular(std::string_view unit);

// What one unit of work costs: digits x 10^-decimals. Usually nine decimals, as other money. If those would show
// fewer than three digits, nine digits are kept: a token may cost $0.00000000270872 (docs/money.md, "Rounding").
struct CostOfOne {
  std::int64_t digits = 0;
  int decimals = 9;

  // NOLINTNEXTLINE(google-explicit-constructor)
  constexpr CostOfOne(Money m = {}) : digits(m.nano()) {}
  // `whole` (not negative) divided by a count in billionths, which must be above 0. Absent if it exceeds what Money
  // can hold.
  static std::optional<CostOfOne> Of(Money whole, Int128 count_in_billionths);

  // Whether it has more decimals than money. Reports then print the cost of a million units.
  [[nodiscard]] bool beyond_money() const { return decimals > 9; }
  [[nodiscard]] CostOfOne PerMillion() const;  // only if beyond_money()
  friend bool operator==(const CostOfOne&, const CostOfOne&) = default;
};

// As FormatExact of money: "0.0004", "0.00000000270872". At least `min_digits` decimals.
std::string FormatExact(const CostOfOne& cost, int min_digits = 2);

// What one device, or the whole run, held, used and cost. Times are GPU-nanoseconds: a MIG instance counts by its
// share of the board's compute slices. Parts are split by largest remainder, so every sum is exact.
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
  double effective_ns = 0;                 // observed time x utilization
  double spin_effective_ns = 0;            // the part of it that was spin-wait
  std::optional<double> mean_utilization;  // percent of observed time
  std::optional<double> energy_kwh;        // once per board; of the whole only if every board tells it
  std::int64_t energy_ns = 0;              // board time that the energy covers, of `energy_window_ns`
  std::int64_t energy_window_ns = 0;       // board time; for a board with MIG instances the whole board's
  std::optional<double> mean_power_w;      // per GPU: the mean over GPUs, weighted by time

  // Time of GPUs without a rate. It is part of the times above and of no amount below.
  struct Unpriced {
    std::int64_t window_ns = 0;
    std::int64_t unobserved_ns = 0;
    double effective_ns = 0;
  } unpriced;

  // Money, absent without a rate. The phases, unobserved and unallocated costs sum to the total exactly.
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

// What a kWh costs and emits, if the user says so. Energy is reported beside the bill and is never part of it.
struct EnergyPrice {
  std::optional<Money> per_kwh;
  std::optional<double> grams_co2e_per_kwh;
  std::string currency = "USD";  // of per_kwh; GPU-hours may be priced in another one
};

// What a run cost, and how that was found. Every amount can be recomputed from times and rates in here
// (docs/money.md). Built by PriceRun; printed by report; read by diagnose and recommend.
struct CostReport {
  Rate rate;  // of every GPU of the run; of several what they have in common, see OneRate
  // One rate with the GPUs that have it.
  struct RateUse {
    Rate rate;
    int gpus = 0;       // physical GPUs
    double others = 0;  // the part of these GPUs that is not the run's, where it has only MIG instances
    std::int64_t window_ns = 0;
    std::optional<Money> cost;
  };
  std::vector<RateUse> rates;              // each rate once; their costs sum to the whole's
  std::optional<double> spot_discount;     // what spot takes off these rates, as the user states it
  std::vector<std::string> price_remarks;  // what a reader must know about how the prices were found
  UsageCost whole;
  // What one run of a log held and cost, or a device in it, by line: the phases, then unobserved, then unallocated.
  struct RunUsage {
    static constexpr std::size_t kLines = kPhaseCount + 2;
    std::array<std::int64_t, kLines> ns{};
    std::array<std::optional<Money>, kLines> cost;  // absent without a rate

    [[nodiscard]] std::int64_t WindowNs() const;
    [[nodiscard]] std::int64_t ObservedNs() const;
    [[nodiscard]] std::optional<Money> Total() const;  // of what has a rate
    void Merge(const RunUsage& o);
  };
  // One run of a log that holds several.
  struct RunCost {
    RunSpan span;
    int gpus = 0;  // physical GPUs with a row in it
    RunUsage usage;
    std::optional<double> mean_utilization;  // percent of observed time
  };
  std::vector<RunCost> runs;  // in order of time; they sum to `whole` (price/cost_split.h)
  // One row of the run's capacity.
  struct DeviceCost {
    DeviceId device = 0;
    double gpu_share = 1;  // of a GPU: slices / board slices; for a board with instances, what they do not have
    UsageCost usage;
    std::size_t rate = 0;  // its position in `rates`
    // GPU-time per nanosecond of the device's own observed time: 1 for a whole GPU, slices / board slices for an
    // instance. For a board with instances, the part of its readings that is not theirs.
    double weight = 1;
    std::vector<std::string> owners = {};  // everyone who had it at some time, each once; empty if nobody is named
    struct InRun {
      std::size_t run = 0;  // its position in `runs`
      RunUsage usage;
    };
    std::vector<InRun> runs = {};  // in order; they sum to `usage`
  };
  // What counts as capacity, in the order in which people look for GPUs (StandsBefore), not by DeviceId:
  //  - boards without instances,
  //  - MIG instances,
  //  - a board with instances, with the time when it was one GPU, the slices that no instance has, and the power and
  //    throttling of the board. It is left out if the run has only some of its instances.
  // Sums to `whole`. Entered by Add.
  std::vector<DeviceCost> devices;
  // What one owner (job, pod) is charged (docs/charged-time.md, "What time is charged to").
  struct OwnerCost {
    std::string owner;  // empty: time without a named owner; "unallocated": slices that no instance has
    std::int64_t gpu_ns = 0;
    std::optional<Money> cost;
    bool estimated = false;
    std::int64_t unpriced_ns = 0;  // part of gpu_ns that is not in the cost
  };
  std::vector<OwnerCost> owners;  // empty when no input names owners; otherwise sums to whole
  int gpus = 0;                   // physical GPUs in the window
  double others = 0;              // the part of these GPUs that is not the run's
  // w = waste / observed cost. With a single rate it is computed from time alone, so it is known without a price.
  double waste_share = 0;

  // Costs per unit. Only with a rate, and only of the GPUs that have one; a cost per unit of work needs a rate for
  // all GPUs. Absent with a rate if there was no busy time, or so little that the quotient exceeds what Money can
  // hold.
  std::optional<Money> per_effective_gpu_hour;
  std::map<std::string, std::optional<CostOfOne>> per_unit;  // "sample" -> 0.0004; absent value: too little work
  std::optional<Money> hourly;  // these three are absent with a rate if they exceed what Money can hold
  std::optional<Money> monthly;
  std::optional<Money> yearly;
  int month_hours = kUsualMonthHours;
  // Where GPUs have candidates instead of a rate: the range of total and waste over all GPUs that have either.
  std::optional<Money> total_low, total_high, waste_low, waste_high;

  std::optional<Money> energy_cost;
  std::string energy_currency = "USD";
  bool energy_beyond_range = false;  // asked for and measured, but more than Money can hold
  std::optional<double> co2e_kg;

  // Appends a device. Each device may be added once.
  void Add(DeviceCost cost);
  // The row of a device. Null if it is no capacity of this run.
  [[nodiscard]] const DeviceCost* Of(DeviceId device) const;
  // Whether `a` stands before `b` in `devices`. Devices that are not there stand last.
  [[nodiscard]] bool StandsBefore(DeviceId a, DeviceId b) const;
  [[nodiscard]] bool several() const { return rates.size() > 1; }
  [[nodiscard]] const Rate& RateOf(const DeviceCost& d) const { return several() ? rates[d.rate].rate : rate; }

 private:
  [[nodiscard]] std::size_t PositionOf(DeviceId device) const;
  std::vector<std::size_t> positions_;  // in `devices`, by DeviceId; SIZE_MAX: not there
};

// The sum of rate x allocated time over the GPUs that have a rate, in nano-units x nanoseconds per hour. It is their
// cost before it is rounded to an amount. For one device, and for all.
Int128 RateTimesAllocated(const CostReport& cost, const CostReport::DeviceCost& device);
Int128 RateTimesAllocated(const CostReport& cost);
// That sum divided by effective time, rounded once. Absent if there is no such time, or so little that the quotient
// exceeds what Money can hold.
std::optional<Money> PerEffectiveHour(Int128 rate_times_allocated, std::int64_t effective_ns);

// Prices a classified run, each GPU at its rate. Nanoseconds are summed first and priced once per rate: pricing every
// tick would round every tick. Each part is split off the total of its rate by largest remainder, devices and lines
// at once (price/cost_split.h), so all sums are exact. Costs per unit of work and per effective hour are those of
// allocated time, without slices that no instance has.
//
// Fails if the MIG instances of a board hold more slices than it has, if the total exceeds 9.2 billion, or if the
// rates are in two currencies. A count of work of 0 and a `month_hours` below 1 are usage errors.
Result<CostReport> PriceRun(const RunResult& run, const DeviceTable& devices, const OwnerLedger& owners,
                            const RateCard& rates, const WorkDone& work, const EnergyPrice& energy, int month_hours);

}  // namespace idleburn
