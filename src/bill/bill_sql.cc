#include "bill/bill_sql.h"

#include <filesystem>

#include "bill/bill_telemetry.h"
#include "import/duckdb_query.h"
#include "text/strings.h"

namespace idleburn {
namespace {

// The ledger as a table: one row for each GPU and span.
Result<void> LoadLedger(DuckDbConnection& database, const std::string& path) {
  using Kind = AppendColumn::Kind;
  std::string phases;
  for (const std::string_view phase : kFleetPhaseNames) phases += ", " + std::string(phase) + "_ms BIGINT";
  TRY(database.Execute("CREATE TABLE gpu_hours(node VARCHAR, uuid VARCHAR, begin TIMESTAMP, \"end\" TIMESTAMP" +
                       phases + ")"));
  if (path.empty()) return {};
  FleetLedger ledger = TRY(OpenLedger(path));
  const std::unique_ptr<DuckDbAppender> appender = TRY(database.AppendTo("gpu_hours"));
  std::vector<AppendColumn> columns = {{Kind::kText}, {Kind::kText}, {Kind::kTime}, {Kind::kTime}};
  columns.resize(4 + kFleetPhaseCount);
  std::size_t rows = 0;
  Result<void> done;
  const auto flush = [&] {
    if (done && rows > 0) done = appender->Append(columns, rows);
    for (AppendColumn& column : columns) column = {column.kind};
    rows = 0;
  };
  TRY(ledger.ForEach(CellKind::kGpu, 0, kLedgerEnd, [&](const LedgerCell& cell) {
    columns[0].texts.emplace_back(cell.name->node);
    columns[1].texts.emplace_back(cell.name->uuid);
    columns[2].numbers.push_back(cell.from * 1'000'000);
    columns[3].numbers.push_back(cell.to * 1'000'000);
    for (std::size_t p = 0; p < kFleetPhaseCount; ++p) columns[4 + p].numbers.push_back(cell.time.phases[p]);
    for (AppendColumn& column : columns) column.nulls.push_back(0);
    if (++rows == 2048) flush();
  }));
  flush();
  TRY(std::move(done));
  return appender->Close();
}

// Blanks and semicolons at the end would break the query around it.
std::string WithoutSemicolon(std::string sql) {
  while (!sql.empty() && (sql.back() == ';' || sql.back() == ' ' || sql.back() == '\n')) sql.pop_back();
  return sql;
}

}  // namespace

Result<SqlAnswer> AskBills(const std::string& store, const std::string& ledger, const std::string& sql) {
  if (!std::filesystem::exists(store)) {
    return Fail(store + ": there are no imported bills; run idleburn bill import FILE first");
  }
  DuckDbPlace place;
  place.spill_folder = store + ".spill";
  const std::unique_ptr<DuckDbConnection> database = TRY(OpenDuckDbAt(place, "bill"));
  TRY(database->Execute("ATTACH " + SqlText(store) + " AS bill (READ_ONLY)"));
  for (const char* view : {"charges", "imports", "findings"}) {
    TRY(database->Execute(std::string("CREATE VIEW ") + view + " AS SELECT * FROM bill.main." + view));
  }
  TRY(LoadLedger(*database, ledger));
  // From here on no statement can read or write a file, load code or change a setting.
  TRY(database->Execute("SET enable_external_access = false"));
  TRY(database->Execute("SET lock_configuration = true"));
  const std::string one = WithoutSemicolon(sql);
  if (const Result<void> reads = database->CheckReads(one); !reads) {
    return Fail("bill sql: " + Printable(reads.error().message));
  }
  Result<std::unique_ptr<TableStream>> stream = database->Query("SELECT COLUMNS(*)::VARCHAR FROM (" + one + "\n)");
  if (!stream) return Fail("bill sql: " + Printable(stream.error().message));
  SqlAnswer answer;
  for (const StreamColumn& column : (*stream)->columns()) answer.columns.push_back(column.name);
  while (const std::unique_ptr<TableChunk> chunk = TRY((*stream)->Next())) {
    for (std::size_t row = 0; row < chunk->rows(); ++row) {
      if (answer.rows.size() == kMostSqlRows) {
        answer.cut = true;
        return answer;
      }
      std::vector<std::string>& cells = answer.rows.emplace_back();
      for (std::size_t c = 0; c < answer.columns.size(); ++c) {
        const TableVector vector = chunk->Vector(c);
        cells.emplace_back(vector.IsNull(row) ? std::string_view() : vector.Text(row));
      }
    }
  }
  return answer;
}

}  // namespace idleburn
