#include "history/ledger.h"

#include <array>

#include "history/columns.h"

namespace idleburn {
namespace {

using L = LedgerRow;
constexpr auto kColumns = std::to_array<KeptColumn<L>>({
    {"tool", &L::tool},
    {"kind", &L::kind},
    {"claim", &L::claim},
    {"boundary", &L::boundary},
    {"unit", &L::unit},
    {"measure", &L::measure},
    {"verdict", &L::verdict},
    {"retrospective", &L::retrospective},
    {"predicted", &L::predicted},
    {"bound", &L::bound},
    {"fraction", &L::fraction},
    {"low", &L::low},
    {"high", &L::high},
    {"avoided_gpu_seconds", &L::avoided_gpu_seconds},
    {"currency", &L::currency},
    {"cashable_nano", &L::cashable_nano},
    {"freed_gpu_hours", &L::freed_gpu_hours},
    {"corrects", &L::corrects},
    {"note", &L::note},
});

std::string ColumnList() { return NamesOf(std::span<const KeptColumn<L>>(kColumns)); }

Result<void> AppendInputs(SqliteDatabase& history, const LedgerRow& row) {
  const std::int64_t number = history.LastRowId();
  std::int64_t place = 0;
  for (const LedgerInput& input : row.inputs) {
    const std::vector<SqliteValue> values = {number, place++, input.side, input.name,
                                             input.sha256.empty() ? SqliteValue() : SqliteValue(input.sha256)};
    TRY(history.Execute("INSERT INTO ledger_inputs (row, place, side, name, sha256) VALUES (?, ?, ?, ?, ?)", values));
  }
  return {};
}

Result<void> ReadInputs(const SqliteDatabase& history, std::vector<LedgerRow>& rows) {
  SqliteStatement query = TRY(history.Prepare("SELECT row, side, name, sha256 FROM ledger_inputs ORDER BY row, place"));
  auto at = rows.begin();
  while (true) {
    const bool more = TRY(query.Step());
    if (!more) return {};
    const std::int64_t number = query.Integer(0).value_or(0);
    while (at != rows.end() && at->row < number) ++at;
    if (at == rows.end()) return {};
    const auto text = [&query](int column) { return std::string(query.Text(column).value_or("")); };
    if (at->row == number) at->inputs.push_back({text(1), text(2), text(3)});
  }
}

}  // namespace

Result<void> AppendToLedger(SqliteDatabase& history, const LedgerRow& row) {
  std::vector<SqliteValue> values = {row.written.nanos()};
  std::string marks = "?";
  for (const auto& column : kColumns) {
    values.push_back(ColumnValue(column, row));
    marks += ", ?";
  }
  SqliteTransaction change = TRY(SqliteTransaction::Begin(history));
  TRY(history.Execute("INSERT INTO ledger (written_ns, " + ColumnList() + ") VALUES (" + marks +
                          ") ON CONFLICT (claim) WHERE kind = 'claimed' DO NOTHING",
                      values));
  if (history.Changes() == 0) return {};
  TRY(AppendInputs(history, row));
  return change.Commit();
}

Result<std::vector<LedgerRow>> ReadLedger(const SqliteDatabase& history) {
  SqliteStatement query = TRY(history.Prepare("SELECT row, written_ns, " + ColumnList() + " FROM ledger ORDER BY row"));
  std::vector<LedgerRow> rows;
  while (true) {
    const bool more = TRY(query.Step());
    if (!more) break;
    LedgerRow row;
    row.row = query.Integer(0).value_or(0);
    row.written = Instant::FromNanos(query.Integer(1).value_or(0));
    int place = 2;
    for (const auto& column : kColumns) TakeColumn(column, query, place++, row);
    rows.push_back(std::move(row));
  }
  TRY(ReadInputs(history, rows));
  return rows;
}

}  // namespace idleburn
