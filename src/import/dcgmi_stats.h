#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "import/importer.h"
#include "import/leaves.h"
#include "text/line_reader.h"

namespace idleburn {

// `dcgmi stats -v -j JOB` (or `-p PID`): a table a GPU, of totals and averages over a whole job.

struct DcgmiGpu {
  std::string job;  // "train-40017"; empty if no line named one
  std::string id;   // DCGM's GPU id
  // By "<section>/<key>": "Performance Stats/SM Utilization (%)" -> "Avg: 91, Max: 100, Min: 0". A key that continues
  // the one above it is spelled out: "Slowdown Stats/Due to - Thermal (%)".
  Leaves leaves;
  std::vector<Leaves> processes;  // "PID", "Avg SM Utilization (%)", "Avg Memory Utilization (%)"
  std::int64_t line = 0;          // where its table begins
};

// One figure of a cell that holds several: ("Avg: 91, Max: 100, Min: 0", "Max") -> "100"; absent if it is not there.
std::optional<std::string_view> Figure(std::string_view cell, std::string_view name);

// Reads one GPU's table at a time. A row that is cut off is counted and skipped.
class DcgmiReader {
 public:
  DcgmiReader(ByteSource& in, DataQuality& quality);
  // True and the next GPU, or false at the end. An error if there is none at all.
  Result<bool> Next(DcgmiGpu* gpu);

 private:
  void TakeLine(std::string_view line);
  void TakeCell(std::string_view key, std::string_view value);

  LineReader lines_;
  DataQuality& quality_;
  std::string job_;
  std::optional<DcgmiGpu> open_;  // the table being read
  std::optional<DcgmiGpu> done_;  // the table before it
  std::string section_;
  std::string group_;    // "Due to", of the keys that continue it
  bool closed_ = false;  // the last line was the lower border of a table
  bool any_ = false;
};

bool SniffDcgmiStats(std::string_view head);
// A sample where a job starts, that carries its averages, and one where it ends, that says that nothing more is known,
// unless the next job starts there: enough to say how long a GPU worked or idled on average, and not when. Samples of
// one GPU are in order of time, those of several are not.
Result<void> ImportDcgmiStats(ByteSource& in, const ImportOptions& options, ImportTarget& out);

}  // namespace idleburn
