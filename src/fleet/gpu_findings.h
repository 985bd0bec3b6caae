#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/money.h"
#include "telemetry/sample.h"

// What the agents' live counters and the closed hours tell about the GPUs of a fleet beside the bill: how busy they
// were, what they drew, which ones a smaller GPU would replace, how many nodes a perfect packing would free
// (docs/fleet-gpus.md). Times are GPU-milliseconds; a MIG instance counts its share of the board.
//
// Live counters are read where they were scraped. So a sum is exact to a scrape interval at each end of an unbroken
// piece. None of these figures is part of a bill.
namespace idleburn {

inline constexpr std::size_t kUtilizationDeciles = 10;
inline constexpr std::size_t kIdleMemoryKinds = 3;
inline constexpr std::array<std::string_view, kIdleMemoryKinds> kIdleMemoryKindNames = {"held", "empty", "unknown"};

// A node, and a GPU or MIG instance there.
struct GpuOnNode {
  std::string node;
  std::string uuid;
  friend auto operator<=>(const GpuOnNode&, const GpuOnNode&) = default;
};

// What one GPU did, or all GPUs together. Additive.
struct GpuUse {
  std::array<std::int64_t, kUtilizationDeciles> decile_ms{};   // by the mean utilization of each second
  std::array<std::int64_t, kIdleMemoryKinds> idle_ms{};        // by whether a process held memory
  std::int64_t spin_ms = 0;                                    // looked busy and waited
  std::array<std::int64_t, kEventReasonCount> throttled_ms{};  // reasons hold at once: they do not sum to a whole
  std::int64_t counted_ms = 0;                                 // the closed time of the same GPUs

  [[nodiscard]] std::int64_t ObservedMs() const;
  // Time that no counter tells. It belongs to no decile.
  [[nodiscard]] std::int64_t UnobservedMs() const { return std::max<std::int64_t>(0, counted_ms - ObservedMs()); }
  // Bounds of utilization x observed time. A second of decile d was busy for at least d and at most d + 1 tenths.
  [[nodiscard]] std::int64_t BusyLowMs() const;
  [[nodiscard]] std::int64_t BusyHighMs() const { return BusyLowMs() + ObservedMs() / 10; }
  void Add(const GpuUse& other);
};

struct GpuUseRow {
  GpuOnNode gpu;
  GpuUse use;
};

struct FleetGpuUse {
  GpuUse whole;
  std::vector<GpuUseRow> gpus;
  std::int64_t lost_states = 0;      // agents that started from zero inside the window
  std::int64_t without_counter = 0;  // GPUs with closed hours and without these counters
  std::vector<std::string> missing;  // what the engine did not answer
};

// Where the energy of a GPU comes from. The driver's counter is preferred. The two are never added up.
enum class EnergySource : std::uint8_t { kDriverCounter, kPower, kNone };

inline double KwhOf(std::int64_t millijoules) { return static_cast<double>(millijoules) / 3.6e9; }

struct GpuEnergyRow {
  GpuOnNode gpu;
  EnergySource source = EnergySource::kNone;
  std::int64_t millijoules = 0;  // 0 without a source
};

struct FleetEnergy {
  std::vector<GpuEnergyRow> gpus;
  std::int64_t millijoules = 0;         // of the GPUs with a source, at the board
  std::array<std::int64_t, 3> count{};  // GPUs by EnergySource
  std::int64_t apart = 0;               // GPUs whose counter and power differ by more than a fifth
  std::int64_t pue_millionths = 1'000'000;
  std::optional<double> grams_co2e_per_kwh;
  std::optional<Money> cost;  // at the site: with PUE; absent without a tariff
  std::string currency = "USD";

  [[nodiscard]] double Kwh() const { return KwhOf(millijoules); }
  [[nodiscard]] double SiteKwh() const { return Kwh() * static_cast<double>(pue_millionths) / 1e6; }
  [[nodiscard]] std::optional<double> Co2eKg() const;
};

// GPUs that would fit something smaller, as far as memory and utilization tell. A question to their owner, not a
// saving.
struct SizeCandidate {
  std::string kind;       // "smaller_gpu", "mig_slice"
  std::string model;      // of the GPUs, as their driver prints it
  std::string target;     // "L40S-48GB"; of a slice its profile: "1g"
  std::string price_key;  // of the smaller GPU, usable with --price; empty for a slice
  std::string team;       // the only team that held the GPUs' nodes; empty: several
  std::string job;        // the only job there; empty: several
  std::vector<GpuOnNode> gpus;
  std::int64_t time_ms = 0;
  std::int64_t peak_bytes = 0;  // the highest of these GPUs that was scraped
  std::int64_t busy_low_ms = 0;
  std::int64_t busy_high_ms = 0;
  std::int64_t observed_ms = 0;
  std::optional<Money> saving_at_most;  // absent without a price
};

struct FleetRightSizing {
  std::vector<SizeCandidate> candidates;  // largest saving first; a GPU may stand in both kinds
  std::int64_t judged = 0;                // GPUs with all that the question needs
  std::int64_t without_memory = 0;        // no memory gauge: unknown, and not 0
  std::int64_t little_data = 0;           // less than 95 % of the time observed: the rest may have been busy
  std::int64_t instances = 0;             // MIG instances: not judged
  std::int64_t unused = 0;                // idle all the time, and no process seen: a smaller one would be idle too
  std::int64_t unpriced = 0;              // no price, or one in another currency than the catalogue's
};

// Nodes with GPUs of one model and number. Work of one class does not move to another.
struct PackedClass {
  std::string model;  // empty: not told
  std::int64_t gpus_per_node = 0;
  std::int64_t nodes = 0;         // the most in one hour
  std::int64_t hours = 0;         // hours of the window with data
  double gpus_mean = 0;           // GPUs that owners held, mean of the hours
  double gpus_p95 = 0;            // 95th percentile of hourly means
  double gpus_peak = 0;           // highest hourly mean
  std::int64_t needed_peak = 0;   // nodes that the peak hour needs at least
  std::int64_t needed_p95 = 0;    // nodes that suffice at least for 95 of 100 hours
  std::int64_t needed_whole = 0;  // the same as needed_peak, if what a job holds on a node stays together
  std::int64_t unknown_ms = 0;    // time without a known owner: not counted as need
  std::optional<Money> saving_at_most;

  [[nodiscard]] std::int64_t FreedAtMost() const { return std::max<std::int64_t>(0, nodes - needed_whole); }
};

struct FleetPacking {
  std::vector<PackedClass> classes;  // most nodes first
};

}  // namespace idleburn
