#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "telemetry/data_quality.h"
#include "telemetry/sample.h"

namespace idleburn {

// What a column of an nvidia-smi --query-gpu log is for.
enum class SmiRole : std::uint8_t { kIgnored, kTime, kIndex, kUuid, kBusId, kName, kValue, kMask, kFlag };

struct SmiColumn {
  SmiRole role = SmiRole::kIgnored;
  Signal signal = Signal::kUtilization;  // of kValue, kMask
  int flag_bit = 0;                      // of kFlag: the clock-event bit this Active/Not Active column shows
  std::string header;                    // as written, without its unit
  std::string unit;                      // from the header's brackets, empty if none
  // The value in the signal's unit is text in thousandths x multiplier / divisor.
  std::int64_t multiplier = 1;
  std::int64_t divisor = 1;
};

// How the columns of one log are bound, by name and never by position.
struct SmiLayout {
  std::vector<SmiColumn> columns;
  bool has_time = false;
  bool has_identity = false;  // a column of index, uuid or bus id
  bool by_index_alone = false;
  bool has_mask = false;  // the mask column, which makes the flag columns redundant

  // "nvidia_smi.<header>" of the column that carries `signal`.
  [[nodiscard]] std::string CounterOf(Signal signal) const;
};

// True if the line looks like the header of such a log, be it one that lacks what an audit needs.
bool IsSmiHeader(std::string_view line);
// Binds a header line. Fails (without naming the place) if nothing can be measured; unknown columns are counted.
Result<SmiLayout> BindSmiHeader(std::string_view line, const std::string& file, DataQuality& quality);

// Sets the scale of a column for a unit as nvidia-smi prints it ("%", "W", "MiB", "MHz"); false if the unit does
// not belong to the column's signal.
bool SetUnit(SmiColumn& column, std::string_view unit);

}  // namespace idleburn
