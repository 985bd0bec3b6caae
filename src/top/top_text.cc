#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <span>

#include "report/display.h"
#include "telemetry/reading_times.h"
#include "text/figures.h"
#include "text/strings.h"
#include "text/table.h"
#include "text/time_zone.h"
#include "top/top_output.h"

namespace idleburn {
namespace {

// Four decimals are shown, and this many nano-units are one of the last.
constexpr std::int64_t kShownUnit = 100'000;

// A reading with its unit; "?" where there is none.
std::string Text(const TopGpu& gpu, Signal signal) {
  const auto& value = gpu.last[Index(signal)];
  return value ? ReadingText(Info(signal).unit, static_cast<double>(*value)) : "?";
}

// Without a known total, only the memory in use.
std::string MemoryText(const TopGpu& gpu) {
  const auto& used = gpu.last[Index(Signal::kMemoryUsed)];
  const auto& total = gpu.last[Index(Signal::kMemoryTotal)];
  const auto text = [](std::int64_t bytes) { return BinaryBytes(static_cast<double>(bytes)); };
  if (!used) return "?";
  return total ? text(*used) + " of " + text(*total) : text(*used);
}

// The phase, or why there is none.
std::string PhaseText(const TopGpu& gpu) {
  if (gpu.split) return "split";
  return gpu.phase ? std::string(kPhaseNames[static_cast<std::size_t>(*gpu.phase)])
                   : "unobserved (" + std::string(gpu.unobserved) + ")";
}

// What a GPU is called behind the word GPU: "0", or "0 MIG 1g.10gb #7".
std::string ShortNumber(const TopGpu& gpu) {
  constexpr std::string_view kWord = "GPU ";
  return gpu.name.substr(gpu.name.starts_with(kWord) ? kWord.size() : 0);
}

// A GPU without utilization shows the activity of its engine in that column.
Signal BusyOf(const TopGpu& gpu) {
  return gpu.last[Index(Signal::kUtilization)] ? Signal::kUtilization : Signal::kGrEngineActive;
}

// Parts of a second are noise to a reader.
std::string Second(Instant time) {
  return FormatRfc3339(Instant::FromNanos(time.nanos() / kNanosPerSecond * kNanosPerSecond));
}

// The line above the tables: one price, or why there is not one.
std::string PriceText(const TopView& view) {
  const Rate& rate = view.rate;
  if (!view.fault.empty()) return view.fault;
  if (rate.per_gpu_hour) {
    return fmt::format("{} a GPU-hour ({}){}", UnitPrice(*rate.per_gpu_hour, rate.currency), rate.source,
                       rate.stale ? ", older than 90 days" : "");
  }
  if (rate.reason == "several_rates") return "several rates (" + rate.source + ")";
  if (rate.low && rate.high) {
    return AmountInterval(*rate.low, *rate.high, rate.currency) + " a GPU-hour: choose with --price";
  }
  return "no price is known: give one with --price";
}

// Columns of text come first; from `left` on they hold numbers.
std::vector<TableColumn> Columns(std::initializer_list<const char*> headers, std::size_t left) {
  std::vector<TableColumn> columns;
  for (const char* header : headers) {
    TableColumn column;
    column.header = header;
    if (columns.size() >= left) column.align = TableColumn::Align::kRight;
    columns.push_back(column);
  }
  return columns;
}

// What was read last. SM activity and memory give way first in a narrow terminal.
std::string NowTable(const TopView& view, int width) {
  std::vector<TableColumn> columns =
      Columns({"GPU", "last second", "util", "SM", "power", "memory", "procs", "$/h"}, 2);
  columns.back().header = view.rate.currency + "/h";
  columns[3].expendable = columns[5].expendable = true;
  std::vector<TableRow> rows;
  for (const TopGpu& gpu : view.gpus) {
    rows.push_back({gpu.name, PhaseText(gpu), Text(gpu, BusyOf(gpu)), Text(gpu, Signal::kSmActive),
                    Text(gpu, Signal::kPower), MemoryText(gpu), Text(gpu, Signal::kProcesses),
                    gpu.per_hour ? FormatMoney(*gpu.per_hour, 2) : "?"});
  }
  return LayOutTable(columns, rows, width, 0);
}

// What became of the time of a GPU since the start: the phases, unobserved, unallocated, and last all of it. The
// amounts are nano-units of money, or nanoseconds where there is no price.
constexpr std::size_t kParts = kPhaseCount + 2;
using Amounts = std::array<Money, kParts + 1>;

// `money`: the table is in money, so a GPU without a price has no amounts.
Amounts ExactAmounts(const UsageCost& usage, bool money) {
  Amounts amounts;
  if (money && !usage.total) return amounts;  // one of those without a price
  for (std::size_t i = 0; i < kPhaseCount; ++i) {
    amounts[i] = usage.total ? usage.phase_cost[i].value_or(Money()) : Money::Nano(usage.phase_ns[i]);
  }
  amounts[kPhaseCount] = usage.total ? usage.unobserved_cost.value_or(Money()) : Money::Nano(usage.unobserved_ns);
  amounts[kPhaseCount + 1] = usage.total ? usage.unallocated_cost.value_or(Money()) : Money::Nano(usage.unallocated_ns);
  amounts[kParts] = usage.total ? *usage.total : Money::Nano(usage.window_ns);
  return amounts;
}

// One row for each GPU and one for all of them. They are rounded so that rows and columns add up to the rounded whole.
std::vector<Amounts> ShownAmounts(const TopView& view, std::int64_t unit) {
  const bool money = view.whole.total.has_value();
  std::vector<Money> totals;
  for (const TopGpu& gpu : view.gpus) totals.push_back(ExactAmounts(gpu.since_start, money)[kParts]);
  const std::int64_t whole = ExactAmounts(view.whole, money)[kParts].nano();
  totals = RoundedTo(Money::Nano((whole + unit / 2) / unit * unit), totals, unit);
  std::vector<Amounts> rows;
  Amounts all{};
  for (std::size_t g = 0; g < view.gpus.size(); ++g) {
    Amounts row = ExactAmounts(view.gpus[g].since_start, money);
    const std::vector<Money> parts = RoundedTo(totals[g], std::span<const Money>(row).first(kParts), unit);
    std::copy(parts.begin(), parts.end(), row.begin());
    row[kParts] = totals[g];
    for (std::size_t i = 0; i <= kParts; ++i) all[i] = Money::Nano(all[i].nano() + row[i].nano());
    rows.push_back(row);
  }
  rows.push_back(all);
  return rows;
}

// One unit for all of the table: money if all of it has a price, else seconds. A single GPU needs no row of all, and a
// run without unallocated time no column of it.
std::string SinceStartTable(const TopView& view, int width) {
  std::vector<TableColumn> columns =
      Columns({"since start", "idle", "underutil.", "productive", "bound", "unobserved", "unallocated", "all"}, 1);
  const bool money = view.whole.total.has_value();
  const std::int64_t unit = money ? kShownUnit : kNanosPerSecond / 10;
  const std::vector<Amounts> amounts = ShownAmounts(view, unit);
  std::vector<TableRow> rows;
  for (std::size_t g = 0; g < amounts.size(); ++g) {
    TableRow row = {g < view.gpus.size() ? view.gpus[g].name : "all GPUs"};
    const bool unknown = money && g < view.gpus.size() && !view.gpus[g].since_start.total;
    for (const Money amount : amounts[g]) {
      row.push_back(unknown ? "?" : money ? FormatMoney(amount, 4) : FormatMoney(amount, 1) + " s");
    }
    rows.push_back(row);
  }
  if (view.gpus.size() == 1) rows.pop_back();
  constexpr std::size_t kUnallocated = kPhaseCount + 2;  // behind the name
  if (view.whole.unallocated_ns == 0) {
    columns.erase(columns.begin() + kUnallocated);
    for (TableRow& row : rows) row.erase(row.begin() + kUnallocated);
  }
  return LayOutTable(columns, rows, width, 0);
}

// The numbers of its GPUs: "0,1".
std::string GpusOf(const TopView& view, const TopProcess& process) {
  return ListText(process.gpus, ",", [&](std::size_t gpu) { return ShortNumber(view.gpus[gpu]); });
}

// The phase of its GPUs: "idle". Of several GPUs how many are in which: "2 productive, 1 idle".
std::string PhasesOf(const TopView& view, const TopProcess& process) {
  std::map<std::string, int> phases;
  for (const std::size_t gpu : process.gpus) ++phases[PhaseText(view.gpus[gpu])];
  if (phases.size() == 1) return phases.begin()->first;
  std::string text;
  for (const auto& [phase, gpus] : phases) text += (text.empty() ? "" : ", ") + std::to_string(gpus) + " " + phase;
  return text;
}

// The price of what a process holds: "4.00", "shared", or "2.00 + shared". `unit` stands behind the amount. "?": no
// price is known.
std::string PerHourOf(const TopView& view, const TopProcess& process, const std::string& unit = {}) {
  const bool unknown =
      std::any_of(process.gpus.begin(), process.gpus.end(), [&](std::size_t gpu) { return !view.gpus[gpu].per_hour; });
  if (unknown || !view.fault.empty()) return "?" + unit;
  const bool alone = !process.shares || process.per_hour != Money();
  const std::string amount = alone ? FormatMoney(process.per_hour, 2) + unit : "";
  return amount + (alone && process.shares ? " + " : "") + (process.shares ? "shared" : "");
}

// Memory that the driver does not tell is not 0.
std::string HeldMemory(const TopProcess& process) {
  return process.memory ? BinaryBytes(static_cast<double>(*process.memory)) : "?";
}

// How many columns a table takes without its last column.
int WidthBeforeLast(const std::vector<TableColumn>& columns, const std::vector<TableRow>& rows) {
  int width = 0;
  for (std::size_t i = 0; i + 1 < columns.size(); ++i) {
    int widest = DisplayWidth(columns[i].header);
    for (const TableRow& row : rows) widest = std::max(widest, DisplayWidth(Printable(row[i])));
    width += widest + 2;
  }
  return width;
}

// Who holds a GPU without a process in the list. In a container the driver lists none of those outside, and it never
// lists those that only draw. What they hold is more than a driver keeps for itself.
std::string WhoElse(const TopGpu& gpu) {
  constexpr std::int64_t kSurelyHeld = std::int64_t{1} << 30;
  if (gpu.last[Index(Signal::kMemoryUsed)].value_or(0) >= kSurelyHeld) return "unknown: memory is held";
  return gpu.holders ? "no process" : "unknown: no list";
}

// Lists who holds what, and the GPUs that nobody holds. Together that is every GPU, so no price is left out.
std::string ProcessTable(const TopView& view, int width) {
  std::vector<TableColumn> columns = Columns({"pid", "user", "GPU", "memory", "last second", "$/h", "command"}, 7);
  for (const std::size_t right : {0U, 3U, 5U}) columns[right].align = TableColumn::Align::kRight;
  columns[5].header = view.rate.currency + "/h";
  columns[4].wraps = true;
  std::vector<TableRow> rows;
  for (const TopProcess& process : view.processes.list) {
    rows.push_back({std::to_string(process.pid), process.user, GpusOf(view, process), HeldMemory(process),
                    PhasesOf(view, process), PerHourOf(view, process), process.command});
  }
  for (const TopGpu& gpu : view.gpus) {
    if (gpu.split || gpu.holders.value_or(0) > 0) continue;
    rows.push_back({"-", "-", ShortNumber(gpu), "-", PhaseText(gpu), gpu.per_hour ? FormatMoney(*gpu.per_hour, 2) : "?",
                    WhoElse(gpu)});
  }
  // The command takes what the others leave, so it is cut and never wrapped.
  const int room = std::max(width - WidthBeforeLast(columns, rows), 16);
  for (TableRow& row : rows) row.back() = Shortened(Printable(row.back()), room);
  return LayOutTable(columns, rows, width, 0);
}

// Explains the words in that table that a reader may not know.
std::string ProcessRemarks(const TopView& view) {
  bool shared = false;
  bool unseen = false;
  for (const TopProcess& process : view.processes.list) {
    shared = shared || process.shares;
    unseen = unseen || !process.start_ticks;
  }
  std::string text;
  if (shared) text += "shared: several processes hold the GPU, so idleburn cannot split its time; its price is above\n";
  if (view.processes.foreign) {
    text += "unknown: most process ids of the driver are not visible here; start a container with --pid=host\n";
  } else if (unseen) {
    text += "unknown: the driver lists a process that is not in /proc\n";
  }
  return text.empty() ? text : "\n" + text;
}

}  // namespace

std::string TopTables(const TopView& view, int width) {
  std::string text = fmt::format("{}  {}\n\n", Second(view.time), Printable(PriceText(view)));
  if (view.gpus.empty()) return text + "no reading yet\n";
  return text + NowTable(view, width) + "\n" + ProcessTable(view, width) + "\n" + SinceStartTable(view, width) +
         ProcessRemarks(view);
}

std::string TopLines(const TopView& view) {
  std::string text;
  for (const TopGpu& gpu : view.gpus) {
    text += fmt::format("{} {} {} util {} SM {} power {} memory {} procs {}", Second(view.time), gpu.name,
                        PhaseText(gpu), Text(gpu, BusyOf(gpu)), Text(gpu, Signal::kSmActive), Text(gpu, Signal::kPower),
                        MemoryText(gpu), Text(gpu, Signal::kProcesses));
    if (gpu.per_hour && gpu.since_start.total) {
      text += fmt::format(" {}/h, {} so far", UnitPrice(*gpu.per_hour, view.rate.currency),
                          UnitPrice(*gpu.since_start.total, view.rate.currency));
    }
    text += "\n";
  }
  for (const TopProcess& process : view.processes.list) {
    text += fmt::format("{} process {} user {} GPU {} {} memory {} {} {}\n", Second(view.time), process.pid,
                        Printable(process.user), GpusOf(view, process), PhasesOf(view, process), HeldMemory(process),
                        PerHourOf(view, process, " " + view.rate.currency + "/h"),
                        Shortened(Printable(process.command), 120));
  }
  return text;
}

}  // namespace idleburn
