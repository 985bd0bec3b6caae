#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "telemetry/sample.h"

namespace idleburn {

// Several GPUs that wrote their rows by turns, evenly in time, as a loop over GPUs does. Stamps show one GPU that is
// read so much more often; a reading that one GPU does not change from row to row and back shows the truth.
struct Turns {
  int gpus = 0;  // at least so many; 0: no reading shows it
  Signal signal = Signal::kMemoryUsed;
  std::int64_t low = 0;  // mean readings of the GPUs that are furthest apart
  std::int64_t high = 0;
  std::size_t rows = 0;  // looked at
};

// `rows`: of one log in order of time; the first thousand are enough. Looked at are readings of the board
// (memory.total, limits, the counter of energy), memory in use and temperature. Utilization and power prove nothing: a
// job whose step lasts two rows has them high and low by turns. A temperature that follows such a load must differ by
// more than a load makes it in the time between two rows.
// Wrong for one GPU whose jobs take and give back memory in step with the rows for most of the log, as a job that cron
// starts every two minutes and a row a minute: it looks like two GPUs, until `--gpus 1` says that it is one. Several
// GPUs whose readings are all alike look like one.
Turns FindTurns(std::span<const Sample> rows);

// Whether memory in use or temperature are in all rows and go on from row to row as those of one GPU.
bool GoesOnAsOneGpu(std::span<const Sample> rows);

// Rows that are dealt to a number of GPUs by turns: whether they keep their places, by the reading that shows turns. A
// row that is missing leaves a gap in time and moves all later ones by a place; without a gap, jobs moved.
class TurnOrder {
 public:
  TurnOrder(const Turns& turns, int gpus);
  // The next row of each GPU. False once they have changed places after a gap, a few sweeps after they did.
  bool Keeps(std::span<const Sample> sweep);
  [[nodiscard]] Signal signal() const { return signal_; }

 private:
  void SeeDistances(std::span<const Sample> sweep);

  Signal signal_;
  std::int64_t apart_;
  std::optional<Instant> last_;
  std::int64_t usual_ = 0;      // ns from row to row
  bool late_ = false;           // a row was, since rows last fitted their places
  std::vector<double> levels_;  // by place
  bool any_ = false;
  int moved_ = 0;   // sweeps in succession that fit other places
  int unlike_ = 0;  // that fit none, as when a job begins
};

// "memory.used goes to and fro between 10240 MiB and 40960 MiB from row to row for 1024 rows, as of at least 2 GPUs
// by turns".
std::string Describe(const Turns& turns, std::string_view column);

}  // namespace idleburn
