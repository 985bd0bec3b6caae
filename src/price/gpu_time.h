#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "classify/totals.h"
#include "telemetry/device.h"

namespace idleburn {

// What a GPU-hour can have been: the lines of the bill. Their times sum to the window. Every nanosecond is on exactly
// one line. What overlaps lines, such as spin-wait or throttling, is kept beside them in GpuTime. The order is that of
// tables.
enum class Line : std::uint8_t {
  kIdleHeld,
  kIdleEmpty,
  kIdleUnknown,
  kUnderutilized,
  kProductive,
  kComputeBound,
  kUnobserved,
  kUnallocated,
};
inline constexpr std::size_t kLineCount = 8;
constexpr std::size_t Index(Line l) { return static_cast<std::size_t>(l); }

// The capacity of one device or of all, in GPU-nanoseconds. A MIG instance counts by its share of the board.
// Additive.
struct GpuTime {
  std::array<std::int64_t, kLineCount> line_ns{};
  // These lie over the lines and are no lines themselves.
  std::int64_t busy_ns = 0;  // observed time x utilisation
  // Spin-wait, a part of compute_bound.
  std::int64_t spin_ns = 0;
  std::int64_t spin_busy_ns = 0;  // the part of busy_ns that was spin-wait
  std::int64_t throttled_ns = 0;
  std::int64_t throttled_with_loss_ns = 0;

  [[nodiscard]] std::int64_t At(Line l) const { return line_ns[Index(l)]; }
  [[nodiscard]] std::int64_t WindowNs() const;
  [[nodiscard]] std::int64_t ObservedNs() const;
  // Observed time that was not busy, plus busy time that was spin-wait (docs/money.md, "Waste and unit costs").
  [[nodiscard]] std::int64_t WasteNs() const { return ObservedNs() - busy_ns + spin_busy_ns; }
  void Merge(const GpuTime& o);
};

// The energy of a board, or of several.
struct Energy {
  std::optional<Int128> picojoules;  // by its energy counter, else by its power; absent without either
  Integral power;                    // milliwatts
  std::int64_t covered_ns = 0;       // time that the source of the picojoules covers
  std::int64_t window_ns = 0;        // board time from its first to its last reading
};

// One row of the capacity of a run.
struct DeviceTime {
  DeviceId device = 0;
  double gpu_share = 1;  // of a physical GPU
  double weight = 1;     // GPU-time per nanosecond of this device's own observed time
  bool a_gpu = true;     // stands for a physical GPU; a second row of the same GPU does not
  int parts = 1;         // this row pays for `parts` / `of` of a physical GPU
  int of = 1;
  // The device's own time, to which owners' times are relative. `time` without the unallocated is its GPU-time.
  std::int64_t span_ns = 0;
  GpuTime time;
  Energy energy;  // of a whole board; none for a MIG instance
};

// The capacity of a run and the number of its physical GPUs. Rows stand in the order in which people look for GPUs: by
// host, index (else bus id or UUID) and MIG instance. The order of the readings does not matter.
//
// A board with MIG instances has the time from the first to the last reading of any of them, without the time between
// runs. It keeps for itself the time when it was one GPU (OwnTime). An instance has, of the remaining time, its own
// window x slices / board slices, split by largest remainder. Time that no instance has belongs to the board, as
// unallocated. Example: one instance of one slice, read for an hour on a board of seven, is 1/7 GPU-hour, and 6/7 are
// unallocated.
//
// If only instances of a board belong to the run (RunResult::left_out), nothing else of that board counts: no other
// instance, no unallocated slices, no energy.
struct Capacity {
  std::vector<DeviceTime> devices;
  GpuTime whole;
  Energy energy;  // known only if every board tells its own
  int gpus = 0;
  std::set<std::string> unsized;  // names of boards with instances whose number of slices is unknown: taken as 7
};
// Fails if the instances of a board hold more slices than it has, as they can when its layout changed.
Result<Capacity> CapacityOf(const RunResult& run, const DeviceTable& devices);

// Splits nanoseconds by largest remainder, as Split does money. All parts are 0 if all weights are.
Result<std::vector<std::int64_t>> SplitNanos(std::int64_t total, std::span<const std::int64_t> weights);

// The time when a board with MIG instances was read itself and none of them was: before it was cut, and after. It was
// one GPU then. While both were read, the instances count. The picture shows a board that was cut while it was
// measured; time of an instance beside the board's own time does not count.
//
//     board      ####################....................  read
//     instances  .....................###################
struct OwnTime {
  struct Stretch {
    Instant start;
    Instant end;
    std::int64_t ns = 0;  // own time within the stretch
  };
  std::vector<Stretch> stretches;
  DeviceResult board;  // what the board did in them; without unobserved time

  // The own time that certainly lies between `from` and `to`, wherever in its stretch it was.
  [[nodiscard]] std::int64_t Within(Instant from, Instant to) const;
};

// As exact as the timelines are: a bucket in which the board was cut is shared by how long each was read in it.
Result<OwnTime> OwnTimeOf(const DeviceResult& board, std::span<const DeviceResult* const> instances);

}  // namespace idleburn
