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

// Watches that see the rows of one log go by and refuse the log at its end if its figures would be wrong: GPU indices
// that moved, columns that changed without a header, percentages that were divided by 100. In each case single rows
// look harmless, and a bill made from them would be wrong. An importer feeds a watch while it reads and asks for the
// verdict after the last row.

// Watches a log that identifies GPUs by index alone. When a GPU falls off the bus or comes back, the driver renumbers
// the GPUs behind it. The last index is then missing or new, and any other index may mean a different GPU than
// before. Such a log is refused, unless memory in use shows that the GPU of the last index was the one that was lost.
//
// For example, GPU 1 of 0 to 3 falls off the bus. From then on rows of GPU 3 are missing, "1" means the old GPU 2,
// and "2" the old GPU 3.
class IndexWatch {
 public:
  // `devices` maps devices to indices, and outlives the watch.
  explicit IndexWatch(const DeviceTable& devices) : devices_(devices) {}

  // Rows in log order. `line` is that of the first row. Rows of devices without an index are ignored.
  void OnSample(const Sample& sample, std::int64_t line);
  void OnColumns(const SampleColumns& rows, std::int64_t line);

  // Call at the end of the log. Fails if an index may have meant two GPUs.
  [[nodiscard]] Result<void> Verdict(const std::string& file) const;

 private:
  // A GPU counts as lost after this many rows of another GPU without it. A sweep that is cut short produces fewer, and
  // so do two writers of one file that drift apart.
  static constexpr std::int64_t kSurely = 5;

  // What was seen of one index.
  struct Known {
    std::int64_t rows = 0;
    Instant surely;  // time of row kSurely
    Instant last;
    std::optional<std::int64_t> memory;  // in use, bytes
    std::optional<std::int64_t> total;
    // Since the last row of the highest index, valid if `sweep` equals sweep_:
    std::int64_t sweep = 0;
    std::int64_t rows_after = 0;
    std::optional<std::int64_t> memory_before;
    std::optional<std::int64_t> memory_after;
  };
  // The first row that shows renumbering, for the message.
  struct Event {
    std::int64_t line = 0;  // 0: no event
    int index = 0;
    Instant time;
  };

  // Private steps of OnSample, and the three questions of Verdict: was a GPU lost, did one come, did the others stay?
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
  Event came_;                   // a new highest index appeared late
  Event other_board_;            // an index has the memory size that another index had
};

// Consecutive rows that do not fit the header and have the same number of cells. Messages of a driver or a shell are
// not rows (SmiRowReader::MisfitCells).
struct MisfitRun {
  std::size_t cells = 0;
  std::int64_t good_before = 0;  // fitting rows of the log before the run
  std::int64_t line = 0;         // of the first
  std::int64_t count = 0;
  std::string why;  // the first row does not fit
};

// Watches for a log whose columns change without a new header, as when a restarted logger with another query appends
// to the same file. All later rows would be dropped one by one, and their time would be missing from the bill. A torn
// row or a few bad ones are harmless.
class MisfitRows {
 public:
  // `header_cells`: the number of columns.
  explicit MisfitRows(std::size_t header_cells) : header_cells_(header_cells) {}

  // Adds the next run, or extends the last one.
  void Add(const MisfitRun& run);
  // Call at the end of a log with `good_rows` fitting rows. Fails after a long run with another number of cells, if the
  // log ends in a long run, or if misfits are frequent overall.
  [[nodiscard]] Result<void> Verdict(std::int64_t good_rows, const std::string& file) const;

 private:
  // A run of this many rows is no accident.
  static constexpr std::int64_t kSurely = 5;
  static constexpr std::int64_t kFewOf = 20;  // one row in 20 may be broken

  std::size_t header_cells_;
  MisfitRun last_;
  std::optional<MisfitRun> long_;              // the first long run with another number of cells
  std::map<std::size_t, MisfitRun> by_cells_;  // totals, without rows of header_cells_ cells
};

// Watches the fields of one input that count 0 to 100. Such a field may have been divided by 100 on its way into the
// file, by a recording rule or a spreadsheet: all its values then look like 1 % at most. nvidia-smi and DCGM count
// whole percents, so a field with fractions that never exceeds 1 is an error. A field of only 0 and 1 is a doubt that
// the report shows. --unit percent overrides this, for example for averages of an idle GPU. Fields that --unit calls
// a ratio are multiplied by 100.
//
//     0.97 0.98 0.21   ->  an error: ratio or percent?
//     0    1    0      ->  counted as kScaleUnproven, read as percent
//     0.3  1.4  97.2   ->  percent
class PercentGuard final : public SampleSink {
 public:
  // All references outlive the guard.
  PercentGuard(SampleSink& next, const DeviceTable& devices, const ImportOptions& options)
      : next_(next), devices_(devices), options_(options) {}

  void OnSamples(std::span<const Sample> samples) override;
  // Passed on unchanged: these columns carry the unit of --columns, and their importer checks it.
  void OnColumns(const SampleColumns& columns) override { next_.OnColumns(columns); }
  // Call after the last sample of the input. Fails if a field may be a ratio, or if --unit calls a field a ratio that
  // exceeds 1.
  Result<void> Check(const std::string& file, DataQuality& quality) const;

 private:
  // What is known about one field, and what its values have shown so far. Shared by all devices, because a field that
  // was divided by 100 was divided for all of them.
  struct Field {
    bool percent = false;  // it counts 0 to 100
    bool said = false;     // --unit names the field, or all fields
    bool ratio = false;
    bool unit_written = false;  // the source writes its unit beside the values
    bool fraction = false;
    std::int64_t most = 0;  // micro-percent
  };
  Field& FindField(DeviceId device, Signal signal);
  [[nodiscard]] Field Describe(const std::string& counter, Signal signal) const;
  // Looks at a reading. True if the reading must be multiplied by 100.
  bool See(const Sample& sample, Signal signal);

  SampleSink& next_;
  const DeviceTable& devices_;
  const ImportOptions& options_;
  std::map<std::string, Field> fields_;  // by counter
  std::vector<std::uint32_t> settled_;   // by device: signals that need no further look
  std::vector<Sample> changed_;
};

}  // namespace idleburn
