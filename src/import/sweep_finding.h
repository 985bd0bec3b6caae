#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "import/turns.h"
#include "telemetry/sample.h"

namespace idleburn {

// The most GPUs in one sweep that are looked for.
inline constexpr int kMaxSweep = 64;

// How many GPUs took turns to write rows that name no GPU, as far as the rows prove it.
struct SweepFinding {
  int gpus = 0;     // 0: not proven
  std::string why;  // not proven, for people
  // By number of GPUs: the share of the time that lies in whole sweeps of so many rows, times the share of the pause in
  // a usual one. 0: not tested.
  std::array<double, kMaxSweep + 1> share{};
  Turns turns;  // of rows at even distances
};

// Judges rows in the order of the log. `device` of a sample is the number of its model's name, the same where the log
// has no names. nvidia-smi writes a row for each GPU, then pauses, so a pause after every G rows shows G GPUs. It is
// proof only if the pauses take at least 90 % of the time and the stamps are finer than a sweep. Where stamps are
// coarser, readings that stay with the position prove it (memory, temperature, model). One GPU is proven by
// rows at even distances without any pattern. Wrong for two loggers of one GPU that run in step: they look like two
// GPUs. `expected`: what other rows of the log showed, which is looked for first.
SweepFinding FindSweeps(std::span<const Sample> rows, int expected = 0);

// Puts the pieces of sweeps together that a late row tore: 3 and 5 rows of 8 GPUs, or 3, and 13 with the next sweep.
// A piece with a missing row fits nothing and is dropped.
class SweepPool {
 public:
  explicit SweepPool(std::size_t gpus) : gpus_(gpus) {}

  enum class Fate : std::uint8_t {
    kWhole,  // with all that waited: one sweep or two
    kAlone,  // whole, and what waited is dropped
    kWaits,  // with what waited
    kNew,    // waits, and what waited is dropped
    kNone,   // is dropped, with what waited
  };
  // The next piece between two pauses, `span` ns long, `before` ns from the start of the piece before it; pauses
  // usually last `pause`.
  Fate Next(std::size_t rows, std::int64_t span, std::int64_t before, std::int64_t pause);

 private:
  std::size_t gpus_;
  std::size_t waiting_ = 0;   // rows
  std::int64_t elapsed_ = 0;  // from their start to the start of the last piece
};

// For `gpus` per sweep: the shortest pause before row i that separates sweeps, at [i]; half of the usual pause nearby.
// [0] has no meaning.
std::vector<std::int64_t> PausesFrom(std::span<const Sample> rows, int gpus);

// Nanoseconds from one row to the next, at most 30 days. A clock that was set back is a pause, and stamps that swap in
// a sweep are 0.
std::int64_t Apart(const Sample& before, const Sample& row);

}  // namespace idleburn
