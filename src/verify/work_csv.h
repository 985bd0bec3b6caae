#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/byte_source.h"
#include "base/result.h"
#include "verify/counted_run.h"

namespace idleburn {

// A log of work as CSV: a header and a row for each step, epoch or window of time.
//   time_s       end of the row's interval in seconds, of the epoch or of any clock of its own; or `time`, the same or
//                RFC 3339
//   gpu_seconds  that were allocated, busy or not
//   steps, samples, tokens, epochs, requests   how many were done in it; none of them: the work is not known
//   work         counts as steps where there are none
//   arm, block   of a switchback: which of two settings was on, and in which block (a new one where arm changes)
// Other columns are passed over.
struct WorkTable {
  struct Block {
    std::string arm;  // empty: the table has none
    CountedRun run;   // without the name and hash of a file
  };
  std::vector<Block> blocks;  // one, where there are no arms; in order of time
};

// Whether text begins with such a header.
bool SniffWorkCsv(std::string_view head);

// Fails, naming line and column, on what is no number, is negative, or where times do not rise.
Result<WorkTable> ReadWorkCsv(ByteSource& in);

}  // namespace idleburn
