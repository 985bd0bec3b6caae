#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
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

// Gives every row of a log that names no GPU its position in its sweep. Holds rows until the number of GPUs is proven
// (FindSweeps) or said, then places them block by block and judges each block again: a log whose later rows prove
// another number is refused. A sweep with missing rows is dropped whole, as nothing says which row is missing; a sweep
// with a late row is put together. Memory: at most 16 blocks of 4096 rows. Errors begin with a line: "812: ...".
class SweepIdentity {
 public:
  // `said`: --gpus.
  explicit SweepIdentity(std::optional<int> said) : said_(said), gpus_(said.value_or(0)) {}

  // The next row of the log; `device` is the number of its model's name, 0 where the log has no names.
  Result<void> Add(const Sample& row, std::int64_t line);
  Result<void> Finish();

  // The rows placed since the last call, in order; `device` is now the position.
  std::vector<Sample> TakePlaced();
  // The number of the model's name of each position, once a row was placed.
  [[nodiscard]] const std::vector<DeviceId>& names() const { return names_; }
  [[nodiscard]] int gpus() const { return gpus_; }  // 0: not known yet
  [[nodiscard]] std::int64_t dropped() const { return dropped_; }
  [[nodiscard]] std::int64_t first_dropped() const { return first_dropped_; }  // its line
  [[nodiscard]] std::int64_t cut_off() const { return cut_off_; }              // rows of a sweep that the end cut off

 private:
  struct Piece {
    std::vector<Sample> rows;
    std::vector<std::int64_t> lines;

    void Add(const Sample& row, std::int64_t line);
    void Append(const Piece& other);
    [[nodiscard]] std::int64_t Span() const { return (rows.back().time - rows.front().time).count(); }
  };

  Result<void> TakeBlock();
  [[nodiscard]] Result<void> CheckAgrees(const SweepFinding& finding, std::int64_t line) const;
  Result<void> Place();
  [[nodiscard]] std::vector<std::int64_t> PausesOfBlock() const;
  Result<void> Close(std::int64_t pause);
  [[nodiscard]] Result<void> RefuseMore() const;
  Result<void> Emit(Piece& sweep);
  Result<void> Drop(Piece& piece);

  std::optional<int> said_;
  int gpus_;
  bool by_count_ = false;  // the number was said, and the stamps show no sweeps
  Piece block_;            // rows not placed yet
  std::size_t judged_ = 0;
  std::string why_;  // nothing was proven at first
  int blocks_ = 0;
  int unclear_ = 0;
  std::optional<Sample> last_;  // row placed
  std::int64_t pause_ = 0;      // that separated sweeps last
  Piece open_;                  // the sweep that goes on
  Piece waiting_;               // pieces before it that are no whole sweep yet
  Instant piece_start_;         // of the last of them
  std::optional<SweepPool> pool_;
  std::optional<TurnOrder> order_;  // of rows placed by count
  std::size_t odd_rows_ = 0;        // of the last sweeps dropped in succession, all the same
  int odd_sweeps_ = 0;
  std::int64_t odd_line_ = 0;
  std::size_t more_rows_ = 0;  // of a sweep with more rows than GPUs, since the last whole one
  std::int64_t more_line_ = 0;
  std::vector<DeviceId> names_;
  std::vector<Sample> placed_;
  std::int64_t all_ = 0;
  std::int64_t dropped_ = 0;
  std::int64_t first_dropped_ = 0;
  std::int64_t cut_off_ = 0;
};

}  // namespace idleburn
