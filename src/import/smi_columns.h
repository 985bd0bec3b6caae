#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "telemetry/data_quality.h"
#include "telemetry/sample.h"

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

}  // namespace idleburn
