#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "import/csv_scan.h"
#include "import/printed_values.h"
#include "telemetry/data_quality.h"
#include "telemetry/sample.h"
#include "text/time_zone.h"

namespace idleburn {

// Reading logs of `nvidia-smi --query-gpu`: the header binds each column by name to a role, then the rows are read by
// those roles. The importer (import/nvidia_smi_csv.cc) owns a layout per log and a reader per worker.

// What a column of a log is for.
enum class SmiRole : std::uint8_t {
  kIgnored,
  kTime,
  kIndex,
  kUuid,
  kBusId,
  kName,
  kValue,
  kMask,
  kFlag,
  // Parts of the PCIe link (LinkPart).
  kLinkGeneration,
  kLinkMostGeneration,
  kLinkWidth,
  kLinkMostWidth,
};

// One column of a log: what it is for and how its cells are read.
struct SmiColumn {
  SmiRole role = SmiRole::kIgnored;
  Signal signal = Signal::kUtilization;  // of kValue, kMask
  int flag_bit = 0;                      // of kFlag: the clock-event bit that this Active/Not Active column shows
  int rank = 0;                          // of several columns for one signal, the lowest is preferred
  std::string header;                    // as written, without its unit
  std::string unit;                      // of kValue: the unit of its bare numbers
  bool unit_shown = false;               // the header names the unit in brackets; else it is nvidia-smi's default
};

// The columns of one log, bound by name and never by position: queries differ, and drivers add columns.
struct SmiLayout {
  std::vector<SmiColumn> columns;
  bool has_time = false;
  bool has_identity = false;  // a column of index, uuid or bus id
  bool has_name = false;      // a column of the model
  bool by_index_alone = false;
  // Signals with several columns, none of which has had a value yet. "[N/A]" in one column says nothing about the
  // others. The first row with a value in one of them decides for the whole log, and the others are then ignored. All
  // flag columns count as one column.
  std::uint32_t unsettled = 0;

  // Decides by the cells of a row, one cell per column. Decided signals stay as they are.
  void Settle(std::span<const std::string_view> cells);
  // A copy in which every undecided signal uses its preferred column.
  [[nodiscard]] SmiLayout Preferred() const;
};

// True if the line looks like the header of such a log, even if it lacks columns that an audit needs.
bool IsSmiHeader(std::string_view line);
// Binds a header line. Unknown columns are counted. Fails, without naming the place, if no column can be measured.
Result<SmiLayout> BindSmiHeader(std::string_view line, const std::string& file, DataQuality& quality);

// The cells that identify the GPU of a row, as written. A cell is empty if the log has no such column.
struct RowIdentity {
  std::string_view index;
  std::string_view uuid;
  std::string_view bus_id;
  std::string_view name;
};

// How often a fault occurred.
struct FaultCount {
  std::int64_t count = 0;
  std::int64_t line = 0;  // of the first one, in the block, from 1
};

// Faults of the rows and cells of a block. A faulty cell is treated as missing. Kept apart from DataQuality, because
// blocks are read on several threads and counted in order.
struct RowFaults {
  FaultCount out_of_range;
  FaultCount not_finite;
  FaultCount unavailable;
  FaultCount zone_ambiguous;
  FaultCount unit_assumed;
  std::uint32_t units_assumed = 0;  // signals
  bool zone_assumed = false;        // a stamp without a zone was taken as UTC
};

// Reads the rows of a log. Most rows of a log look alike, so two paths read them: ReadUsualRows is fast and covers
// rows in the expected form, and Next reads everything else. Both give the same values. Not thread-safe: each worker
// has its own reader.
//
// A block is read as follows: Begin, then ReadUsualRows and Next in turns until AtEnd, then Columns for the usual
// rows and TakeFaults.
class SmiRowReader {
 public:
  // `layout` has no unsettled signals. `zone` may be null: stamps are UTC.
  SmiRowReader(const SmiLayout& layout, const TimeZone* zone);

  // Assigns rows with this identity to a device. ReadUsualRows only finds devices that were learned.
  void Learn(const RowIdentity& identity, DeviceId device);
  // The device of a row. Absent if it was not learned.
  [[nodiscard]] std::optional<DeviceId> Find(const RowIdentity& identity);
  // The cells of an identity as one key. Valid until the next call.
  [[nodiscard]] const std::string& Joined(const RowIdentity& identity);

  // Starts a block of lines and reads the numbers of all its rows that are in their usual form. The last line ends with
  // '\n'. LineBlock::kPad bytes before and after `text` must be readable, and `text` must stay until its last row is
  // read.
  void Begin(std::string_view text);
  [[nodiscard]] bool AtEnd() const { return line_ == delimiters_.lines(); }

  // Reads rows while they are usual: numbers in their usual form, a stamp within the same minute, and a learned device
  // if the log names devices. Returns the number of rows before one that Next must read, or before the end.
  std::size_t ReadUsualRows();

  // Lines that ReadUsualRows read. Valid until Begin.
  [[nodiscard]] SampleColumns Columns(std::size_t from, std::size_t lines) const;

  // What a line is: a row, blank, or neither.
  enum class Outcome : std::uint8_t { kRow, kBlank, kBad };
  // Reads the next line: the identity cells that the log has, and the sample without its device.
  Outcome Next(RowIdentity& identity, Sample& sample);
  // The number of lines of the block read so far.
  [[nodiscard]] std::size_t line() const { return line_; }
  // The text of the last line read, without its end.
  [[nodiscard]] std::string_view Line() const;
  // After Next returned kBad: what is wrong with that line and what to do, for people.
  [[nodiscard]] std::string WhyBad();
  // The number of cells of the last line if the line is a row, perhaps of other columns. It is a row if it has as many
  // cells as the header, or a time in one cell, or several cells where the log has no times. 0 if it is a message of a
  // driver or a shell.
  [[nodiscard]] std::size_t MisfitCells() const;

  // Faults since the previous call.
  RowFaults TakeFaults();

 private:
  // A column that identifies the GPU, and the field of RowIdentity that it fills.
  struct NamePart {
    std::size_t position;
    std::string_view RowIdentity::*part;
  };
  // A column of the event-reason mask, or of one bit of it.
  struct MaskPart {
    std::size_t position;
    SmiColumn column;
  };

  // Private steps of Next: a cell, then the cells of the row by role. False means that the cell or row is not as
  // expected.
  [[nodiscard]] std::string_view Cell(std::size_t position) const;
  bool ReadCells(Sample& sample, RowIdentity& identity);
  void PairNumbers();
  bool ReadNumbersOneByOne(Sample& sample);
  bool ReadNumber(std::size_t at, Sample& sample);
  bool ReadOddNumber(std::string_view cell, std::size_t at, Sample& sample);
  void Expect(std::size_t at, std::string_view number, const UnitScale& unit, std::string_view suffix);
  void Count(FaultCount& fault) const;
  bool ReadTime(std::string_view cell, Sample& sample);
  bool ReadMasks(Sample& sample, RowFaults& faults) const;
  bool ReadUsualMask(std::int64_t* mask);
  bool ReadMask(std::string_view cell, const MaskPart& mask, Sample& sample, RowFaults& faults) const;
  static bool ReadFlag(std::string_view cell, const MaskPart& flag, Sample& sample);

  // The number of columns of the log, and the columns by what reading them takes.
  std::size_t columns_;
  std::vector<NumberColumn> numbers_;    // each in the form of the last number read
  std::vector<SmiColumn> number_units_;  // the bound columns of numbers_
  std::vector<NumberPair> pairs_;        // of numbers_; an odd last one is paired with itself
  std::uint32_t present_ = 0;            // the signals of numbers_ and masks_
  std::optional<std::size_t> time_;
  std::vector<NamePart> names_;
  // Learned devices. Rows of a sweep keep their order, so the next device is guessed first.
  struct Known {
    std::vector<std::string> text;  // by names_
    DeviceId device;
  };
  std::vector<Known> known_;
  std::unordered_map<std::string, std::size_t> by_cells_;  // index into known_ by Joined cells
  std::string joined_;
  std::size_t guess_ = 0;
  std::vector<MaskPart> masks_;
  const TimeZone* zone_;
  RowFaults faults_;
  RowFaults faults_aside_;  // of rows that Next will read again, and count then

  Delimiters delimiters_;
  // By line of the block; the vectors may be longer. usual_ is 1 where values_ holds the numbers of the line.
  std::vector<std::uint8_t> usual_;
  std::vector<Instant> times_;
  std::vector<DeviceId> devices_;
  std::array<std::vector<std::int64_t>, kSignalCount> values_;  // by Index; empty but for present_
  std::array<std::int64_t*, kSignalCount> value_{};             // of values_
  const char* text_ = nullptr;
  std::size_t line_ = 0;                 // the next one
  std::span<const std::uint32_t> ends_;  // cell ends of the last line read

  // The last stamp's text up to its minute, and the instant of that minute.
  std::array<std::uint64_t, 2> minute_text_{};
  std::int64_t minute_ns_ = 0;
  Instant last_time_;
};

}  // namespace idleburn
