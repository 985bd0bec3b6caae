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

// Logs that name no GPU. Each sweep of nvidia-smi writes one row per GPU, so the number of GPUs and the GPU of each
// row can be inferred: from the pauses between sweeps (FindSweeps), or from readings that alternate (FindTurns).
// docs/formats/nvidia_smi_sweeps.md, "Several GPUs, no index", explains it to users.
//
//     stamps 00.001 00.002 00.003 00.004  01.001 01.002 01.003 01.004 ...   ->   4 GPUs
//     stamps 00.001 01.001 02.001 03.001 ...                                ->   1 GPU
//
// A wrong number would bill the wrong number of GPUs. So the rows must prove it; otherwise the log is refused, with
// advice to record index and uuid or to pass --gpus.

// GPUs that wrote their rows in turn at even intervals, as a loop over GPUs does. The stamps alone look like one GPU
// that is sampled more often. A reading that alternates from row to row, and that one GPU could not change so fast,
// reveals the GPUs. `low` and `high` are in the signal's unit.
struct Turns {
  int gpus = 0;  // at least this many; 0: no reading alternates
  Signal signal = Signal::kMemoryUsed;
  std::int64_t low = 0;  // mean readings of the two GPUs that differ most
  std::int64_t high = 0;
  std::size_t rows = 0;  // looked at
};

// Looks for GPUs that take turns. `rows` are from one log in time order; the first thousand are enough. Tested are
// readings of the board (memory.total, limits, energy), memory in use, and temperature. Utilization and power prove
// nothing, because a job whose step lasts two rows alternates them. A temperature that follows such a load must differ
// by more than the load can cause between two rows.
// Known limits: one GPU whose jobs take and release memory in step with the rows looks like two GPUs, for example a job
// that cron starts every two minutes with a row a minute. `--gpus 1` overrides that. Several GPUs with equal readings
// look like one.
Turns FindTurns(std::span<const Sample> rows);

// Whether memory in use or temperature is in all rows and continues from row to row like that of a single GPU. It
// then refutes what utilization or power alone suggests.
bool GoesOnAsOneGpu(std::span<const Sample> rows);

// Checks that rows dealt out to GPUs in turn keep their places, using the reading that revealed the turns. A missing
// row leaves a gap in time and shifts all later rows by a place. A change without a gap means that jobs moved. Used
// only where the user gave the number with --gpus.
class TurnOrder {
 public:
  TurnOrder(const Turns& turns, int gpus);
  // Takes the next row of each GPU. False a few sweeps after the GPUs changed places behind a gap.
  bool Keeps(std::span<const Sample> sweep);
  [[nodiscard]] Signal signal() const { return signal_; }

 private:
  // Updates the usual distance of rows, and remembers whether one came late.
  void SeeDistances(std::span<const Sample> sweep);

  Signal signal_;
  std::int64_t apart_;
  std::optional<Instant> last_;
  std::int64_t usual_ = 0;      // ns from row to row
  bool late_ = false;           // a row came late since the rows last fitted
  std::vector<double> levels_;  // usual reading, by place
  bool any_ = false;
  int moved_ = 0;   // consecutive sweeps that fit shifted places
  int unlike_ = 0;  // consecutive sweeps that fit nothing, as when a job begins
};

// Describes turns for people: "memory.used goes to and fro between 10240 MiB and 40960 MiB from row to row for 1024
// rows, as of at least 2 GPUs by turns".
std::string Describe(const Turns& turns, std::string_view column);

// The largest number of GPUs per sweep that is tested.
inline constexpr int kMaxSweep = 64;

// How many GPUs wrote the rows, as far as the rows prove it.
struct SweepFinding {
  int gpus = 0;     // 0: not proven
  std::string why;  // why it is not proven, for people
  // By number of GPUs: the share of time in whole sweeps of that many rows, times the usual share of the pause in a
  // sweep. 0: not tested.
  std::array<double, kMaxSweep + 1> share{};
  Turns turns;  // of rows at even distances
};

// Judges rows in log order. nvidia-smi writes a row for each GPU and then pauses, so a pause after every G rows shows G
// GPUs. The pauses must take at least 90 % of the time, and the stamps must be finer than a sweep. With coarser stamps,
// readings that stay with a position are the proof (memory, temperature, model). One GPU is proven by evenly spaced
// rows without any pattern.
// Known limit: two loggers of one GPU that run in step look like two GPUs.
// `device` of a sample is the number of its model's name, equal in all rows if the log has no names. `expected`: the
// number that other rows showed, which is tested first.
SweepFinding FindSweeps(std::span<const Sample> rows, int expected = 0);

// Joins the pieces of a sweep that a late row tore apart. With 8 GPUs the pieces may be 3 and 5 rows, or 3 rows and
// 13 together with the next sweep. A piece with a missing row fits nothing and is dropped. FindSweeps and
// SweepIdentity share it, so that rows are judged and placed by the same rule.
class SweepPool {
 public:
  explicit SweepPool(std::size_t gpus) : gpus_(gpus) {}

  enum class Fate : std::uint8_t {
    kWhole,  // completes what waited: one sweep or two
    kAlone,  // a whole sweep; what waited is dropped
    kWaits,  // waits together with what waited
    kNew,    // waits; what waited is dropped
    kNone,   // is dropped, and so is what waited
  };
  // Judges the next piece between two pauses. `span`: its length in ns. `before`: ns from the start of the previous
  // piece. `pause`: the usual pause.
  Fate Next(std::size_t rows, std::int64_t span, std::int64_t before, std::int64_t pause);

 private:
  std::size_t gpus_;
  std::size_t waiting_ = 0;   // rows
  std::int64_t elapsed_ = 0;  // from the start of the first to the start of the last
};

// For `gpus` rows per sweep: at [i], the shortest pause before row i that separates sweeps, which is half of the usual
// pause nearby. [0] has no meaning.
std::vector<std::int64_t> PausesFrom(std::span<const Sample> rows, int gpus);

// Nanoseconds from one row to the next, at most 30 days. A clock set back counts as a pause. Stamps swapped within a
// sweep count as 0.
std::int64_t Apart(const Sample& before, const Sample& row);

// Gives every row of a log that names no GPU its position in the sweep. Rows are held until the number of GPUs is
// proven (FindSweeps) or given by the user. They are then placed in blocks, and each block is judged again: a log whose
// later rows prove another number is refused. A sweep with missing rows is dropped whole, because nothing shows which
// row is missing. A sweep torn by a late row is joined. Memory: at most 16 blocks of 4096 rows. Errors begin with a
// line number: "812: ...".
class SweepIdentity {
 public:
  // `said`: --gpus.
  explicit SweepIdentity(std::optional<int> said) : said_(said), gpus_(said.value_or(0)) {}

  // Adds the next row of the log. `device` is the number of its model's name, 0 if the log has no names.
  Result<void> Add(const Sample& row, std::int64_t line);
  Result<void> Finish();

  // The rows placed since the last call, in order. `device` is now the position.
  std::vector<Sample> TakePlaced();
  // By position, the number of the model's name. Filled once a row was placed.
  [[nodiscard]] const std::vector<DeviceId>& names() const { return names_; }
  [[nodiscard]] int gpus() const { return gpus_; }  // 0: unknown so far
  [[nodiscard]] std::int64_t dropped() const { return dropped_; }
  [[nodiscard]] std::int64_t first_dropped() const { return first_dropped_; }  // its line
  [[nodiscard]] std::int64_t cut_off() const { return cut_off_; }  // rows of the sweep that the end of the log cut off

 private:
  // Rows between two pauses, and their lines.
  struct Piece {
    std::vector<Sample> rows;
    std::vector<std::int64_t> lines;

    void Add(const Sample& row, std::int64_t line);
    void Append(const Piece& other);
    [[nodiscard]] std::int64_t Span() const { return (rows.back().time - rows.front().time).count(); }
  };

  // Private steps: judge a block, compare it with what is known, place its rows, end a piece, emit or drop a sweep.
  Result<void> TakeBlock();
  [[nodiscard]] Result<void> CheckAgrees(const SweepFinding& finding, std::int64_t line) const;
  Result<void> Place();
  [[nodiscard]] std::vector<std::int64_t> BlockPauses() const;
  Result<void> Close(std::int64_t pause);
  [[nodiscard]] Result<void> RefuseMore() const;
  Result<void> Emit(Piece& sweep);
  Result<void> Drop(Piece& piece);

  // What the user said, and what the rows have shown so far.
  std::optional<int> said_;
  int gpus_;
  bool by_count_ = false;  // the user gave the number, and the stamps show no sweeps
  Piece block_;            // rows not placed yet
  std::size_t judged_ = 0;
  std::string why_;  // why the first block proved nothing
  int blocks_ = 0;
  int unclear_ = 0;
  std::optional<Sample> last_;  // the last row placed
  std::int64_t pause_ = 0;      // the last pause that separated sweeps
  Piece open_;                  // the current sweep
  Piece waiting_;               // earlier pieces that are not a whole sweep yet
  Instant piece_start_;         // of the last piece
  std::optional<SweepPool> pool_;
  std::optional<TurnOrder> order_;  // of rows placed by count
  std::size_t odd_rows_ = 0;        // rows of each of the last dropped sweeps, all equal
  int odd_sweeps_ = 0;
  std::int64_t odd_line_ = 0;
  std::size_t more_rows_ = 0;  // of a sweep with more rows than GPUs, after the last whole one
  std::int64_t more_line_ = 0;
  std::vector<DeviceId> names_;
  std::vector<Sample> placed_;
  std::int64_t all_ = 0;
  std::int64_t dropped_ = 0;
  std::int64_t first_dropped_ = 0;
  std::int64_t cut_off_ = 0;
};

}  // namespace idleburn
