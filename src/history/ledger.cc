#include "history/ledger.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "history/columns.h"

namespace idleburn {

namespace {

using L = LedgerRow;
// The columns between the row number and the inputs.
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

std::string LedgerColumnList() { return NamesOf(std::span<const KeptColumn<L>>(kColumns)); }

// The inputs of the row that was just written.
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

// Both lists are in order of rows, so one pass joins them.
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
  // A claim and its inputs become visible together.
  SqliteTransaction change = TRY(SqliteTransaction::Begin(history));
  TRY(history.Execute("INSERT INTO ledger (written_ns, " + LedgerColumnList() + ") VALUES (" + marks +
                          ") ON CONFLICT (claim) WHERE kind = 'claimed' DO NOTHING",
                      values));
  // The claim is there already, and the transaction is rolled back with nothing in it.
  if (history.Changes() == 0) return {};
  TRY(AppendInputs(history, row));
  return change.Commit();
}

Result<std::vector<LedgerRow>> ReadLedger(const SqliteDatabase& history) {
  SqliteStatement query =
      TRY(history.Prepare("SELECT row, written_ns, " + LedgerColumnList() + " FROM ledger ORDER BY row"));
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

namespace {

// All entries except corrections and what they take out.
std::vector<const LedgerRow*> Counted(std::span<const LedgerRow> rows) {
  std::set<std::int64_t> corrected;
  for (const LedgerRow& row : rows) {
    if (row.kind == "correction" && row.corrects) corrected.insert(*row.corrects);
  }
  std::vector<const LedgerRow*> counted;
  for (const LedgerRow& row : rows) {
    if (row.kind != "correction" && !corrected.contains(row.row)) counted.push_back(&row);
  }
  return counted;
}

LedgerLine* FindLine(std::vector<LedgerLine>& lines, const std::string& claim) {
  const auto found =
      std::find_if(lines.begin(), lines.end(), [&claim](const LedgerLine& line) { return line.claim == claim; });
  return found == lines.end() ? nullptr : &*found;
}

// The figures of the verdict that now stands.
void TakeFound(const LedgerRow& row, LedgerLine& line) {
  line.fraction = row.fraction;
  line.low = row.low;
  line.high = row.high;
  line.currency = row.currency;
  line.cashable_nano = row.cashable_nano;
  line.freed_gpu_hours = row.freed_gpu_hours;
}

// Applies one verdict to its claim. INVALID says nothing about the saving. After VERIFIED, any verdict but VERIFIED
// means that it was lost; the verified amount stays as the amount that is lost.
void Judge(const LedgerRow& row, LedgerLine& line) {
  if (row.verdict == "INVALID") return;  // says nothing about the saving
  line.judged = row.written;
  line.verdict = row.verdict;
  line.retrospective = row.retrospective.value_or(0) != 0;
  if (row.predicted) line.predicted = row.predicted;
  if (row.bound) line.bound = row.bound;
  if (row.verdict == "VERIFIED") {
    line.standing = Standing::kVerified;
    line.lost.reset();
    TakeFound(row, line);
    return;
  }
  if (line.standing == Standing::kVerified || line.standing == Standing::kLost) {
    if (!line.lost) line.lost = row.written;
    line.standing = Standing::kLost;  // what was verified stays as the amount that is lost
    return;
  }
  line.standing = Standing::kNotShown;
  TakeFound(row, line);
}

// A regression found by another comparison of the same jobs: their verified savings are lost too.
void LoseOthers(const LedgerRow& row, std::vector<LedgerLine>& lines) {
  if (row.verdict != "REGRESSION" || row.boundary.empty()) return;
  for (LedgerLine& line : lines) {
    if (line.claim == row.claim || line.boundary != row.boundary || line.standing != Standing::kVerified) continue;
    line.standing = Standing::kLost;
    line.lost = row.written;
  }
}

// Keeps the levers sorted by name.
LeverOutcome& LeverIn(std::vector<LeverOutcome>& levers, const std::string& measure) {
  const auto at = std::lower_bound(levers.begin(), levers.end(), measure,
                                   [](const LeverOutcome& l, const std::string& m) { return l.measure < m; });
  if (at != levers.end() && at->measure == measure) return *at;
  LeverOutcome lever;
  lever.measure = measure;
  return *levers.insert(at, std::move(lever));
}

// A lever is learned from every settled verdict, good or bad: counting only successes would flatter it. A saving that
// was verified and lost again was given back once, so it counts. A retrospective claim does not, because its
// prediction was not made before.
void Learn(const LedgerLine& line, std::vector<LeverOutcome>& levers) {
  if (line.measure.empty() || line.retrospective || !line.fraction) return;
  const bool verified = line.standing == Standing::kVerified || line.standing == Standing::kLost;
  const bool regressed = line.standing == Standing::kNotShown && line.verdict == "REGRESSION";
  if (!verified && !regressed) return;
  LeverOutcome& lever = LeverIn(levers, line.measure);
  (verified ? lever.verified : lever.regressions) += 1;
  if (line.predicted) {
    ++lever.pairs;
    lever.predicted += *line.predicted;
    lever.realised += *line.fraction;
  }
  if (line.bound && *line.bound > 0) lever.shares.push_back(std::clamp(*line.fraction / *line.bound, 0.0, 1.0));
}

}  // namespace

LedgerView ViewLedger(std::span<const LedgerRow> rows) {
  LedgerView view;
  for (const LedgerRow* row : Counted(rows)) {
    LedgerLine* line = FindLine(view.lines, row->claim);
    // Comparisons without a written claim start a line of their own.
    if (line == nullptr) {
      line = &view.lines.emplace_back();
      line->claim = row->claim;
      line->boundary = row->boundary;
      line->measure = row->measure;
      line->claimed = row->written;
      line->predicted = row->predicted;
      line->bound = row->bound;
    }
    if (row->kind != "compared") continue;
    Judge(*row, *line);
    LoseOthers(*row, view.lines);
  }
  for (const LedgerLine& line : view.lines) {
    LedgerTotal& total = view.totals[line.standing][line.currency];
    ++total.lines;
    total.cashable_nano += line.cashable_nano.value_or(0);
    total.freed_gpu_hours += line.freed_gpu_hours.value_or(0);
    Learn(line, view.levers);
  }
  return view;
}

}  // namespace idleburn
