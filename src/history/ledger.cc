#include "history/ledger.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "history/columns.h"

// The ledger of savings. Entries are facts: what was claimed or found on a day. Where a claim stands is never stored.
// It is computed from all entries each time (ViewLedger), so a correction or a new rule takes effect without changing
// what was written.

namespace idleburn {

namespace {

// Shortens the rows of the table.
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

// Writes the inputs of the entry that was just written.
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

// Adds the inputs to their entries. Both lists are in order of rows, so one pass joins them.
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
  // The ledger has this claim. The transaction ends without a change.
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

// The entries that count: no corrections, and no entry that a correction takes out.
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

// The line of a claim; null if it has none yet. The pointer is valid until a line is added.
LedgerLine* FindLine(std::vector<LedgerLine>& lines, const std::string& claim) {
  const auto found =
      std::find_if(lines.begin(), lines.end(), [&claim](const LedgerLine& line) { return line.claim == claim; });
  return found == lines.end() ? nullptr : &*found;
}

// Takes the figures of the verdict that stands from now on.
void TakeFound(const LedgerRow& row, LedgerLine& line) {
  line.fraction = row.fraction;
  line.low = row.low;
  line.high = row.high;
  line.currency = row.currency;
  line.cashable_nano = row.cashable_nano;
  line.freed_gpu_hours = row.freed_gpu_hours;
}

// Applies one verdict to its claim. INVALID says nothing about the saving. After VERIFIED, any other verdict means that
// the saving was lost. The verified amount then stays: it is the amount that was lost.
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

// A regression that another comparison of the same jobs found. Their verified savings are lost too: the jobs now take
// longer, whatever the cause.
void LoseOthers(const LedgerRow& row, std::vector<LedgerLine>& lines) {
  if (row.verdict != "REGRESSION" || row.boundary.empty()) return;
  for (LedgerLine& line : lines) {
    if (line.claim == row.claim || line.boundary != row.boundary || line.standing != Standing::kVerified) continue;
    line.standing = Standing::kLost;
    line.lost = row.written;
  }
}

// Returns the entry of a measure, a new one if there is none. Entries are sorted by name.
LeverOutcome& LeverIn(std::vector<LeverOutcome>& levers, const std::string& measure) {
  const auto at = std::lower_bound(levers.begin(), levers.end(), measure,
                                   [](const LeverOutcome& l, const std::string& m) { return l.measure < m; });
  if (at != levers.end() && at->measure == measure) return *at;
  LeverOutcome lever;
  lever.measure = measure;
  return *levers.insert(at, std::move(lever));
}

// Learns from one settled claim what its measure gives back. Good and bad verdicts count, because counting only
// successes would flatter a measure. A saving that was lost again counts: it was given back once. A retrospective claim
// does not, because its prediction was made after the fact.
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
  // Sums come last, because a later entry may change where an earlier claim stands.
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
