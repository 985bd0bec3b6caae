#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "import/smi_columns.h"
#include "telemetry/sample.h"
#include "text/time_zone.h"

namespace idleburn {

// Identity cells of a row, as written; empty where the log has no such column.
struct RowIdentity {
  std::string_view index;
  std::string_view uuid;
  std::string_view bus_id;
  std::string_view name;
};

// What is wrong with a row, or with a cell of it that is then treated as missing.
struct RowFaults {
  std::int64_t out_of_range = 0;
  std::int64_t not_finite = 0;
  std::int64_t unavailable = 0;
  std::int64_t zone_ambiguous = 0;
  bool unit_assumed = false;
};

// Reads the rows of a log with one layout. Not thread-safe: one per worker.
class SmiRowReader {
 public:
  // `zone` may be null: stamps are UTC.
  SmiRowReader(const SmiLayout& layout, const TimeZone* zone);

  enum class Outcome : std::uint8_t { kRow, kBlank, kBad };
  // Reads the row at `p` up to its '\n', which must exist and be followed by LineBlock::kPad readable bytes.
  // Fills sample (but not its device) and identity; *next is the start of the next line.
  Outcome Read(const char* p, Sample& sample, RowIdentity& identity, const char** next);

  // Faults since the last call.
  RowFaults TakeFaults();

 private:
  struct Field {
    explicit Field(const SmiColumn& column);
    // Expects `text` behind every value from now on: the unit as the log writes it, with its blank, or nothing.
    void ExpectSuffix(std::string_view text);
    void Scale(const SmiColumn& unit);

    ColumnRole role;
    Signal signal;
    std::int64_t most;            // readings from 0 to this need no second look
    std::int64_t whole = 1;       // a whole unit of the text in the signal's unit
    std::int64_t multiplier = 1;  // thousandths of one: x multiplier / divisor
    std::int64_t divisor = 1;
    std::uint64_t suffix_word = 1;  // up to eight bytes of suffix; this with a mask of 0 never matches
    std::uint64_t suffix_mask = 0;
    std::size_t suffix_length = 0;
    SmiColumn column;
  };

  const char* ReadOddValue(const char* p, Field& field, Sample& sample);
  const char* ReadTime(const char* p, Sample& sample);
  const char* ReadMask(const char* p, const Field& field, Sample& sample);
  bool ReadFlag(std::string_view cell, const Field& field, Sample& sample);

  std::vector<Field> fields_;
  const TimeZone* zone_;
  bool flags_make_mask_;
  RowFaults faults_;
  // The last stamp's text up to its minute, and the instant of that minute.
  char minute_text_[16] = {};
  std::int64_t minute_ns_ = 0;
  Instant last_time_;
};

}  // namespace idleburn
