#include "import/smi_columns.h"

#include <algorithm>
#include <array>

#include "telemetry/event_reasons.h"
#include "text/escape.h"
#include "text/number.h"
#include "text/split.h"

namespace idleburn {
namespace {

struct Known {
  std::string_view name;
  SmiRole role;
  Signal signal;
  int rank;  // of several columns for one signal the lowest rank is used
};

// power.draw is the 1 s average on boards that have one and instantaneous on the others; the explicit columns are
// taken only where it is missing.
constexpr auto kKnown = std::to_array<Known>({
    {"timestamp", SmiRole::kTime, Signal::kUtilization, 0},
    {"index", SmiRole::kIndex, Signal::kUtilization, 0},
    {"uuid", SmiRole::kUuid, Signal::kUtilization, 0},
    {"gpu_uuid", SmiRole::kUuid, Signal::kUtilization, 1},
    {"pci.bus_id", SmiRole::kBusId, Signal::kUtilization, 0},
    {"gpu_bus_id", SmiRole::kBusId, Signal::kUtilization, 1},
    {"name", SmiRole::kName, Signal::kUtilization, 0},
    {"gpu_name", SmiRole::kName, Signal::kUtilization, 1},
    {"utilization.gpu", SmiRole::kValue, Signal::kUtilization, 0},
    {"utilization.memory", SmiRole::kValue, Signal::kMemoryUtilization, 0},
    {"utilization.encoder", SmiRole::kValue, Signal::kEncoderUtilization, 0},
    {"utilization.decoder", SmiRole::kValue, Signal::kDecoderUtilization, 0},
    {"power.draw", SmiRole::kValue, Signal::kPower, 0},
    {"power.draw.average", SmiRole::kValue, Signal::kPower, 1},
    {"power.draw.instant", SmiRole::kValue, Signal::kPower, 2},
    {"enforced.power.limit", SmiRole::kValue, Signal::kPowerLimit, 0},
    {"power.limit", SmiRole::kValue, Signal::kPowerLimit, 1},
    {"power.default_limit", SmiRole::kValue, Signal::kPowerDefaultLimit, 0},
    {"clocks.current.sm", SmiRole::kValue, Signal::kSmClock, 0},
    {"clocks.sm", SmiRole::kValue, Signal::kSmClock, 1},
    {"clocks.max.sm", SmiRole::kValue, Signal::kMaxSmClock, 0},
    {"memory.used", SmiRole::kValue, Signal::kMemoryUsed, 0},
    {"memory.total", SmiRole::kValue, Signal::kMemoryTotal, 0},
    {"temperature.gpu", SmiRole::kValue, Signal::kTemperature, 0},
    {"clocks_event_reasons.active", SmiRole::kMask, Signal::kEventReasons, 0},
    {"clocks_throttle_reasons.active", SmiRole::kMask, Signal::kEventReasons, 1},
});

// Others without a dot in their name.
constexpr auto kUndotted = std::to_array<std::string_view>(
    {"count", "serial", "pstate", "driver_version", "vbios_version", "persistence_mode", "addressing_mode",
     "compute_mode", "compute_cap", "display_mode", "display_active", "display_attached"});

struct UnitScale {
  std::string_view text;
  Unit unit;
  std::int64_t multiplier;  // thousandths of the text's unit to the signal's unit
  std::int64_t divisor;
};
constexpr auto kUnits = std::to_array<UnitScale>({
    {"%", Unit::kMicroPercent, 1000, 1},
    {"W", Unit::kMilliwatt, 1, 1},
    {"mW", Unit::kMilliwatt, 1, 1000},
    {"MHz", Unit::kKilohertz, 1, 1},
    {"KiB", Unit::kByte, 1024, 1000},
    {"MiB", Unit::kByte, std::int64_t{1} << 20, 1000},
    {"GiB", Unit::kByte, std::int64_t{1} << 30, 1000},
    {"MB", Unit::kByte, std::int64_t{1} << 20, 1000},  // old drivers print MB and mean MiB
    {"C", Unit::kMillicelsius, 1, 1},
});

// nvidia-smi's own unit, for columns that show none.
constexpr std::string_view OwnUnit(Unit unit) {
  switch (unit) {
    case Unit::kMicroPercent:
      return "%";
    case Unit::kMilliwatt:
      return "W";
    case Unit::kKilohertz:
      return "MHz";
    case Unit::kByte:
      return "MiB";
    default:
      return "C";
  }
}

const Known* FindKnown(std::string_view name) {
  const auto* found =
      std::find_if(kKnown.begin(), kKnown.end(), [&](const Known& k) { return EqualsIgnoreCase(k.name, name); });
  return found == kKnown.end() ? nullptr : found;
}

std::optional<int> FindFlag(std::string_view name) {
  for (const std::string_view prefix :
       {std::string_view("clocks_event_reasons."), std::string_view("clocks_throttle_reasons.")}) {
    if (name.substr(0, prefix.size()) != prefix) continue;
    const std::string_view reason = name.substr(prefix.size());
    for (std::size_t bit = 0; bit < kEventReasonCount; ++bit) {
      if (kEventReasonTable[bit].nvidia_smi == reason) return static_cast<int>(bit);
    }
  }
  return std::nullopt;
}

// "2026-07-03T22:22:01Z timestamp": what passes lines on may have put its own time or name before each.
bool EndsWithTime(std::string_view header) {
  const auto last =
      std::find_if(header.rbegin(), header.rend(), [](char c) { return static_cast<unsigned char>(c) <= ' '; });
  const Known* known = FindKnown(header.substr(header.size() - static_cast<std::size_t>(last - header.rbegin())));
  return last != header.rend() && known != nullptr && known->role == SmiRole::kTime;
}

// "power.draw [W]" -> name and unit.
SmiColumn ReadHeaderCell(std::string_view cell) {
  SmiColumn column;
  const std::size_t bracket = cell.find('[');
  if (bracket != std::string_view::npos && !cell.empty() && cell.back() == ']') {
    column.unit = Trim(cell.substr(bracket + 1, cell.size() - bracket - 2));
    cell = Trim(cell.substr(0, bracket));
  }
  column.header = cell;
  return column;
}

// Of several columns with one role or signal, keeps the best; the rest are ignored.
void KeepBest(std::vector<SmiColumn>& columns, const std::vector<int>& ranks) {
  for (std::size_t i = 0; i < columns.size(); ++i) {
    for (std::size_t j = 0; j < columns.size(); ++j) {
      const bool rivals = i != j && columns[i].role == columns[j].role && columns[i].role != SmiRole::kIgnored &&
                          columns[i].role != SmiRole::kFlag && columns[i].signal == columns[j].signal;
      if (rivals && (ranks[j] < ranks[i] || (ranks[j] == ranks[i] && j < i))) {
        columns[i].role = SmiRole::kIgnored;
        break;
      }
    }
  }
}

}  // namespace

std::string SmiLayout::CounterOf(Signal signal) const {
  for (const SmiColumn& column : columns) {
    if ((column.role == SmiRole::kValue || column.role == SmiRole::kMask) && column.signal == signal) {
      return "nvidia_smi." + column.header;
    }
  }
  return "nvidia_smi." + std::string(Info(signal).name);
}

bool SetUnit(SmiColumn& column, std::string_view unit) {
  for (const UnitScale& scale : kUnits) {
    if (scale.text == unit && scale.unit == Info(column.signal).unit) {
      column.multiplier = scale.multiplier;
      column.divisor = scale.divisor;
      return true;
    }
  }
  return false;
}

bool IsSmiHeader(std::string_view line) {
  bool time = false;
  bool value = false;
  bool all_smi = true;  // else it may be a table of other columns with a time of its own
  for (const std::string_view cell : Split(line.substr(0, 65536), ',')) {
    const SmiColumn column = ReadHeaderCell(cell);
    const Known* known = FindKnown(column.header);
    time = time || (known != nullptr && known->role == SmiRole::kTime);
    value = value || (known != nullptr && (known->role == SmiRole::kValue || known->role == SmiRole::kMask)) ||
            FindFlag(column.header).has_value();
    all_smi = all_smi && (known != nullptr || column.header.find('.') != std::string::npos ||
                          std::find(kUndotted.begin(), kUndotted.end(), column.header) != kUndotted.end());
  }
  return value && (time || all_smi);
}

Result<SmiLayout> BindSmiHeader(std::string_view line, const std::string& file, DataQuality& quality) {
  SmiLayout layout;
  std::vector<int> ranks;
  std::string mangled;
  for (const std::string_view cell : Split(line, ',')) {
    SmiColumn column = ReadHeaderCell(cell);
    int rank = 0;
    if (const Known* known = FindKnown(column.header)) {
      column.role = known->role;
      column.signal = known->signal;
      rank = known->rank;
    } else if (const std::optional<int> bit = FindFlag(column.header)) {
      column.role = SmiRole::kFlag;
      column.signal = Signal::kEventReasons;
      column.flag_bit = *bit;
    } else {
      if (EndsWithTime(column.header)) mangled = column.header;
      quality.CountNamed(QualityId::kUnknownColumn, column.header, {&file, 1});
    }
    if (column.role == SmiRole::kValue &&
        !SetUnit(column, column.unit.empty() ? OwnUnit(Info(column.signal).unit) : column.unit)) {
      return Fail("column '" + column.header + "' has the unit [" + column.unit.substr(0, 20) +
                  "], which is none of its kind; fix the header");
    }
    layout.columns.push_back(std::move(column));
    ranks.push_back(rank);
  }
  KeepBest(layout.columns, ranks);
  const auto has = [&](SmiRole role) {
    return std::any_of(layout.columns.begin(), layout.columns.end(),
                       [role](const SmiColumn& column) { return column.role == role; });
  };
  layout.has_time = has(SmiRole::kTime);
  if (!layout.has_time && !mangled.empty()) {
    return Fail("something stands before 'timestamp' in the header ('" + Printable(mangled.substr(0, 40)) +
                "'), so perhaps in every row; take it out of the file");
  }
  layout.has_mask = has(SmiRole::kMask);
  const bool lasting = has(SmiRole::kUuid) || has(SmiRole::kBusId);
  layout.by_index_alone = has(SmiRole::kIndex) && !lasting;
  layout.has_identity = has(SmiRole::kIndex) || lasting;
  if (!has(SmiRole::kValue) && !has(SmiRole::kMask) && !has(SmiRole::kFlag)) {
    return Fail("no column here can be measured; record at least timestamp, index, utilization.gpu");
  }
  if (!layout.has_time && !layout.has_identity) {
    return Fail("no column says when a row was read, or of which GPU; record timestamp, index and uuid too");
  }
  return layout;
}

}  // namespace idleburn
