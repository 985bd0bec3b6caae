#include "report/traced_time_output.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "text/figures.h"

namespace idleburn {
namespace {

// Rows of a table for people. JSON has more.
constexpr std::size_t kTimeRows = 12;
constexpr int kTimeNameWidth = 64;

// How a grouping is shown: its title, the head of its names, and the name of what belongs to none.
struct TimeGrouping {
  TimeBy by;
  std::string_view title;
  std::string_view head;
  std::string_view none;
};
constexpr auto kTimeGroupings = std::to_array<TimeGrouping>({
    {TimeBy::kKernel, "GPU time by kernel", "Kernel", "(no name in the file)"},
    {TimeBy::kFamily, "GPU time by kind of kernel", "Kind", ""},
    {TimeBy::kOperator, "GPU time by operator", "Operator that launched it", "(launched under no operator)"},
    {TimeBy::kModule, "GPU time by module", "nn.Module", "(launched under no module)"},
    {TimeBy::kRange, "GPU time by annotation", "Annotation or NVTX range", "(launched under none)"},
    {TimeBy::kPython, "GPU time by line of Python", "Innermost line outside of PyTorch", "(launched under no line)"},
});

// The end of a long chain tells more than its beginning.
std::string TimeName(std::string_view name, TimeBy by) {
  constexpr std::size_t kWidth = kTimeNameWidth;
  const bool chain = by == TimeBy::kModule || by == TimeBy::kRange;
  if (!chain || name.size() <= kWidth) return Shortened(name, kTimeNameWidth);
  const std::size_t from = name.find(" > ", name.size() - kWidth);
  return from == std::string_view::npos ? Shortened(name, kTimeNameWidth) : "..." + std::string(name.substr(from));
}

TableRow TimeCells(const ViewContext& c, const TracedTime& time, const TimeRow& row, TimeBy by, std::string name) {
  TableRow cells = {std::move(name)};
  if (by == TimeBy::kKernel) cells.emplace_back(row.family);
  cells.push_back(Grouped(std::to_string(row.count)));
  cells.push_back(ThreeDigits(static_cast<double>(row.own_ns) / 1e6));
  cells.push_back(PercentText(ShareOf(row.own_ns, time.window_ns)));
  if (const std::optional<Money> cost = OfGpuHour(c.report, row.own_ns, time.window_ns)) cells.push_back(c.Cost(*cost));
  return cells;
}

ReportTable GroupedTime(const ViewContext& c, const TracedTime& time, const TimeGrouping& grouping) {
  ReportTable table;
  table.title = grouping.title;
  table.columns = {{std::string(grouping.head)}};
  if (grouping.by == TimeBy::kKernel) table.columns.push_back({"Kind"});
  for (const char* header : {"count", "ms", "of window"}) table.columns.push_back({header, kRight});
  const bool priced = OfGpuHour(c.report, 0, time.window_ns).has_value();
  if (priced) table.columns.push_back({"of a GPU-hour", kRight});
  const TimeTable& all = time.Table(grouping.by);
  TimeRow rest = all.rest;
  std::size_t others = 0;
  for (const TimeRow& row : all.rows) {
    if (table.rows.size() < kTimeRows || row.name.empty()) {
      std::string name = row.name.empty() ? std::string(grouping.none) : TimeName(row.name, grouping.by);
      table.rows.push_back(TimeCells(c, time, row, grouping.by, std::move(name)));
      continue;
    }
    ++others;
    rest.count += row.count;
    rest.own_ns += row.own_ns;
  }
  if (rest.count > 0) {
    table.rows.push_back(TimeCells(c, time, rest, grouping.by, fmt::format("({} more; JSON has the largest)", others)));
  }
  return table;
}

// What the columns count, once below the first table.
std::vector<std::string> TimeNotes(const TracedTime& time) {
  std::vector<std::string> notes = {
      "ms: an instant counts once, for the first running kernel; a copy beside a kernel takes none. So rows add up to "
      "busy time."};
  if (time.scopes_left_out > 0) {
    notes.push_back(fmt::format(
        "{} host ranges exceeded the limit of memory: work under them counts to the next outer range, or to none.",
        Grouped(std::to_string(time.scopes_left_out))));
  }
  return notes;
}

}  // namespace

std::optional<Money> OfGpuHour(const AuditReport& report, std::int64_t own_ns, std::int64_t window_ns) {
  if (!report.cost.rate.per_gpu_hour || window_ns <= 0) return std::nullopt;
  const Result<Money> part = Scale(*report.cost.rate.per_gpu_hour, own_ns, window_ns);
  return part ? std::optional(*part) : std::nullopt;
}

std::vector<ReportTable> TracedTimeTables(const ViewContext& c) {
  std::vector<ReportTable> tables;
  if (!c.report.trace) return tables;
  std::vector<const TracedTime*> devices;
  for (const DeviceDiagnosis& d : c.report.trace->devices) devices.push_back(&d.time);
  const TracedTime time = SumOf(devices);
  for (const TimeGrouping& grouping : kTimeGroupings) {
    if (!time.Has(grouping.by)) continue;
    tables.push_back(GroupedTime(c, time, grouping));
    if (tables.size() == 1) tables.front().notes = TimeNotes(time);
  }
  return tables;
}

}  // namespace idleburn
