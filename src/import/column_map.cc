#include "import/column_map.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "import/metric_table.h"
#include "text/command_line.h"
#include "text/number.h"
#include "text/strings.h"

namespace idleburn {

// From names to meanings, in three layers of tables: roles (what a column can be), units (how its numbers are scaled)
// and aliases (how people name it). The unit of a column comes from the first source that has one: what the user
// wrote, the brackets of the header, the metric that the header names, the last word of the header, and at last the
// role's usual unit. The last is an assumption and is counted.
//
//     "Power.Draw [W]"           ->  power, in watts from the brackets
//     "DCGM_FI_DEV_FB_USED"      ->  memory, in MiB from the metric
//     "power_mw"                 ->  no alias; with --columns power=power_mw, in milliwatts from the last word
//     "util"                     ->  util, percent assumed

namespace {

using K = ColumnKind;
// Placeholder for roles that are not signals.
constexpr Signal kNoSignal = Signal::kUtilization;

// Assumed units are nvidia-smi's. DCGM's profiling counters are ratios.
constexpr std::array<ColumnRole, 31> kRoles = {{
    {"time", K::kTime, kNoSignal, ""},
    {"gpu", K::kGpu, kNoSignal, ""},
    {"uuid", K::kUuid, kNoSignal, ""},
    {"name", K::kName, kNoSignal, ""},
    {"host", K::kHost, kNoSignal, ""},
    {"mig", K::kMig, kNoSignal, ""},
    {"mig_profile", K::kMigProfile, kNoSignal, ""},
    {"owner", K::kOwner, kNoSignal, ""},
    {"util", K::kSignal, Signal::kUtilization, "percent"},
    {"memory_util", K::kSignal, Signal::kMemoryUtilization, "percent"},
    {"gr_engine_active", K::kSignal, Signal::kGrEngineActive, "ratio"},
    {"sm_active", K::kSignal, Signal::kSmActive, "ratio"},
    {"tensor_active", K::kSignal, Signal::kTensorActive, "ratio"},
    {"dram_active", K::kSignal, Signal::kDramActive, "ratio"},
    {"power", K::kSignal, Signal::kPower, "w"},
    {"power_limit", K::kSignal, Signal::kPowerLimit, "w"},
    {"energy", K::kSignal, Signal::kEnergy, "mj"},
    {"sm_clock", K::kSignal, Signal::kSmClock, "mhz"},
    {"max_sm_clock", K::kSignal, Signal::kMaxSmClock, "mhz"},
    {"memory", K::kSignal, Signal::kMemoryUsed, "mib"},
    {"memory_total", K::kSignal, Signal::kMemoryTotal, "mib"},
    {"temperature", K::kSignal, Signal::kTemperature, "c"},
    {"reasons", K::kSignal, Signal::kEventReasons, ""},
    {"processes", K::kSignal, Signal::kProcesses, ""},
    {"power_default_limit", K::kSignal, Signal::kPowerDefaultLimit, "w"},
    {"pcie_rx", K::kSignal, Signal::kPcieRx, "b/s"},
    {"pcie_tx", K::kSignal, Signal::kPcieTx, "b/s"},
    {"nvlink", K::kSignal, Signal::kNvlink, "b/s"},
    {"encoder_util", K::kSignal, Signal::kEncoderUtilization, "percent"},
    {"decoder_util", K::kSignal, Signal::kDecoderUtilization, "percent"},
    {"xid", K::kSignal, Signal::kXid, ""},
}};

// Units in --columns, headers and cells. Here "mb" is decimal, unlike nvidia-smi's MB.
constexpr std::array<ColumnUnit, 39> kUnits = {{
    {"percent", Unit::kMicroPercent, 6, 1, 1},
    {"pct", Unit::kMicroPercent, 6, 1, 1},
    {"%", Unit::kMicroPercent, 6, 1, 1},
    {"ratio", Unit::kMicroPercent, 8, 1, 1},
    {"fraction", Unit::kMicroPercent, 8, 1, 1},
    {"w", Unit::kMilliwatt, 3, 1, 1},
    {"watts", Unit::kMilliwatt, 3, 1, 1},
    {"mw", Unit::kMilliwatt, 0, 1, 1},
    {"milliwatts", Unit::kMilliwatt, 0, 1, 1},
    {"kw", Unit::kMilliwatt, 6, 1, 1},
    {"j", Unit::kMillijoule, 3, 1, 1},
    {"joules", Unit::kMillijoule, 3, 1, 1},
    {"mj", Unit::kMillijoule, 0, 1, 1},
    {"kj", Unit::kMillijoule, 6, 1, 1},
    {"wh", Unit::kMillijoule, 6, 18, 5},  // 3,600 J
    {"kwh", Unit::kMillijoule, 9, 18, 5},
    {"mhz", Unit::kKilohertz, 3, 1, 1},
    {"khz", Unit::kKilohertz, 0, 1, 1},
    {"hz", Unit::kKilohertz, 0, 1, 1000},
    {"hertz", Unit::kKilohertz, 0, 1, 1000},
    {"ghz", Unit::kKilohertz, 6, 1, 1},
    {"b", Unit::kByte, 0, 1, 1},
    {"bytes", Unit::kByte, 0, 1, 1},
    {"kib", Unit::kByte, 3, 128, 125},  // 1,024 / 10^3
    {"mib", Unit::kByte, 6, 16384, 15625},
    {"gib", Unit::kByte, 9, 2097152, 1953125},
    {"kb", Unit::kByte, 3, 1, 1},
    {"mb", Unit::kByte, 6, 1, 1},
    {"gb", Unit::kByte, 9, 1, 1},
    {"c", Unit::kMillicelsius, 3, 1, 1},
    {"celsius", Unit::kMillicelsius, 3, 1, 1},
    {"\u00B0C", Unit::kMillicelsius, 3, 1, 1},
    {"", Unit::kMask, 0, 1, 1},
    {"mask", Unit::kMask, 0, 1, 1},
    {"", Unit::kCount, 0, 1, 1},
    {"count", Unit::kCount, 0, 1, 1},
    {"b/s", Unit::kBytePerSecond, 0, 1, 1},
    {"kb/s", Unit::kBytePerSecond, 3, 1, 1},
    {"mb/s", Unit::kBytePerSecond, 6, 1, 1},
}};

// Units of the time column. Short names come first, because messages list them in this order.
constexpr std::array<TimeUnit, 9> kTimeUnits = {{
    {"s", TimeForm::kSeconds},
    {"ms", TimeForm::kMillis},
    {"us", TimeForm::kMicros},
    {"ns", TimeForm::kNanos},
    {"rfc3339", TimeForm::kText},
    {"seconds", TimeForm::kSeconds},
    {"milliseconds", TimeForm::kMillis},
    {"microseconds", TimeForm::kMicros},
    {"nanoseconds", TimeForm::kNanos},
}};

// Names of nvidia-smi, DCGM, our own CSV and common spreadsheets. If a table has several names of one role, the first
// row of this table counts.
constexpr std::array<ColumnAlias, 80> kAliases = {{
    {"timestamp", "time"},
    {"time", "time"},
    {"ts", "time"},
    {"datetime", "time"},
    {"epoch", "time"},
    {"gpu", "gpu"},
    {"index", "gpu"},
    {"gpu_index", "gpu"},
    {"gpu_id", "gpu"},
    {"device", "gpu"},
    {"pci_bus_id", "gpu"},
    {"gpu_bus_id", "gpu"},
    {"uuid", "uuid"},
    {"gpu_uuid", "uuid"},
    {"name", "name"},
    {"gpu_name", "name"},
    {"modelname", "name"},
    {"hostname", "host"},
    {"host", "host"},
    {"mig_id", "mig"},
    {"gpu_i_id", "mig"},
    {"gpu_instance_id", "mig"},
    {"mig_profile", "mig_profile"},
    {"gpu_i_profile", "mig_profile"},
    {"utilization_gpu", "util"},
    {"gpu_utilization", "util"},
    {"utilization", "util"},
    {"gpu_util", "util"},
    {"util", "util"},
    {"dcgm_fi_dev_gpu_util", "util"},
    {"dcgm_fi_dev_gpu_util_ratio", "util"},
    {"utilization_memory", "memory_util"},
    {"dcgm_fi_dev_mem_copy_util", "memory_util"},
    {"gr_engine_active", "gr_engine_active"},
    {"dcgm_fi_prof_gr_engine_active", "gr_engine_active"},
    {"dcgm_fi_prof_gr_engine_util_ratio", "gr_engine_active"},
    {"sm_active", "sm_active"},
    {"dcgm_fi_prof_sm_active", "sm_active"},
    {"dcgm_fi_prof_sm_util_ratio", "sm_active"},
    {"dcgm_fi_prof_pipe_tensor_active", "tensor_active"},
    {"dcgm_fi_prof_tensor_util_ratio", "tensor_active"},
    {"dcgm_fi_prof_dram_active", "dram_active"},
    {"dcgm_fi_prof_dram_util_ratio", "dram_active"},
    {"power_draw", "power"},
    {"power_draw_average", "power"},
    {"power_draw_instant", "power"},
    {"power", "power"},
    {"power_w", "power"},
    {"power_watts", "power"},
    {"dcgm_fi_dev_power_usage", "power"},
    {"dcgm_fi_dev_board_power_watts", "power"},
    {"enforced_power_limit", "power_limit"},
    {"power_limit", "power_limit"},
    {"dcgm_fi_dev_total_energy_consumption", "energy"},
    {"clocks_current_sm", "sm_clock"},
    {"clocks_sm", "sm_clock"},
    {"sm_clock", "sm_clock"},
    {"dcgm_fi_dev_sm_clock", "sm_clock"},
    {"clocks_max_sm", "max_sm_clock"},
    {"memory_used", "memory"},
    {"mem_used", "memory"},
    {"dcgm_fi_dev_fb_used", "memory"},
    {"memory_total", "memory_total"},
    {"temperature_gpu", "temperature"},
    {"temperature", "temperature"},
    {"dcgm_fi_dev_gpu_temp", "temperature"},
    {"dcgm_fi_dev_gpu_temp_celsius", "temperature"},
    {"clocks_event_reasons_active", "reasons"},
    {"clocks_throttle_reasons_active", "reasons"},
    {"tensor_active", "tensor_active"},
    {"dram_active", "dram_active"},
    {"total_energy_consumption", "energy"},
    {"compute_processes", "processes"},
    {"power_default_limit", "power_default_limit"},
    {"pcie_rx", "pcie_rx"},
    {"pcie_tx", "pcie_tx"},
    {"nvlink_bandwidth", "nvlink"},
    {"utilization_encoder", "encoder_util"},
    {"utilization_decoder", "decoder_util"},
    {"xid", "xid"},
}};

}  // namespace

std::span<const ColumnRole> ColumnRoles() { return kRoles; }

const ColumnRole* FindColumnRole(std::string_view name) {
  const auto* found = std::find_if(kRoles.begin(), kRoles.end(), [&](const ColumnRole& r) { return r.name == name; });
  return found == kRoles.end() ? nullptr : found;
}

const ColumnUnit* FindColumnUnit(std::string_view name, Unit unit) {
  const auto* found = std::find_if(kUnits.begin(), kUnits.end(), [&](const ColumnUnit& u) {
    return u.unit == unit && EqualsIgnoreCase(u.name, name);
  });
  return found == kUnits.end() ? nullptr : found;
}

std::span<const ColumnUnit> ColumnUnits() { return kUnits; }
std::span<const TimeUnit> TimeUnits() { return kTimeUnits; }
std::span<const ColumnAlias> ColumnAliases() { return kAliases; }

namespace {

using K = ColumnKind;

// A text from the user for a message: shortened, and safe to print.
std::string Quoted(std::string_view text) { return "'" + Printable(text.substr(0, 80)) + "'"; }

// The role of that name. An unknown one is an error that suggests the nearest role and lists all.
Result<const ColumnRole*> FindRole(std::string_view name) {
  const ColumnRole* const known = FindColumnRole(name);
  if (known != nullptr) return known;
  std::size_t distance = 4;  // farther words are no misspellings
  std::string nearest;
  std::string all;
  for (const ColumnRole& role : ColumnRoles()) {
    const std::size_t d = EditDistance(name.substr(0, 40), role.name);
    if (d < distance) nearest = role.name;
    distance = std::min(distance, d);
    all += (all.empty() ? "" : ", ") + std::string(role.name);
  }
  const std::string hint = nearest.empty() ? "" : "; did you mean '" + nearest + "'?";
  return FailUsage("--columns: unknown role " + Quoted(name) + hint + " (roles: " + all + ")");
}

// Null if no time unit has that name.
const TimeUnit* FindTimeUnit(std::string_view name) {
  const std::span<const TimeUnit> units = TimeUnits();
  const auto found =
      std::find_if(units.begin(), units.end(), [&](const TimeUnit& u) { return EqualsIgnoreCase(u.name, name); });
  return found == units.end() ? nullptr : &*found;
}

// Sets a column's unit by name. False if its role has no such unit.
bool SetUnit(BoundColumn& column, std::string_view name) {
  if (column.role->kind == K::kTime) {
    const TimeUnit* unit = FindTimeUnit(name);
    if (unit != nullptr) column.time = unit->form;
    return unit != nullptr;
  }
  if (column.role->kind != K::kSignal || name.empty()) return false;
  const ColumnUnit* unit = FindColumnUnit(name, Info(column.role->signal).unit);
  if (unit != nullptr) column.unit = unit;
  return unit != nullptr;
}

// An error that lists the units that the role has.
tl::unexpected<Error> NoSuchUnit(const ColumnRole& role, std::string_view unit) {
  std::string names;
  const auto add = [&](std::string_view name) { names += (names.empty() ? "use one of " : ", ") + std::string(name); };
  if (role.kind == K::kTime) {
    for (const TimeUnit& u : TimeUnits()) add(u.name);
  } else if (role.kind == K::kSignal) {
    for (const ColumnUnit& u : ColumnUnits()) {
      if (u.unit == Info(role.signal).unit && !u.name.empty()) add(u.name);
    }
  }
  return FailUsage("--columns: " + std::string(role.name) + " has no unit " + Quoted(unit) + "; " +
                   (names.empty() ? "it takes none" : names));
}

// Name and unit of "memory.used [MiB]" and "power (W)".
struct HeaderParts {
  std::string_view name;
  std::string_view unit;
};
HeaderParts SplitHeader(std::string_view cell) {
  cell = Trim(cell);
  if (cell.empty() || (cell.back() != ']' && cell.back() != ')')) return {cell, {}};
  const std::size_t open = cell.rfind(cell.back() == ']' ? '[' : '(');
  if (open == std::string_view::npos) return {cell, {}};
  return {Trim(cell.substr(0, open)), Trim(cell.substr(open + 1, cell.size() - open - 2))};
}

// The metric that a column is named after. Tables have exporters' names in either case, and with the labels of the
// series. Null for names that are too common ("gpu_utilization"): in a table, nothing says that such a column has the
// exporter's unit.
const Metric* RecognizeMetric(std::string_view name) {
  std::string bare(Trim(name.substr(0, name.find('{'))));
  const Metric* metric = FindMetric(bare);
  if (metric == nullptr) {
    std::transform(bare.begin(), bare.end(), bare.begin(),
                   [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
    metric = FindMetric(bare);
  }
  // nvitop's and dynolog's names are plain words that any table may use.
  const bool told =
      metric != nullptr && metric->source != MetricSource::kNvitop && metric->source != MetricSource::kDynolog;
  return told ? metric : nullptr;
}

// Takes the unit from a header cell: from brackets; else from the metric that the cell names; else from its last word
// ("power_mw", "bytes"). The metric comes before the last word because DCGM_FI_DEV_GPU_UTIL_RATIO counts percent.
void SetHeaderUnit(BoundColumn& column, std::string_view cell) {
  const HeaderParts parts = SplitHeader(cell);
  if (SetUnit(column, parts.unit)) return;
  if (const Metric* metric = RecognizeMetric(parts.name); metric != nullptr && SetUnit(column, Name(metric->scale))) {
    column.scale_doubtful = metric->scale == Scale::kPercentage;
    return;
  }
  // A single letter that is the whole name ("c") is a name and no unit.
  const std::size_t word = parts.name.find_last_of("_. ") + 1;
  if (parts.name.size() - word >= 2 || word > 0) SetUnit(column, parts.name.substr(word));
}

// Sets the unit by the header, else assumes the role's unit. A unit that the user gave stays.
void SettleUnit(BoundColumn& column, std::string_view header_cell) {
  if (column.unit != nullptr || column.time != TimeForm::kByFirstRow) return;
  SetHeaderUnit(column, header_cell);
  if (column.unit != nullptr || column.role->kind != K::kSignal) return;
  column.unit = FindColumnUnit(column.role->unit, Info(column.role->signal).unit);
  column.unit_assumed = !column.role->unit.empty();
}

// Positions of the columns that `name` may mean: "#3", else header cells equal to it, else cells equal without their
// unit in brackets, else cells equal except for case. Several equal cells are all returned, so that the caller can
// refuse an ambiguous name.
Result<std::vector<std::size_t>> Matches(std::string_view name, std::span<const std::string> header, std::size_t width,
                                         const std::string& where) {
  std::vector<std::size_t> found;
  // A position, unless no number follows: "#jobs" is a name.
  if (name.size() >= 2 && name.front() == '#') {
    if (const std::optional<std::int64_t> n = ParseInteger(name.substr(1))) {
      if (*n < 1 || *n > static_cast<std::int64_t>(width)) {
        return Fail(where + ": no column " + Quoted(name) + "; columns: " + std::to_string(width));
      }
      return std::vector<std::size_t>{static_cast<std::size_t>(*n - 1)};
    }
  }
  const auto collect = [&](auto same) {
    for (std::size_t i = 0; i < header.size() && (found.empty() || same(header[found.front()])); ++i) {
      if (same(header[i])) found.push_back(i);
    }
  };
  collect([&](std::string_view cell) { return Trim(cell) == name; });
  if (found.empty()) collect([&](std::string_view cell) { return SplitHeader(cell).name == name; });
  if (found.empty()) collect([&](std::string_view cell) { return EqualsIgnoreCase(SplitHeader(cell).name, name); });
  return found;
}

// Binds one role to the column that the user gave for it. The whole text is tried as a name before a unit is split
// off, because a column's name may contain a colon.
Result<BoundColumn> BindOne(const ColumnRole& role, std::string_view text, std::span<const std::string> header,
                            std::size_t width, const std::string& where) {
  BoundColumn column;
  column.role = &role;
  text = Trim(text);
  std::vector<std::size_t> found = TRY(Matches(text, header, width, where));
  // No column has the whole text as its name, so a unit may follow the last colon.
  const std::size_t colon = text.rfind(':');
  if (found.empty() && colon != std::string_view::npos) {
    const std::string_view unit = Trim(text.substr(colon + 1));
    found = TRY(Matches(Trim(text.substr(0, colon)), header, width, where));
    if (!found.empty() && !SetUnit(column, unit)) {
      return NoSuchUnit(role, unit);
    }
  }
  const std::string said = "--columns " + std::string(role.name) + "=" + Printable(text.substr(0, 80));
  if (found.empty()) {
    const std::string have = header.empty() ? "without a header columns go by position, as in time=#1,util=#3"
                                            : "the columns are: " + ListColumns(header);
    return Fail(where + ": no such column (" + said + "); " + have);
  }
  if (found.size() > 1) {
    return Fail(where + ": several columns have that name (" + said + "); name it by position, #" +
                std::to_string(found.front() + 1) + " or #" + std::to_string(found[1] + 1));
  }
  column.position = found.front();
  const bool named = column.position < header.size();
  column.name = named ? std::string(Trim(header[column.position])) : "#" + std::to_string(column.position + 1);
  SettleUnit(column, named ? std::string_view(column.name) : std::string_view());
  return column;
}

// Removes the next item of a comma-separated list in which "..." protects commas. Quotes stay.
std::string_view TakeItem(std::string_view& text) {
  bool quoted = false;
  std::size_t end = 0;
  while (end < text.size() && (quoted || text[end] != ',')) quoted = quoted != (text[end++] == '"');
  const std::string_view item = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return item;
}

// Removes the quotes of "..." at the start of the text; "" inside stands for a quote. What follows stays as it is.
std::string WithoutQuotes(std::string_view text) {
  if (text.empty() || text.front() != '"') return std::string(text);
  std::string bare;
  std::size_t at = 1;
  while (at < text.size()) {
    const bool quote = text[at] == '"';
    const bool doubled = quote && at + 1 < text.size() && text[at + 1] == '"';
    if (quote && !doubled) return bare + std::string(text.substr(at + 1));
    bare += text[at];
    at += doubled ? 2 : 1;
  }
  return bare;
}

// A header cell in the form of ColumnAlias::name: "Power.Draw [W]" becomes "power_draw".
std::string Normalized(std::string_view header_cell) {
  std::string name(SplitHeader(header_cell).name);
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) {
    return c == '.' || c == ' ' || c == '-' ? '_' : static_cast<char>(std::tolower(c));
  });
  return name;
}

}  // namespace

std::string ListColumns(std::span<const std::string> header) {
  constexpr std::size_t kListed = 30;
  std::string list;
  for (std::size_t i = 0; i < header.size() && i < kListed; ++i) {
    list += (i == 0 ? "" : ", ") + Printable(Trim(header[i]).substr(0, 60));
  }
  return list + (header.size() > kListed ? ", ..." : "");
}

Result<std::map<std::string, std::string>> ParseColumns(std::string_view text) {
  std::map<std::string, std::string> columns;
  while (!Trim(text).empty()) {
    const std::string_view item = Trim(TakeItem(text));
    const std::size_t equals = item.find('=');
    if (equals == std::string_view::npos || Trim(item.substr(equals + 1)).empty()) {
      return FailUsage("--columns: " + Quoted(item) + " is not ROLE=COLUMN; write time=timestamp,util=value");
    }
    const std::string_view left = Trim(item.substr(0, equals));
    const std::string_view role_name = Trim(left.substr(0, left.find(':')));
    const ColumnRole* role = TRY(FindRole(role_name));
    std::string column = WithoutQuotes(Trim(item.substr(equals + 1)));
    if (role_name.size() < left.size()) {
      const std::string_view unit = Trim(left.substr(left.find(':') + 1));
      // Tries the unit on a column of the role, so that a wrong one is an error here, before any file is read.
      BoundColumn probe;
      probe.role = role;
      if (!SetUnit(probe, unit)) {
        return NoSuchUnit(*role, unit);
      }
      column += ":" + std::string(unit);
    }
    if (!columns.emplace(role_name, column).second) {
      return FailUsage("--columns: " + std::string(role_name) + " is given twice; name each role once");
    }
  }
  return columns;
}

bool NamesOnlyPositions(const std::map<std::string, std::string>& columns) {
  return std::all_of(columns.begin(), columns.end(), [](const auto& entry) {
    const std::string_view text = Trim(entry.second);
    const std::string_view number = text.substr(std::min<std::size_t>(1, text.size()), text.find(':') - 1);
    return !text.empty() && text.front() == '#' && ParseInteger(number).has_value();
  });
}

Result<std::vector<BoundColumn>> BindColumns(const std::map<std::string, std::string>& columns,
                                             std::span<const std::string> header, std::size_t width,
                                             const std::string& where) {
  std::vector<BoundColumn> bound;
  bool has_time = false;
  bool has_signal = false;
  for (const auto& [role_name, text] : columns) {
    const ColumnRole* role = TRY(FindRole(role_name));
    BoundColumn column = TRY(BindOne(*role, text, header, width, where));
    has_time = has_time || role->kind == K::kTime;
    has_signal = has_signal || role->kind == K::kSignal;
    bound.push_back(std::move(column));
  }
  if (!has_time || !has_signal) {
    return FailUsage("--columns: name at least the time and one signal, for example time=timestamp,util=value");
  }
  return bound;
}

// A unit given for the column's name wins over one given for all columns.
void SettleUnits(const std::map<std::string, PercentUnit>& units, std::vector<BoundColumn>& columns) {
  for (BoundColumn& column : columns) {
    // Only percentages whose unit nothing has settled. --unit never overrides a unit that is written.
    const bool open = column.unit != nullptr && column.unit->unit == Unit::kMicroPercent &&
                      (column.unit_assumed || column.scale_doubtful);
    auto said = units.find(column.name);
    if (said == units.end()) said = units.find("");
    if (!open || said == units.end()) continue;
    column.unit = FindColumnUnit(said->second == PercentUnit::kOne ? "ratio" : "percent", Unit::kMicroPercent);
    column.unit_assumed = false;
    column.scale_doubtful = false;
  }
}

// Goes through the aliases in order, so that the better name of a role wins over its position in the table.
std::optional<std::vector<BoundColumn>> RecognizeColumns(std::span<const std::string> header) {
  std::vector<std::string> names;
  for (const std::string& cell : header) names.push_back(Normalized(cell));
  std::vector<BoundColumn> bound;
  bool has_time = false;
  bool has_util = false;
  for (const ColumnAlias& alias : ColumnAliases()) {
    const auto at = std::find(names.begin(), names.end(), alias.name);
    // The role is taken by a better name.
    const bool known =
        std::any_of(bound.begin(), bound.end(), [&](const BoundColumn& c) { return c.role->name == alias.role; });
    if (at == names.end() || known) continue;
    BoundColumn column;
    column.role = FindColumnRole(alias.role);
    column.position = static_cast<std::size_t>(at - names.begin());
    column.name = Trim(header[column.position]);
    SettleUnit(column, column.name);
    has_time = has_time || column.role->kind == K::kTime;
    const bool busy = column.role->signal == Signal::kUtilization || column.role->signal == Signal::kGrEngineActive;
    has_util = has_util || (column.role->kind == K::kSignal && busy);
    bound.push_back(std::move(column));
  }
  if (!has_time || !has_util) return std::nullopt;
  return bound;
}

}  // namespace idleburn
