#include <algorithm>
#include <array>
#include <optional>

#include "import/printed_values.h"
#include "import/smi_rows.h"
#include "telemetry/sample.h"
#include "text/number.h"
#include "text/strings.h"

namespace idleburn {

// The header of an nvidia-smi log. Names decide, never positions. A query may ask for two columns of one signal, such
// as power.draw and power.draw.instant, and a board may have a value in only one of them. So the header only ranks
// the columns, and the first row with a value chooses (SmiLayout::Settle).

namespace {

// A column that idleburn reads.
struct Known {
  std::string_view name;
  SmiRole role;
  Signal signal;
  int rank;  // of several columns with a value for one signal, the lowest rank is used
};

// power.draw is the 1 s average on boards that have one, and instantaneous on others. The explicit columns are used
// only if it is missing.
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
    {"pcie.link.gen.gpucurrent", SmiRole::kLinkGeneration, Signal::kUtilization, 0},
    {"pcie.link.gen.current", SmiRole::kLinkGeneration, Signal::kUtilization, 1},
    {"pcie.link.gen.max", SmiRole::kLinkMostGeneration, Signal::kUtilization, 0},
    {"pcie.link.width.current", SmiRole::kLinkWidth, Signal::kUtilization, 0},
    {"pcie.link.width.max", SmiRole::kLinkMostWidth, Signal::kUtilization, 0},
});

// Flags rank behind the masks that they make up.
constexpr int kRankOfFlags = 2;

// Columns of nvidia-smi without a dot in their name. They help to recognize a header.
constexpr auto kUndotted = std::to_array<std::string_view>(
    {"count", "serial", "pstate", "driver_version", "vbios_version", "persistence_mode", "addressing_mode",
     "compute_mode", "compute_cap", "display_mode", "display_active", "display_attached"});

// nvidia-smi's default unit, for columns that show none.
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

// Null if idleburn does not read a column of that name. Case does not matter.
const Known* FindKnown(std::string_view name) {
  const auto* found =
      std::find_if(kKnown.begin(), kKnown.end(), [&](const Known& k) { return EqualsIgnoreCase(k.name, name); });
  return found == kKnown.end() ? nullptr : found;
}

// The bit of a column such as "clocks_event_reasons.gpu_idle". Absent for other columns.
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

// True for "2026-07-03T22:22:01Z timestamp": a log collector may have put its own time or name before each line.
bool EndsWithTime(std::string_view header) {
  const auto last =
      std::find_if(header.rbegin(), header.rend(), [](char c) { return static_cast<unsigned char>(c) <= ' '; });
  const Known* known = FindKnown(header.substr(header.size() - static_cast<std::size_t>(last - header.rbegin())));
  return last != header.rend() && known != nullptr && known->role == SmiRole::kTime;
}

// Splits "power.draw [W]" into name and unit.
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

// Whether the column tells a signal.
bool IsMeasured(const SmiColumn& column) {
  return column.role == SmiRole::kValue || column.role == SmiRole::kMask || column.role == SmiRole::kFlag;
}

// Whether only one of the two columns is to be read: two of one signal, or two of one identity. Flags are parts of
// one mask, so they are no rivals of each other.
bool AreRivals(const SmiColumn& a, const SmiColumn& b) {
  if (a.role == SmiRole::kFlag && b.role == SmiRole::kFlag) return false;
  if (IsMeasured(a) && IsMeasured(b)) return a.signal == b.signal;
  return a.role == b.role && a.role != SmiRole::kIgnored;
}

// Ignores all rivals of the chosen column.
void IgnoreOthers(std::size_t chosen, std::vector<SmiColumn>& columns) {
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (i != chosen && AreRivals(columns[i], columns[chosen])) columns[i].role = SmiRole::kIgnored;
  }
}

// Of the columns that `is` selects, the one of the lowest rank, then the first.
template <typename Is>
std::optional<std::size_t> Best(const std::vector<SmiColumn>& columns, Is is) {
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (is(i) && (!best || columns[i].rank < columns[*best].rank)) best = i;
  }
  return best;
}

// Whether a cell has a value, so that its column may be chosen.
bool HasValue(const SmiColumn& column, std::string_view cell) {
  if (column.role == SmiRole::kFlag) return cell == "Active" || cell == "Not Active";
  return ReadQuantity(cell, Info(column.signal).unit, column.unit).value.has_value();
}

// Chooses the best column for time and identity now. Which column tells a signal is left to the rows
// (SmiLayout::Settle), because a board may answer "[N/A]" in the preferred one.
void IgnoreRivals(SmiLayout& layout) {
  std::vector<SmiColumn>& columns = layout.columns;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (!AreRivals(columns[i], columns[j])) continue;
      if (IsMeasured(columns[i])) {
        layout.unsettled |= Bit(columns[i].signal);
      } else {
        columns[columns[i].rank < columns[j].rank ? j : i].role = SmiRole::kIgnored;
      }
    }
  }
}

}  // namespace

// The best column with a value in this row wins. A better one whose value comes later is ignored: two counters of one
// signal must not mix.
void SmiLayout::Settle(std::span<const std::string_view> cells) {
  for (std::uint32_t bits = unsettled; bits != 0; bits &= bits - 1) {
    const std::uint32_t bit = bits & ~(bits - 1);
    const std::optional<std::size_t> best = Best(columns, [&](std::size_t i) {
      return IsMeasured(columns[i]) && Bit(columns[i].signal) == bit && HasValue(columns[i], cells[i]);
    });
    if (!best) continue;
    IgnoreOthers(*best, columns);
    unsettled &= ~bit;
  }
}

SmiLayout SmiLayout::Preferred() const {
  SmiLayout layout = *this;
  for (; layout.unsettled != 0; layout.unsettled &= layout.unsettled - 1) {
    const std::uint32_t bit = layout.unsettled & ~(layout.unsettled - 1);
    IgnoreOthers(*Best(columns, [&](std::size_t i) { return IsMeasured(columns[i]) && Bit(columns[i].signal) == bit; }),
                 layout.columns);
  }
  return layout;
}

// A line with a column that tells a signal. It also needs a time, or only names that nvidia-smi uses: a table with
// other columns is read by its usual names instead (RecognizeColumns).
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
    // nvidia-smi's own fields have a dot in their name, except for a few.
    all_smi = all_smi && (known != nullptr || column.header.find('.') != std::string::npos ||
                          std::find(kUndotted.begin(), kUndotted.end(), column.header) != kUndotted.end());
  }
  return value && (time || all_smi);
}

// Binds each cell, then chooses among rivals, then checks what the whole line must have.
Result<SmiLayout> BindSmiHeader(std::string_view line, const std::string& file, DataQuality& quality) {
  SmiLayout layout;
  std::string mangled;
  for (const std::string_view cell : Split(line, ',')) {
    SmiColumn column = ReadHeaderCell(cell);
    if (const Known* known = FindKnown(column.header)) {
      column.role = known->role;
      column.signal = known->signal;
      column.rank = known->rank;
    } else if (const std::optional<int> bit = FindFlag(column.header)) {
      column.role = SmiRole::kFlag;
      column.rank = kRankOfFlags;
      column.signal = Signal::kEventReasons;
      column.flag_bit = *bit;
    } else {
      if (EndsWithTime(column.header)) mangled = column.header;
      quality.CountNamed(QualityId::kUnknownColumn, column.header, {&file, 1});
    }
    if (column.role == SmiRole::kValue) {
      const Unit unit = Info(column.signal).unit;
      column.unit_shown = !column.unit.empty();
      if (!column.unit_shown) column.unit = OwnUnit(unit);
      // A unit of another kind means that the columns and their titles do not belong together.
      if (FindUnitScale(column.unit, unit) == nullptr) {
        return Fail("column '" + column.header + "' has the unit [" + column.unit.substr(0, 20) +
                    "], which does not fit the column; fix the header");
      }
    }
    layout.columns.push_back(std::move(column));
  }
  IgnoreRivals(layout);
  const auto has = [&](SmiRole role) {
    return std::any_of(layout.columns.begin(), layout.columns.end(),
                       [role](const SmiColumn& column) { return column.role == role; });
  };
  layout.has_time = has(SmiRole::kTime);
  if (!layout.has_time && !mangled.empty()) {
    return Fail("the header has other text before 'timestamp' ('" + Printable(mangled.substr(0, 40)) +
                "'), and perhaps every row has; remove that text");
  }
  // A UUID or bus id stays with its GPU; an index may move (IndexWatch).
  const bool lasting = has(SmiRole::kUuid) || has(SmiRole::kBusId);
  layout.by_index_alone = has(SmiRole::kIndex) && !lasting;
  layout.has_identity = has(SmiRole::kIndex) || lasting;
  layout.has_name = has(SmiRole::kName);
  if (!has(SmiRole::kValue) && !has(SmiRole::kMask) && !has(SmiRole::kFlag)) {
    return Fail("no column has a reading that idleburn uses; record at least timestamp, index, utilization.gpu");
  }
  return layout;
}

}  // namespace idleburn
