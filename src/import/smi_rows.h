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

// What a column of an nvidia-smi --query-gpu log is for.
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
  // Of the PCIe link, by import/link_facts.h.
  kLinkGeneration,
  kLinkMostGeneration,
  kLinkWidth,
  kLinkMostWidth,
};

struct SmiColumn {
  SmiRole role = SmiRole::kIgnored;
  Signal signal = Signal::kUtilization;  // of kValue, kMask
  int flag_bit = 0;                      // of kFlag: the clock-event bit this Active/Not Active column shows
  int rank = 0;                          // of columns that say the same the lowest is preferred
  std::string header;                    // as written, without its unit
  std::string unit;                      // of kValue: of its bare numbers
  bool unit_shown = false;               // in the header's brackets; else it is nvidia-smi's own
};

// How the columns of one log are bound, by name and never by position.
struct SmiLayout {
  std::vector<SmiColumn> columns;
  bool has_time = false;
  bool has_identity = false;  // a column of index, uuid or bus id
  bool has_name = false;      // a column of the model
  bool by_index_alone = false;
  // Signals that several columns tell, none of which has had a value: [N/A] in one says nothing of the others. The
  // first row with a value in one of them chooses for the whole log, the others are then ignored. All columns of flags
  // are one.
  std::uint32_t unsettled = 0;

  // Chooses by the cells of a row, as many as columns. What is settled stays.
  void Settle(std::span<const std::string_view> cells);
  // The same, with the preferred column for each signal that is not settled.
  [[nodiscard]] SmiLayout Preferred() const;
};

// True if the line looks like the header of such a log, be it one that lacks what an audit needs.
bool IsSmiHeader(std::string_view line);
// Binds a header line. Fails (without naming the place) if nothing can be measured; unknown columns are counted.
Result<SmiLayout> BindSmiHeader(std::string_view line, const std::string& file, DataQuality& quality);

// The cells of a row that say which GPU it is of, as written; empty where the log has no such column.
struct RowIdentity {
  std::string_view index;
  std::string_view uuid;
  std::string_view bus_id;
  std::string_view name;
};

// How often something was wrong.
struct FaultCount {
  std::int64_t count = 0;
  std::int64_t line = 0;  // of the first, among those of the block, from 1
};

// What is wrong with a row, or with a cell of it that is then treated as missing.
struct RowFaults {
  FaultCount out_of_range;
  FaultCount not_finite;
  FaultCount unavailable;
  FaultCount zone_ambiguous;
  FaultCount unit_assumed;
  std::uint32_t units_assumed = 0;  // signals
  bool zone_assumed = false;        // a stamp without a zone was taken as UTC
};

// Reads the rows of a log with one layout. Not thread-safe: one per worker.
class SmiRowReader {
 public:
  // `zone` may be null: stamps are UTC. Nothing of the layout is unsettled.
  SmiRowReader(const SmiLayout& layout, const TimeZone* zone);

  // Rows of this identity are of that device. To be told of each before ReadUsualRows can tell it.
  void Learn(const RowIdentity& identity, DeviceId device);
  // The device of a row; nothing if it was not learned.
  [[nodiscard]] std::optional<DeviceId> Find(const RowIdentity& identity);
  // The cells of an identity joined, good until the next call.
  [[nodiscard]] const std::string& Joined(const RowIdentity& identity);

  // Turns to the lines of `text`, the last of which ends with '\n'; LineBlock::kPad bytes before and after it may be
  // read. It stays as it is until the last of its rows was read. Reads the numbers of all rows in their usual form.
  void Begin(std::string_view text);
  [[nodiscard]] bool AtEnd() const { return line_ == delimiters_.lines(); }

  // Reads rows as they mostly are: numbers in their usual form, a stamp of the same minute, a device that was learned
  // (where the log names devices). Returns how many it read before one that Next must read, or the end.
  std::size_t ReadUsualRows();

  // Lines that ReadUsualRows read, good until Begin.
  [[nodiscard]] SampleColumns Columns(std::size_t from, std::size_t lines) const;

  enum class Outcome : std::uint8_t { kRow, kBlank, kBad };
  // Reads the next line: the parts of identity that the log has, and its sample but for the device.
  Outcome Next(RowIdentity& identity, Sample& sample);
  // Lines of the block read so far.
  [[nodiscard]] std::size_t line() const { return line_; }
  // The text of the line read last, without its end.
  [[nodiscard]] std::string_view Line() const;
  // Of that line, which Next said was bad: what is wrong with it and what to do, for people.
  [[nodiscard]] std::string WhyBad();
  // The number of its cells if it is a row nevertheless, be it of other columns: it has the header's number of cells,
  // or a time in one, or several cells where the log has no times. 0: a line of a driver or a shell.
  [[nodiscard]] std::size_t MisfitCells() const;

  // Faults since the last call.
  RowFaults TakeFaults();

 private:
  // A column that says which GPU a row is of.
  struct NamePart {
    std::size_t position;
    std::string_view RowIdentity::*part;
  };
  // A column of the mask, or of one of its bits.
  struct MaskPart {
    std::size_t position;
    SmiColumn column;
  };

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

  std::size_t columns_;
  std::vector<NumberColumn> numbers_;    // in the form of the last number read
  std::vector<SmiColumn> number_units_;  // of numbers_, as bound
  std::vector<NumberPair> pairs_;        // of numbers_; the last one twice if they are odd
  std::uint32_t present_ = 0;            // the signals of numbers_ and masks_
  std::optional<std::size_t> time_;
  std::vector<NamePart> names_;
  // Devices learned. Rows of a sweep come in the same order each time, so the next one is guessed first.
  struct Known {
    std::vector<std::string> text;  // by names_
    DeviceId device;
  };
  std::vector<Known> known_;
  std::unordered_map<std::string, std::size_t> by_cells_;  // of known_, by their cells joined
  std::string joined_;
  std::size_t guess_ = 0;
  std::vector<MaskPart> masks_;
  const TimeZone* zone_;
  RowFaults faults_;
  RowFaults faults_aside_;  // of rows that Next will read, and find them again

  Delimiters delimiters_;
  // Of the lines of the block, perhaps more: usual_ is 1 where values_ has the numbers of the line.
  std::vector<std::uint8_t> usual_;
  std::vector<Instant> times_;
  std::vector<DeviceId> devices_;
  std::array<std::vector<std::int64_t>, kSignalCount> values_;  // by Index; empty but for present_
  std::array<std::int64_t*, kSignalCount> value_{};             // of values_
  const char* text_ = nullptr;
  std::size_t line_ = 0;                 // the next one
  std::span<const std::uint32_t> ends_;  // of the cells of the line read last

  // The last stamp's text up to its minute, and the instant of that minute.
  std::array<std::uint64_t, 2> minute_text_{};
  std::int64_t minute_ns_ = 0;
  Instant last_time_;
};

}  // namespace idleburn
