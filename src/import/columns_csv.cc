#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include "import/column_map.h"
#include "import/column_rows.h"
#include "import/formats.h"
#include "text/csv.h"
#include "text/number.h"

namespace idleburn {

// A CSV with columns of any name: the first record decides what the columns mean, every other record is a row.
// InfluxDB's annotations may stand above the header, and a header may come again where logs were concatenated.

namespace {

using Cells = std::vector<std::string_view>;

std::vector<std::string> Copy(const Cells& cells) { return {cells.begin(), cells.end()}; }

// The first column of a kind that is known to be there.
const BoundColumn& OfKind(const std::vector<BoundColumn>& columns, ColumnKind kind) {
  return *std::find_if(columns.begin(), columns.end(), [&](const BoundColumn& c) { return c.role->kind == kind; });
}

// One table while it is read: takes its records and feeds ColumnRows.
class ColumnsTable {
 public:
  ColumnsTable(const std::vector<BoundColumn>& columns, std::size_t width, const ImportOptions& options,
               const ByteSource& in, ImportTarget& out)
      : time_(OfKind(columns, ColumnKind::kTime)),
        width_(width),
        in_(in),
        file_(in.name()),
        out_(out),
        clock_(time_, options, out.quality, file_),
        rows_(columns, "csv", file_, options, out),
        identity_(rows_.identity().size()) {
    for (const BoundColumn& column : columns) {
      if (column.role->kind == ColumnKind::kSignal) signals_.emplace_back(column, ColumnScale(column));
      if (column.role->kind == ColumnKind::kOwner) owner_ = column.position;
    }
  }

  // Adds one record. Fails only for what concerns the whole table, such as an epoch of another unit; a row that
  // cannot be read is counted.
  Result<void> Add(const CsvReader& record) {
    const Cells& cells = record.cells();
    const std::int64_t line = record.line();
    const bool cut = record.torn() && in_.truncated();  // a shortened number would still be a number
    if (cut || record.malformed() || !HasWidth(cells)) return Drop(record);
    if (Trim(cells[time_.position]) == time_.name) return {};  // a repeated header: concatenated logs
    const std::optional<Instant> time = TRY(clock_.FromText(cells[time_.position], line));
    if (!time) return Drop(record);
    for (std::size_t i = 0; i < identity_.size(); ++i) identity_[i] = Trim(cells[rows_.identity()[i].position]);
    const std::optional<DeviceId> device = TRY(rows_.Device(identity_, line));
    if (!device) return Drop(record);
    rows_.set_local(clock_.local());
    Sample& sample = rows_.Begin(*time, *device, record.line());
    for (auto& [column, scale] : signals_) {
      rows_.Put(sample, column.role->signal, scale.FromText(cells[column.position]), line);
    }
    if (owner_) rows_.Own(cells[*owner_], line);
    return {};
  }

  Result<void> Finish() {
    TRY(rows_.Finish());
    for (const auto& [column, scale] : signals_) TRY(scale.CheckUnit(column, file_));
    return {};
  }

 private:
  // As many cells as the first row. Extra cells must be empty.
  [[nodiscard]] bool HasWidth(const Cells& cells) const {
    return cells.size() >= width_ && std::all_of(cells.begin() + static_cast<std::ptrdiff_t>(width_), cells.end(),
                                                 [](std::string_view cell) { return Trim(cell).empty(); });
  }

  // Counts a record that is not a row.
  Result<void> Drop(const CsvReader& record) {
    out_.quality.Count(record.torn() ? QualityId::kTornRow : QualityId::kBadRow, {&file_, record.line()});
    return {};
  }

  BoundColumn time_;
  std::size_t width_;
  const ByteSource& in_;
  const std::string& file_;
  ImportTarget& out_;
  ColumnClock clock_;
  ColumnRows rows_;
  Cells identity_;
  std::vector<std::pair<BoundColumn, ColumnScale>> signals_;
  std::optional<std::size_t> owner_;
};

// Whether the first row is data. Columns by position fit tables with and without a header, so the time decides: a
// header has a word there, data a digit.
bool FirstRowIsData(const std::vector<BoundColumn>& columns, const Cells& first) {
  const std::string_view cell = Trim(first[OfKind(columns, ColumnKind::kTime).position]);
  return !cell.empty() && std::isdigit(static_cast<unsigned char>(cell.front())) != 0;
}

// True for lines that InfluxDB writes above the column names.
bool IsAnnotation(std::string_view first_cell) {
  constexpr std::array<std::string_view, 3> kAnnotations = {"#group", "#datatype", "#default"};
  return std::find(kAnnotations.begin(), kAnnotations.end(), first_cell) != kAnnotations.end();
}

// Reads the next record that is not an annotation. False at the end.
Result<bool> FirstOfTable(CsvReader& csv) {
  Result<bool> got = csv.Next();
  while (got && *got && IsAnnotation(csv.cells().front())) got = csv.Next();
  return got;
}

// The cells of the first record. Empty if the text has none.
std::vector<std::string> FirstRecord(std::string_view head) {
  StringSource source{std::string(head)};
  LineReader lines(source);
  CsvReader csv(lines);
  const Result<bool> got = FirstOfTable(csv);
  return got && *got ? Copy(csv.cells()) : std::vector<std::string>();
}

}  // namespace

bool SniffColumnsCsv(std::string_view head) {
  const std::vector<std::string> first = FirstRecord(head);
  const std::size_t start = head.find_first_not_of(" \t\r\n");
  if (start == std::string_view::npos) return false;
  const bool annotated = IsAnnotation(head.substr(start, head.find(',', start) - start));
  const bool other = std::string_view("<{[#").find(head[start]) != std::string_view::npos && !annotated;
  return first.size() >= 2 && !other && head.find('\0') == std::string_view::npos;
}

bool SniffUsualColumnsCsv(std::string_view head) { return RecognizeColumns(FirstRecord(head)).has_value(); }

Result<void> ImportColumnsCsv(ByteSource& in, const ImportOptions& options, ImportTarget& out) {
  LineReader lines(in);
  CsvReader csv(lines);
  const bool got = TRY(FirstOfTable(csv));
  if (!got) return Fail(in.name() + ": holds no rows; nothing was recorded, or the copy failed");
  const std::size_t width = csv.cells().size();
  const std::string where = in.name() + ":" + std::to_string(csv.line());
  const std::vector<std::string> header = Copy(csv.cells());
  // A row may be malformed and counted, but a header decides about all rows.
  if (csv.malformed() && (options.columns.empty() || !NamesOnlyPositions(options.columns))) {
    return Fail(where + ": text follows the closing quote of a column's name; quote the whole name or nothing");
  }
  std::vector<BoundColumn> columns;
  bool first_is_data = false;
  if (options.columns.empty()) {
    std::optional<std::vector<BoundColumn>> known = RecognizeColumns(header);
    if (!known) return Fail(where + ": no known column names; name the columns with --columns time=...,util=...");
    columns = std::move(*known);
  } else {
    std::vector<BoundColumn> bound = TRY(BindColumns(options.columns, header, width, where));
    first_is_data = NamesOnlyPositions(options.columns) && FirstRowIsData(bound, csv.cells());
    if (first_is_data) bound = TRY(BindColumns(options.columns, {}, width, where));
    columns = std::move(bound);
  }
  SettleUnits(options.units, columns);
  ColumnsTable table(columns, width, options, in, out);
  if (first_is_data) TRY(table.Add(csv));
  while (true) {
    const bool more = TRY(csv.Next());
    if (!more) return table.Finish();
    TRY(table.Add(csv));
  }
}

}  // namespace idleburn
