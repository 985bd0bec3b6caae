#include "cli/top_text.h"

#include <fmt/format.h>

#include "cli/reading_text.h"
#include "report/display.h"
#include "text/escape.h"
#include "text/table.h"
#include "text/time_zone.h"

namespace idleburn {
namespace {

constexpr std::int64_t kShownUnit = 100'000;  // nano-units in the last of four decimals
constexpr int kShownDigits = 4;

std::string Text(const TopGpu& gpu, Signal signal) {
  const auto& value = gpu.last[Index(signal)];
  return value ? ReadingText(signal, *value) : "?";
}

std::string MemoryText(const TopGpu& gpu) {
  const auto& used = gpu.last[Index(Signal::kMemoryUsed)];
  const auto& total = gpu.last[Index(Signal::kMemoryTotal)];
  const auto gib = [](std::int64_t bytes) { return static_cast<double>(bytes) / (std::int64_t{1} << 30); };
  if (!used) return "?";
  return total ? fmt::format("{:.1f}/{:.1f} GiB", gib(*used), gib(*total)) : fmt::format("{:.1f} GiB", gib(*used));
}

std::string PhaseText(const TopGpu& gpu) {
  if (gpu.split) return "split";
  return gpu.phase ? std::string(kPhaseNames[static_cast<std::size_t>(*gpu.phase)])
                   : "unobserved (" + std::string(gpu.unobserved) + ")";
}

Signal BusyOf(const TopGpu& gpu) {
  return gpu.last[Index(Signal::kUtilization)] ? Signal::kUtilization : Signal::kGrEngineActive;
}

std::string Second(Instant time) {
  return FormatRfc3339(Instant::FromNanos(time.nanos() / kNanosPerSecond * kNanosPerSecond));
}

std::string PriceText(const TopView& view) {
  const Rate& rate = view.rate;
  if (!view.fault.empty()) return view.fault;
  if (rate.per_gpu_hour) {
    return fmt::format("{} {} a GPU-hour ({}){}", FormatExact(*rate.per_gpu_hour), rate.currency, rate.source,
                       rate.stale ? ", older than 90 days" : "");
  }
  if (rate.low && rate.high) {
    return fmt::format("{} to {} {} a GPU-hour: choose with --price", FormatExact(*rate.low), FormatExact(*rate.high),
                       rate.currency);
  }
  return "no price is known: give one with --price";
}

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

std::string NowTable(const TopView& view, int width) {
  std::vector<TableColumn> columns = Columns({"GPU", "last second", "util", "SM", "power", "memory", "procs", "$/h"}, 2);
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

// Phases, unobserved, unallocated, total: money rounded so that the row adds up, or seconds where there is no price.
TableRow SinceStart(const std::string& name, const UsageCost& usage) {
  TableRow row = {name};
  if (!usage.total) {
    const auto seconds = [](std::int64_t ns) {
      return fmt::format("{:.1f} s", static_cast<double>(ns) / static_cast<double>(kNanosPerSecond));
    };
    for (const std::int64_t ns : usage.phase_ns) row.push_back(seconds(ns));
    row.push_back(seconds(usage.unobserved_ns));
    row.push_back(seconds(usage.unallocated_ns));
    row.push_back(seconds(usage.window_ns));
    return row;
  }
  std::vector<Money> exact;
  for (const auto& cost : usage.phase_cost) exact.push_back(cost.value_or(Money()));
  exact.push_back(usage.unobserved_cost.value_or(Money()));
  exact.push_back(usage.unallocated_cost.value_or(Money()));
  const Money total = Money::Nano((usage.total->nano() + kShownUnit / 2) / kShownUnit * kShownUnit);
  for (const Money shown : RoundedTo(total, exact, kShownUnit)) row.push_back(FormatMoney(shown, kShownDigits));
  row.push_back(FormatMoney(total, kShownDigits));
  return row;
}

std::string SinceStartTable(const TopView& view, int width) {
  std::vector<TableColumn> columns =
      Columns({"since start", "idle", "underutil.", "productive", "bound", "unobserved", "unallocated", "all"}, 1);
  std::vector<TableRow> rows;
  for (const TopGpu& gpu : view.gpus) rows.push_back(SinceStart(gpu.name, gpu.since_start));
  if (view.gpus.size() > 1) rows.push_back(SinceStart("all GPUs", view.whole));
  constexpr std::size_t kUnallocated = 6;
  if (view.whole.unallocated_ns == 0) {
    columns.erase(columns.begin() + kUnallocated);
    for (TableRow& row : rows) row.erase(row.begin() + kUnallocated);
  }
  return LayOutTable(columns, rows, width, 0);
}

}  // namespace

std::string TopTables(const TopView& view, int width) {
  std::string text = fmt::format("{}  {}\n\n", Second(view.time), Printable(PriceText(view)));
  if (view.gpus.empty()) return text + "no reading yet\n";
  text += NowTable(view, width) + "\n" + SinceStartTable(view, width);
  text += "\nprocs: how many processes hold the GPU; which ones, and what each costs, is not read (see nvidia-smi)\n";
  return text;
}

std::string TopLines(const TopView& view) {
  std::string text;
  for (const TopGpu& gpu : view.gpus) {
    text += fmt::format("{} {} {} util {} SM {} power {} memory {} procs {}", Second(view.time), gpu.name,
                        PhaseText(gpu), Text(gpu, BusyOf(gpu)), Text(gpu, Signal::kSmActive), Text(gpu, Signal::kPower),
                        MemoryText(gpu), Text(gpu, Signal::kProcesses));
    if (gpu.per_hour && gpu.since_start.total) {
      text += fmt::format(" {} {}/h, {} so far", FormatMoney(*gpu.per_hour, 2), view.rate.currency,
                          FormatMoney(*gpu.since_start.total, kShownDigits));
    }
    text += "\n";
  }
  return text;
}

}  // namespace idleburn
