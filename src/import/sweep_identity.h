#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "import/sweep_finding.h"
#include "telemetry/sample.h"

namespace idleburn {

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
