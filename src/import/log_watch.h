#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "import/importer.h"
#include "telemetry/device.h"
#include "telemetry/sample.h"

namespace idleburn {

// Watches a log that knows its GPUs by index alone. Where a GPU falls off the bus, or comes back, the driver numbers
// those behind it anew: the last index is then missing, or new, and any other may mean another GPU than before. Such a
// log is refused, unless the memory in use shows that the GPU of the last index itself is what was lost.
class IndexWatch {
 public:
  // `devices` has the indices, and outlives the watch.
  explicit IndexWatch(const DeviceTable& devices) : devices_(devices) {}

  // Rows in the order of the log; `line` is that of the first.
  void OnSample(const Sample& sample, std::int64_t line);
  void OnColumns(const SampleColumns& rows, std::int64_t line);

  // At the end of the log: an error if an index may have meant two GPUs.
  [[nodiscard]] Result<void> Verdict(const std::string& file) const;

 private:
  // So many rows of a GPU without the other make a loss: a sweep that is cut short, or two writers of one file that
  // are a little apart, make fewer.
  static constexpr std::int64_t kSurely = 5;

  struct Known {
    std::int64_t rows = 0;
    Instant surely;  // time of row kSurely
    Instant last;
    std::optional<std::int64_t> memory;  // in use, bytes
    std::optional<std::int64_t> total;
    // Since the last row of the highest index, if `sweep` is the present one:
    std::int64_t sweep = 0;
    std::int64_t rows_after = 0;
    std::optional<std::int64_t> memory_before;
    std::optional<std::int64_t> memory_after;
  };
  struct Event {
    std::int64_t line = 0;  // 0: there was none
    int index = 0;
    Instant time;
  };

  void OnNewHighest(int index, Instant time, std::int64_t line);
  void OnLower(Known& known, Instant time, std::int64_t line);
  void CheckTotal(Known& known, std::int64_t total, int index, std::int64_t line);
  [[nodiscard]] bool Lost() const;
  [[nodiscard]] bool Came() const;
  [[nodiscard]] bool OthersStayed() const;

  const DeviceTable& devices_;
  std::vector<Known> known_;  // by index
  std::int64_t sweep_ = 0;    // rows of the highest index so far
  Instant last_of_highest_;
  std::int64_t line_after_ = 0;  // of the first row after it
  Event came_;                   // a highest index that was not there from the start
  Event other_board_;            // an index that has the size of memory that another had
};

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

// Watches the fields of one input that count 0 to 100. On its way to the file such a field may have been divided by
// 100 (a recording rule, a spreadsheet): all of its values then look like 1 % at the most. nvidia-smi and DCGM count
// whole percents, so fractions that never exceed 1 are refused, and only 0 and 1 are a doubt that is shown. Where this
// is wrong, as of means of a GPU that idles, --unit percent says so. What --unit calls a ratio is multiplied by 100.
class PercentGuard final : public SampleSink {
 public:
  // All outlive it.
  PercentGuard(SampleSink& next, const DeviceTable& devices, const ImportOptions& options)
      : next_(next), devices_(devices), options_(options) {}

  void OnSamples(std::span<const Sample> samples) override;
  // Columns carry the unit that --columns gave them, and their importer asks for it itself.
  void OnColumns(const SampleColumns& columns) override { next_.OnColumns(columns); }
  // After the last sample of the input.
  Result<void> Check(const std::string& file, DataQuality& quality) const;

 private:
  struct Field {
    bool percent = false;  // it counts 0 to 100
    bool said = false;     // --unit names it, or all
    bool ratio = false;
    bool unit_written = false;  // the source writes its unit beside the values
    bool fraction = false;
    std::int64_t most = 0;  // micro-percent
  };
  Field& FieldOf(DeviceId device, Signal signal);
  [[nodiscard]] Field Describe(const std::string& counter, Signal signal) const;
  // Looks at the reading; true if it is to be multiplied.
  bool See(const Sample& sample, Signal signal);

  SampleSink& next_;
  const DeviceTable& devices_;
  const ImportOptions& options_;
  std::map<std::string, Field> fields_;  // by counter
  std::vector<std::uint32_t> settled_;   // by device: signals that need no second look
  std::vector<Sample> changed_;
};

}  // namespace idleburn
