#include "history/ledger_view.h"

#include <algorithm>
#include <set>
#include <utility>

namespace idleburn {
namespace {

// Without corrections and what they take out.
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

void TakeFound(const LedgerRow& row, LedgerLine& line) {
  line.fraction = row.fraction;
  line.low = row.low;
  line.high = row.high;
  line.currency = row.currency;
  line.cashable_nano = row.cashable_nano;
  line.freed_gpu_hours = row.freed_gpu_hours;
}

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

// The same jobs became dearer by what another comparison found.
void LoseOthers(const LedgerRow& row, std::vector<LedgerLine>& lines) {
  if (row.verdict != "REGRESSION" || row.boundary.empty()) return;
  for (LedgerLine& line : lines) {
    if (line.claim == row.claim || line.boundary != row.boundary || line.standing != Standing::kVerified) continue;
    line.standing = Standing::kLost;
    line.lost = row.written;
  }
}

LeverOutcome& LeverIn(std::vector<LeverOutcome>& levers, const std::string& measure) {
  const auto at = std::lower_bound(levers.begin(), levers.end(), measure,
                                   [](const LeverOutcome& l, const std::string& m) { return l.measure < m; });
  if (at != levers.end() && at->measure == measure) return *at;
  LeverOutcome lever;
  lever.measure = measure;
  return *levers.insert(at, std::move(lever));
}

// A lever is learnt of from what a verdict settled, whichever way: counting only what went well would flatter it. A
// saving that was verified and lost again was given back all the same. What a retrospective claim promised was not
// promised before.
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
