#include "verify/work_csv.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "stats/order.h"
#include "text/csv.h"
#include "text/number.h"
#include "text/time_zone.h"

namespace idleburn {

namespace {

// The first unit that all runs count is compared.
constexpr std::array<WorkUnit, kWorkUnitCount> kPreferred = {WorkUnit::kSample, WorkUnit::kToken, WorkUnit::kRequest,
                                                             WorkUnit::kStep, WorkUnit::kEpoch};
// As long as an audit holds a reading, in periods (classify/thresholds.h).
constexpr double kHeld = 2.5;

}  // namespace

MeasuredRun CountedRun::In(std::optional<WorkUnit> unit) const {
  MeasuredRun measured = run;
  if (!unit || !Counts(*unit)) {
    const auto first =
        std::find_if(kPreferred.begin(), kPreferred.end(), [this](WorkUnit other) { return Counts(other); });
    if (first == kPreferred.end()) return measured;
    unit = *first;
  }
  const auto index = static_cast<std::size_t>(*unit);
  measured.unit = unit;
  measured.work = *total[index];
  for (const std::vector<CountedRow>& piece : pieces) {
    WorkPiece rows;
    for (const CountedRow& row : piece) rows.push_back({row.end, row.gpu_seconds, row.work[index]});
    measured.pieces.push_back(std::move(rows));
  }
  return measured;
}

std::optional<WorkUnit> CommonUnit(std::span<const CountedRun> runs) {
  for (const WorkUnit unit : kPreferred) {
    if (std::all_of(runs.begin(), runs.end(), [unit](const CountedRun& run) { return run.Counts(unit); })) return unit;
  }
  return std::nullopt;
}

std::vector<std::vector<CountedRow>> CutAtGaps(std::vector<CountedRow> rows) {
  std::vector<std::vector<CountedRow>> pieces;
  std::vector<double> distances;
  std::vector<double> gpus;
  for (std::size_t i = 1; i < rows.size(); ++i) {
    distances.push_back(InSeconds(rows[i].end - rows[i - 1].end));
    if (distances.back() > 0) gpus.push_back(rows[i].gpu_seconds / distances.back());
  }
  const double usual = distances.empty() ? 0 : Median(distances);
  const double at_once = gpus.empty() ? 0 : Median(gpus);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    // A long step explains its own length by its GPU-seconds, at the usual number of GPUs.
    const double explained = std::max(usual, at_once > 0 ? rows[i].gpu_seconds / at_once : 0);
    const bool gap = i > 0 && distances[i - 1] > kHeld * explained;
    if (pieces.empty() || gap) pieces.emplace_back();
    pieces.back().push_back(rows[i]);
  }
  return pieces;
}

namespace {

constexpr std::string_view kGpuSeconds = "gpu_seconds";
// Above it a sum of counts cannot be told from its neighbour, and times are no instants.
constexpr double kMostAmount = 1e15;

// A plain decimal from 0 to 1e15.
Result<double> Amount(const CsvTable& table, std::string_view column) {
  const std::string_view cell = Trim(table.Cell(column));
  double value = 0;
  const auto [end, fault] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  if (cell.empty() || fault != std::errc() || end != cell.data() + cell.size() || !std::isfinite(value)) {
    return table.Bad(column, "is no number; write a plain decimal");
  }
  if (value < 0) return table.Bad(column, "is negative; it counts what was spent or done in the row");
  if (value > kMostAmount) return table.Bad(column, "is more than 1e15; check its unit");
  return value;
}

// The end of a row. Column `time` may hold RFC 3339 or seconds.
Result<Instant> End(const CsvTable& table) {
  if (table.Has("time")) {
    Result<Instant> time = ParseRfc3339(Trim(table.Cell("time")));
    const ScaledNumber seconds = ParseScaled(Trim(table.Cell("time")), 9);
    if (!time && seconds.fault == NumberFault::kNone && seconds.value >= 0) time = Instant::FromNanos(seconds.value);
    if (!time) return table.Bad("time", "is no time; write 2026-07-03T22:22:01Z, or seconds from 0 or of the epoch");
    return time;
  }
  const ScaledNumber seconds = ParseScaled(Trim(table.Cell("time_s")), 9);
  if (seconds.fault != NumberFault::kNone) {
    return table.Bad("time_s", "is no time in seconds; write a plain decimal");
  }
  if (seconds.value < 0) return table.Bad("time_s", "is negative; times rise from 0 or are of the epoch");
  return Instant::FromNanos(seconds.value);
}

// Which columns the header has.
struct Columns {
  std::string_view time = "time_s";
  std::array<std::string_view, kWorkUnitCount> work_names = kWorkUnitPlurals;
  std::array<bool, kWorkUnitCount> work{};
  bool arm = false;
  bool block = false;
};

Result<Columns> ReadColumns(CsvTable& table) {
  TRY(table.ReadHeader());
  Columns columns;
  if (table.Has("time")) columns.time = "time";
  const std::array<std::string_view, 2> needed = {columns.time, kGpuSeconds};
  TRY(table.Require(needed));
  constexpr auto kStep = static_cast<std::size_t>(WorkUnit::kStep);
  if (!table.Has(kWorkUnitPlurals[kStep])) columns.work_names[kStep] = "work";  // of which no more is said
  for (std::size_t u = 0; u < kWorkUnitCount; ++u) columns.work[u] = table.Has(columns.work_names[u]);
  columns.arm = table.Has("arm");
  columns.block = table.Has("block");
  return columns;
}

// A block whose rows are still being read.
struct OpenBlock {
  std::string arm;
  std::string block;
  std::vector<CountedRow> rows;
};

// When the first row began. Only ends are known, so it lasts as long as its GPU-seconds take at the pace of the other
// rows. A single row begins where it ends.
Instant StartOf(const std::vector<CountedRow>& rows) {
  const auto ns = static_cast<double>((rows.back().end - rows.front().end).count());
  double later = 0;
  for (std::size_t i = 1; i < rows.size(); ++i) later += rows[i].gpu_seconds;
  if (later <= 0) return rows.front().end;
  const double first = std::min(ns * rows.front().gpu_seconds / later, static_cast<double>(rows.front().end.nanos()));
  return Instant::FromNanos(rows.front().end.nanos() - static_cast<std::int64_t>(first));
}

// Sums a block up and cuts it at its gaps. `before` is the end of the block before it, if any: a block cannot begin
// earlier.
WorkTable::Block Close(OpenBlock open, const std::optional<Instant>& before, const Columns& columns) {
  WorkTable::Block block;
  block.arm = std::move(open.arm);
  CountedRun& run = block.run;
  for (std::size_t u = 0; u < kWorkUnitCount; ++u) {
    if (columns.work[u]) run.total[u] = 0;
  }
  for (const CountedRow& row : open.rows) {
    run.run.gpu_seconds += row.gpu_seconds;
    for (std::size_t u = 0; u < kWorkUnitCount; ++u) {
      if (columns.work[u]) *run.total[u] += row.work[u];
    }
  }
  // Blocks of one file share its clock, whatever that clock shows.
  if (IsDated(open.rows.front().end) || columns.arm) {
    run.run.start = std::max(StartOf(open.rows), before.value_or(Instant()));
    run.run.end = open.rows.back().end;
  }
  run.pieces = CutAtGaps(std::move(open.rows));
  return block;
}

}  // namespace

bool SniffWorkCsv(std::string_view head) {
  const std::string_view line = head.substr(0, head.find('\n'));
  std::size_t at = 0;
  while ((at = line.find(kGpuSeconds, at)) != std::string_view::npos) {
    // "gpu_seconds" must be a whole column name, not a part of one.
    const auto ends = [&](std::size_t i) {
      return i >= line.size() || std::string_view(", \t\r\"").find(line[i]) != std::string_view::npos;
    };
    if ((at == 0 || ends(at - 1)) && ends(at + kGpuSeconds.size())) return true;
    ++at;
  }
  return false;
}

Result<WorkTable> ReadWorkCsv(ByteSource& in) {
  CsvTable table(in);
  const Columns columns = TRY(ReadColumns(table));
  WorkTable read;
  OpenBlock open;
  std::optional<Instant> last;
  std::optional<Instant> before;
  while (true) {
    const bool more = TRY(table.Next());
    if (!more) break;
    CountedRow row;
    const Instant end = TRY(End(table));
    if (last && end <= *last) {
      return table.Bad(columns.time, "is not later than the row before; rows stand in order of time, each once");
    }
    last = row.end = end;
    row.gpu_seconds = TRY(Amount(table, kGpuSeconds));
    for (std::size_t u = 0; u < kWorkUnitCount; ++u) {
      if (!columns.work[u]) continue;
      row.work[u] = TRY(Amount(table, columns.work_names[u]));
    }
    const std::string arm(columns.arm ? Trim(table.Cell("arm")) : std::string_view());
    const std::string block(columns.block ? Trim(table.Cell("block")) : std::string_view());
    if (columns.arm && arm.empty()) return table.Bad("arm", "is empty; say which setting was on");
    if (!open.rows.empty() && (arm != open.arm || block != open.block)) {
      const Instant end_of_block = open.rows.back().end;
      read.blocks.push_back(Close(std::move(open), before, columns));
      before = end_of_block;
      open = {};
    }
    open.arm = arm;
    open.block = block;
    open.rows.push_back(row);
  }
  if (open.rows.empty()) return Fail(table.name() + ": holds no row below its header; nothing to compare");
  read.blocks.push_back(Close(std::move(open), before, columns));
  return read;
}

}  // namespace idleburn
