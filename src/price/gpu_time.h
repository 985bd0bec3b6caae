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

// What a GPU-hour can have been, each on its own line of the bill. Their times sum to the window.
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

// The capacity of one device of a run, or of all, in GPU-nanoseconds: a MIG instance counts by its share of the
// board. Additive.
struct GpuTime {
  std::array<std::int64_t, kLineCount> line_ns{};
  // Laid over the lines:
  std::int64_t busy_ns = 0;       // observed time x utilisation
  std::int64_t spin_ns = 0;       // spin-wait, part of compute_bound
  std::int64_t spin_busy_ns = 0;  // the part of busy_ns that was spin-wait
  std::int64_t throttled_ns = 0;
  std::int64_t throttled_with_loss_ns = 0;

  [[nodiscard]] std::int64_t At(Line l) const { return line_ns[Index(l)]; }
  [[nodiscard]] std::int64_t WindowNs() const;
  [[nodiscard]] std::int64_t ObservedNs() const;
  // Observed time that was not busy, and busy time that was spin-wait (docs/money.md, "Waste and unit costs").
  [[nodiscard]] std::int64_t WasteNs() const { return ObservedNs() - busy_ns + spin_busy_ns; }
  void Merge(const GpuTime& o);
};

// What a board drew, or several.
struct Energy {
  std::optional<Int128> picojoules;  // of its energy counter, else of its power; absent without either
  Integral power;                    // milliwatts
  std::int64_t covered_ns = 0;       // what the one that gave the picojoules tells of
  std::int64_t window_ns = 0;        // the board's time from its first to its last reading
};

// One row of the capacity of a run.
struct DeviceTime {
  DeviceId device = 0;
  double gpu_share = 1;  // of a physical GPU
  double weight = 1;     // GPU-time that observed time of this device alone comes to, per nanosecond
  bool a_gpu = true;     // stands for a physical GPU, of which an instance may be the second row
  int parts = 1;         // of `of` of a physical GPU are paid for by the hour because of this row
  int of = 1;
  std::int64_t span_ns = 0;  // of which `time` without the unallocated is the share
  GpuTime time;
  Energy energy;  // of a whole board; none for a MIG instance
};

// The capacity of a run, in the order in which people look for GPUs (by host, index, else bus id or UUID, and MIG
// instance), whatever the order of the readings, and how many physical GPUs it is. A board with MIG instances has the
// time from the first to the last reading of any of them, without that between runs. Of it the board has for itself
// what it was one GPU for (OwnTime); of the rest an instance has its own window x slices / slices of the
// board, split by largest remainder, and the board keeps what no instance has as unallocated. Of a board of which only
// instances are the run's (RunResult::left_out) they are all that counts: neither other instances, nor what nobody has,
// nor its energy. Fails if instances hold more than their board.
struct Capacity {
  std::vector<DeviceTime> devices;
  GpuTime whole;
  Energy energy;  // its sum is known only if every board tells its own
  int gpus = 0;
  std::set<std::string> unsized;  // names of boards with instances whose compute slices are not known: taken as 7
};
Result<Capacity> CapacityOf(const RunResult& run, const DeviceTable& devices);

// Splits nanoseconds by largest remainder, as Split does money; all zero where the weights are.
Result<std::vector<std::int64_t>> SplitNanos(std::int64_t total, std::span<const std::int64_t> weights);

// The time in which a board that has MIG instances was read itself and none of them was: before it was cut, and after.
// It was one GPU then. Where both were read the instances are the truth.
//
//   board      ####################....................  read      a board that was cut while it was measured;
//   instances  .....................###################            unread time of an instance beside its own is none
struct OwnTime {
  struct Stretch {
    Instant start;
    Instant end;
    std::int64_t ns = 0;  // of it
  };
  std::vector<Stretch> stretches;
  DeviceResult board;  // what it did in them; no unobserved time

  // What of it certainly lies between these, whatever the board's place in each stretch.
  [[nodiscard]] std::int64_t Within(Instant from, Instant to) const;
};

// As exact as the timelines: a stretch in which the board was cut is shared by who was read how long in it.
Result<OwnTime> OwnTimeOf(const DeviceResult& board, std::span<const DeviceResult* const> instances);

}  // namespace idleburn
