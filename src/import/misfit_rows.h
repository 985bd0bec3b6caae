#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "base/result.h"

namespace idleburn {

// Rows of a log that are none of its header's, though they are rows and no lines that a driver or a shell wrote between
// them: of one number of cells, with no good row and none of another number between them.
struct MisfitRun {
  std::size_t cells = 0;
  std::int64_t good_before = 0;  // rows of the log before it that fit
  std::int64_t line = 0;         // of the first
  std::int64_t count = 0;
  std::string why;  // the first does not fit
};

// Watches for a log whose columns change without a new header. What it says from there on would be dropped row by row,
// and the time it was told for left out of the bill. A torn row or a few are none of that.
class MisfitRows {
 public:
  // `header_cells`: the columns of the log.
  explicit MisfitRows(std::size_t header_cells) : header_cells_(header_cells) {}

  // The next run, or more of the last one.
  void Add(const MisfitRun& run);
  // At the end of a log with so many good rows: an error if there was a long run of another number of cells, if the log
  // ends in a long run of any, or if rows of another number are many altogether.
  [[nodiscard]] Result<void> Verdict(std::int64_t good_rows, const std::string& file) const;

 private:
  // So many rows are no accident.
  static constexpr std::int64_t kSurely = 5;
  static constexpr std::int64_t kFewOf = 20;  // one in so many rows may be broken

  std::size_t header_cells_;
  MisfitRun last_;
  std::optional<MisfitRun> long_;              // the first of another number of cells
  std::map<std::size_t, MisfitRun> by_cells_;  // all that have another number of cells than the header
};

}  // namespace idleburn
