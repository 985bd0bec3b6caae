#include "report/measured.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>

#include "report/display.h"
#include "report/view_context.h"
#include "telemetry/gpu_facts.h"
#include "telemetry/reading_times.h"
#include "text/figures.h"
#include "text/strings.h"

// Every signal that was read, with mean, 95th percentile and peak, and what is worth saying about memory and links.
//
// Signals of all GPUs are merged before they are summarized. A mean of means would give a GPU that was read for a
// minute the weight of one that was read for a day. Merging integrals and histograms keeps the weights by time.
//
// A signal that was not read keeps its row and says why. Whether a counter was off, broken or not supported decides
// what a user does next, so the reasons are told apart.
//
// None of these figures is a finding. High memory use or a full link may be right for a job; a cause needs the evidence
// of src/diagnose.

namespace idleburn {
namespace {

constexpr double kMillis = 1000;

// How a unit of telemetry is printed. Signals are integers in small units; people and programs read larger ones.
struct UnitRow {
  Unit unit;
  std::string_view name;
  double scale;  // units of the signal in one of this
};
constexpr std::array<UnitRow, 7> kUnitRows = {{
    {Unit::kMicroPercent, "percent", static_cast<double>(kPercent)},
    {Unit::kMilliwatt, "W", kMillis},
    {Unit::kKilohertz, "MHz", kMillis},
    {Unit::kByte, "bytes", 1},
    {Unit::kMillicelsius, "C", kMillis},
    {Unit::kBytePerSecond, "bytes_per_s", 1},
    {Unit::kCount, "count", 1},
}};
// A unit without a row is printed as a count, unscaled.
const UnitRow& UnitRowOf(Unit unit) {
  const auto found =
      std::find_if(kUnitRows.begin(), kUnitRows.end(), [&](const UnitRow& row) { return row.unit == unit; });
  return found == kUnitRows.end() ? kUnitRows.back() : *found;
}

// One signal merged over some GPUs.
struct SignalSum {
  Integral mean;
  SignalRange range;
  std::int64_t window_ns = 0;
  std::set<std::string> counters;
  bool stuck = false;  // the counter is broken, so its readings do not count
};

// Counters that come from the profiling unit of the driver. They break together (DeviceTotals::profiling_stuck). One
// stuck counter therefore makes all four doubtful.
bool IsProfiling(Signal s) {
  return s == Signal::kSmActive || s == Signal::kTensorActive || s == Signal::kDramActive ||
         s == Signal::kGrEngineActive;
}

// Adds one device to the sum. Skips a device that stores the signal elsewhere: power of an instance is that of its
// board. Its window counts even without a reading, so that the coverage shows the gap.
void AddDevice(const AuditReport& report, const DeviceResult& d, Signal s, SignalSum& sum) {
  const Device& device = (*report.devices)[d.device];
  // If another counter decided the phases, the mean of utilization holds that counter's values. They are not
  // utilization.
  const bool replaced = s == Signal::kUtilization && d.counter != Signal::kUtilization;
  const Integral mean = replaced ? Integral() : d.totals.*kMeasuredMean[Slot(s)];
  // Boards have power and clocks; instances have memory and activity of their own.
  const bool elsewhere = Info(s).scope == Scope::kBoard ? device.board.has_value() : device.has_instances;
  // If the device has readings of its own, they count.
  if (elsewhere && mean.ns == 0) return;
  sum.window_ns += d.WindowNs();
  sum.mean.Merge(mean);
  sum.range.Merge(d.totals.RangeOf(s));
  const std::string& counter = device.counter[Index(s)];
  if (!counter.empty()) sum.counters.insert(counter);
  sum.stuck = sum.stuck || (d.totals.profiling_stuck && IsProfiling(s)) ||
              (d.totals.utilization_stuck && s == Signal::kUtilization);
}

// The row of a merged signal. The reason is the most specific one that applies: a broken counter explains more than a
// missing one.
MeasuredSignal SignalRow(Signal s, const SignalSum& sum) {
  MeasuredSignal row;
  row.scope = "gpu";
  row.name = Info(s).name;
  row.unit = Info(s).unit;
  row.counters.assign(sum.counters.begin(), sum.counters.end());
  row.mean = sum.mean.Mean();
  // Percentiles are kept in steps of the unit.
  const std::int64_t step = SpreadStep(row.unit);
  const std::optional<std::int64_t> p95 = sum.range.seconds.Percentile(95);
  if (p95) row.p95 = static_cast<double>(*p95 * step);
  if (sum.range.peak != SignalRange::kNever) row.peak = static_cast<double>(sum.range.peak);
  if (sum.window_ns > 0) row.coverage = static_cast<double>(sum.mean.ns) / static_cast<double>(sum.window_ns);
  if (!row.mean || !row.p95 || !row.peak) {
    row.reason = sum.stuck              ? "invalid_counter"
                 : row.peak             ? "no_time_covered"
                 : row.counters.empty() ? "not_reported"
                                        : "no_valid_value";
  }
  return row;
}

// Most asked first: how busy, how much memory, how much power, then the links. The size ties the list to the table of
// measured signals, so a new signal cannot be forgotten here.
constexpr std::array<Signal, kMeasured.size()> kShown = {Signal::kUtilization,
                                                         Signal::kGrEngineActive,
                                                         Signal::kSmActive,
                                                         Signal::kTensorActive,
                                                         Signal::kDramActive,
                                                         Signal::kMemoryUsed,
                                                         Signal::kMemoryUtilization,
                                                         Signal::kPower,
                                                         Signal::kTemperature,
                                                         Signal::kSmClock,
                                                         Signal::kPcieRx,
                                                         Signal::kPcieTx,
                                                         Signal::kNvlink,
                                                         Signal::kEncoderUtilization,
                                                         Signal::kDecoderUtilization,
                                                         Signal::kProcesses};

// The measures of the machine and of the workload. A measure that a scope cannot have, by its table, has no row.
std::vector<MeasuredSignal> HostRows(const LiveRun& live) {
  std::vector<MeasuredSignal> rows;
  for (std::size_t i = 0; i < kHostScopeCount; ++i) {
    const auto scope = static_cast<HostScope>(i);
    for (std::size_t m = 0; m < kHostMeasures.size(); ++m) {
      const HostMeasure& measure = kHostMeasures[m];
      const std::string_view source = measure.source[i];
      if (source.empty()) continue;
      const HostStatistic range = live.statistics.Of(scope, m);
      MeasuredSignal row;
      row.scope = kHostScopeNames[i];
      row.name = Info(measure.id).name;
      row.unit = measure.unit;
      row.mean = range.Mean();
      if (row.mean) {
        row.counters.emplace_back(source);
        row.p95 = static_cast<double>(*range.spread.Percentile(95) * SpreadStep(measure.unit));
        row.peak = static_cast<double>(range.peak);
        // The statistic of a live run covers part of the time that the host was watched.
        const double watched = static_cast<double>(live.host[i] ? live.host[i]->watched().count() : range.ns);
        row.coverage = std::min(1.0, static_cast<double>(range.ns) / watched);
      } else {
        row.reason = !live.host[i]                     ? "not_recorded"
                     : live.statistics.Lacks(scope, m) ? "not_available"
                                                       : "not_reported";
      }
      rows.push_back(std::move(row));
    }
  }
  return rows;
}

// Capacity in bytes: as read, else from the table of GPU models. A MIG instance has its own part of the board, which
// that table does not know.
std::optional<std::int64_t> MemoryTotal(const AuditReport& report, const DeviceResult& d) {
  if (d.totals.memory_total > 0) return d.totals.memory_total;
  const Device& device = (*report.devices)[d.device];
  const std::optional<GpuFacts> facts = device.mig ? std::nullopt : FactsFor(device.name);
  constexpr std::int64_t kGigabyte = 1'000'000'000;
  return facts && facts->memory_gb ? std::optional(*facts->memory_gb * kGigabyte) : std::nullopt;
}

// Time of seconds whose value is at least `part` of `whole`, in nanoseconds. The limit is rounded up to a bin, so the
// time is never too long.
std::int64_t NsAbove(const SignalRange& range, Unit unit, double part, std::int64_t whole) {
  const auto edge = static_cast<std::int64_t>(std::ceil(part * static_cast<double>(whole)));
  const std::int64_t step = SpreadStep(unit);
  return range.seconds.AtLeast((edge + step - 1) / step);
}

// A peak above kMuchMemory is worth a sentence.
void ObserveMemory(const ViewContext& c, std::vector<Observation>& seen) {
  for (const MemoryUse& use : MemoryOf(c.report)) {
    if (!use.total || static_cast<double>(use.peak) <= kMuchMemory * static_cast<double>(*use.total)) continue;
    seen.push_back({"memory_high", fmt::format("Memory went beyond {}: {} of {} on {}, and {} in all above that "
                                               "level. This alone is not a fault: frameworks keep memory for later.",
                                               StatedPercent(kMuchMemory), BinaryBytes(static_cast<double>(use.peak)),
                                               BinaryBytes(static_cast<double>(*use.total)),
                                               DeviceLabel(c.report, use.peak_device), c.GpuHours(use.above_ns))});
  }
}

// A link counts as full from 80 % of what it can move: protocol overhead takes the rest. It is worth a sentence from
// 1 % of the time for which it was read.
void ObserveLinks(const ViewContext& c, std::vector<Observation>& seen) {
  constexpr double kFullLink = 0.8;
  struct LinkRow {
    Signal signal;
    std::string_view words;
    std::int64_t LinkSpeed::*speed;
  };
  constexpr std::array<LinkRow, 3> kLinks = {{
      {Signal::kPcieRx, "PCIe to the GPU", &LinkSpeed::pcie},
      {Signal::kPcieTx, "PCIe from the GPU", &LinkSpeed::pcie},
      {Signal::kNvlink, "NVLink", &LinkSpeed::nvlink},
  }};
  for (const LinkRow& link : kLinks) {
    std::int64_t full_ns = 0;
    std::int64_t read_ns = 0;
    std::int64_t speed = 0;
    std::size_t gpus = 0;
    for (const DeviceResult& d : c.report.run.devices) {
      const std::int64_t its = d.device < c.report.links.size() ? c.report.links[d.device].*link.speed : 0;
      const std::int64_t ns = (d.totals.*kMeasuredMean[Slot(link.signal)]).ns;
      if (its == 0 || ns == 0) continue;
      const std::int64_t its_full = NsAbove(d.totals.RangeOf(link.signal), Unit::kBytePerSecond, kFullLink, its);
      read_ns += ns;
      full_ns += its_full;
      if (its_full > 0) ++gpus;
      if (its_full > 0) speed = std::max(speed, its);
    }
    if (full_ns == 0 || full_ns * 100 < read_ns) continue;
    seen.push_back(
        {"link_saturated", fmt::format("{} moved 80 % or more of the link's bandwidth ({}) for {}, {} of the time it "
                                       "was read, on {} GPU{}.",
                                       link.words, DecimalBytes(static_cast<double>(speed)) + "/s", c.GpuHours(full_ns),
                                       PercentText(ShareOf(full_ns, read_ns)), gpus, gpus == 1 ? "" : "s")});
  }
}

}  // namespace

std::string_view UnitName(Unit unit) { return UnitRowOf(unit).name; }
double InUnit(double value, Unit unit) { return value / UnitRowOf(unit).scale; }

std::vector<MeasuredSignal> MeasuredOf(const AuditReport& report) {
  std::vector<MeasuredSignal> rows;
  for (const Signal s : kShown) {
    SignalSum sum;
    for (const DeviceResult& d : report.run.devices) AddDevice(report, d, s, sum);
    rows.push_back(SignalRow(s, sum));
  }
  for (MeasuredSignal& row : MeasuredOfHost(report)) rows.push_back(std::move(row));
  return rows;
}

std::vector<MeasuredSignal> MeasuredOfHost(const AuditReport& report) { return HostRows(report.live); }

// The rows of one device. A device without a result keeps all rows, each with a reason.
std::vector<MeasuredSignal> MeasuredOf(const AuditReport& report, DeviceId device) {
  std::vector<MeasuredSignal> rows;
  const DeviceResult* const d = ResultOf(report, device);
  for (const Signal s : kShown) {
    SignalSum sum;
    if (d != nullptr) AddDevice(report, *d, s, sum);
    rows.push_back(SignalRow(s, sum));
  }
  return rows;
}

// One entry per model and MIG profile. A board with instances is skipped, because its memory is theirs.
std::vector<MemoryUse> MemoryOf(const AuditReport& report) {
  std::vector<MemoryUse> uses;
  std::vector<Integral> means;
  for (const DeviceResult& d : report.run.devices) {
    const Device& device = (*report.devices)[d.device];
    const std::optional<std::int64_t> peak = d.totals.Peak(Signal::kMemoryUsed);
    if (!peak || device.has_instances) continue;
    // An instance has its own part of a board's memory.
    const std::string name = device.name + (device.mig ? " " + device.mig->profile : "");
    const auto found =
        std::find_if(uses.begin(), uses.end(), [&](const MemoryUse& use) { return use.gpu_name == name; });
    const auto at = static_cast<std::size_t>(found - uses.begin());
    if (found == uses.end()) {
      uses.emplace_back().gpu_name = name;
      uses.back().peak = -1;
      means.emplace_back();
    }
    MemoryUse& use = uses[at];
    ++use.gpus;
    means[at].Merge(d.totals.memory_used);
    // A single reading covers no time, so it has no mean. The peak stands in for it.
    use.mean = means[at].Mean().value_or(static_cast<double>(*peak));
    const std::optional<std::int64_t> total = MemoryTotal(report, d);
    if (total) use.above_ns += NsAbove(d.totals.RangeOf(Signal::kMemoryUsed), Unit::kByte, kMuchMemory, *total);
    // Capacity and the cheaper fit follow the GPU that used most.
    if (*peak <= use.peak) continue;
    use.peak = *peak;
    use.peak_device = d.device;
    use.total = total;
    // An instance is part of a board that is paid for as a whole.
    for (const PeakFit& fit : report.peak_fits) {
      if (!device.mig && fit.gpu_name == device.name) use.fit = &fit;
    }
  }
  return uses;
}

std::vector<Observation> ObservationsOf(const AuditReport& report) {
  const ViewContext c(report);
  std::vector<Observation> seen;
  ObserveMemory(c, seen);
  ObserveLinks(c, seen);
  return seen;
}

namespace {

// "Memory of NVIDIA L4: mean 9.1 GiB (40.4 %), peak 12.3 GiB of 22.5 GiB (54.7 %, GPU 0)." The model is named if there
// are several, the GPU if the run has several.
std::string MemoryLine(const ViewContext& c, const MemoryUse& use, bool several) {
  const auto share = [&](double bytes) {
    return use.total ? PercentText(bytes / static_cast<double>(*use.total)) : std::string();
  };
  const auto peak = static_cast<double>(use.peak);
  std::string line = several && !use.gpu_name.empty() ? "Memory of " + use.gpu_name + ": " : "Memory: ";
  line += "mean " + BinaryBytes(use.mean);
  if (use.total) line += " (" + share(use.mean) + ")";
  line += ", peak " + BinaryBytes(peak);
  if (use.total) line += " of " + BinaryBytes(static_cast<double>(*use.total));
  const std::string where = c.report.run.devices.size() > 1 ? DeviceLabel(c.report, use.peak_device) : std::string();
  const std::string of = use.total ? share(peak) : std::string();
  if (!of.empty() || !where.empty()) line += " (" + of + (of.empty() || where.empty() ? "" : ", ") + where + ")";
  return line + ".";
}

// Whether the peak fits a cheaper GPU, or why none was looked for.
std::string FitLine(const PeakFit& fit) {
  const double needed = static_cast<double>(fit.peak_bytes) * (100 + kMemoryHeadroomPercent) / 100;
  const std::string with = fmt::format("{} with {} % headroom", BinaryBytes(needed), kMemoryHeadroomPercent);
  if (fit.cheapest) {
    const CheaperGpu& gpu = *fit.cheapest;
    return fmt::format(
        "That peak, {}, fits a cheaper GPU: {} ({} GB) at {} a GPU-hour ({}, {}){}. idleburn did not judge its speed.",
        with, gpu.gpu, gpu.memory_gb, Amount(gpu.per_gpu_hour, "USD"), gpu.key, AsOf(gpu.as_of),
        fit.others == 0 ? "" : fmt::format("; {} more fit and cost less", fit.others));
  }
  if (fit.reason == "none_fits") return "No cheaper GPU of the catalogue holds that peak, " + with + ".";
  if (fit.reason == "other_currency") return "Catalogue prices are in USD, so idleburn did not look for a cheaper GPU.";
  return "This GPU has no price, so idleburn did not look for a cheaper GPU (--price).";
}

// "Not read: sm_active, tensor_active (not reported); machine, workload (not recorded)." A scope that was not
// recorded is named once instead of each of its signals.
std::string AbsentLine(const std::vector<MeasuredSignal>& rows) {
  std::map<std::string_view, std::vector<std::string>> by_reason;
  for (const MeasuredSignal& row : rows) {
    if (row.mean) continue;
    std::vector<std::string>& names = by_reason[row.reason];
    const std::string name = row.scope == "gpu"             ? std::string(row.name)
                             : row.reason == "not_recorded" ? std::string(row.scope)
                                                            : fmt::format("{} {}", row.scope, row.name);
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  std::vector<std::string> parts;
  for (const auto& [reason, names] : by_reason) {
    std::string words(reason);
    std::replace(words.begin(), words.end(), '_', ' ');
    parts.push_back(fmt::format("{} ({})", fmt::join(names, ", "), words));
  }
  return parts.empty() ? std::string() : "Not read: " + ListText(parts, "; ") + ".";
}

}  // namespace

ReportTable MeasuredTable(const AuditReport& report) {
  const ViewContext c(report);
  ReportTable table;
  table.title = "What was measured";
  table.columns = {{"signal"},       {"mean", kRight}, {"p95", kRight},
                   {"peak", kRight}, {"read", kRight}, {"counter", kLeft, true, true}};
  const std::vector<MeasuredSignal> rows = MeasuredOf(report);
  for (const MeasuredSignal& row : rows) {
    if (!row.mean) continue;
    const auto text = [&](const std::optional<double>& value) { return value ? ReadingText(row.unit, *value) : ""; };
    const std::string name = row.scope == "gpu" ? std::string(row.name) : fmt::format("{} {}", row.scope, row.name);
    table.rows.push_back({name, text(row.mean), text(row.p95), text(row.peak), PercentText(row.coverage),
                          fmt::format("{}", fmt::join(row.counters, "; "))});
  }
  if (table.rows.empty()) return table;
  const std::vector<MemoryUse> memory = MemoryOf(report);
  for (const MemoryUse& use : memory) {
    table.notes.push_back(MemoryLine(c, use, memory.size() > 1));
    if (use.fit != nullptr) table.notes.push_back(FitLine(*use.fit));
  }
  for (const Observation& o : ObservationsOf(report)) table.notes.push_back(o.sentence);
  if (const std::string absent = AbsentLine(rows); !absent.empty()) table.notes.push_back(absent);
  return table;
}

}  // namespace idleburn
