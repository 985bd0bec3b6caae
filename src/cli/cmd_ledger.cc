#include <algorithm>
#include <array>

#include "audit/keep_run.h"
#include "cli/commands.h"
#include "config/common_flags.h"
#include "config/output_format.h"
#include "history/users_history.h"
#include "report/ledger_output.h"
#include "text/number.h"

// `idleburn ledger` shows what became of claimed savings, and takes corrections. There is no action that changes or
// removes an entry. A ledger that its owner can edit proves nothing, and the database enforces that
// (history/open_history.h).

namespace idleburn {
namespace {

constexpr auto kLedgerFormats = FormatsOf(kLedgerWriters);

// The flags as they were written. `words` holds the action and what it is about.
struct LedgerRequest {
  std::vector<std::string> words;
  std::string note;
  std::string output;
};

// Adds a correction: a new entry that says which earlier one does not count, and why. A note is required, because a
// correction without a reason looks like a bad result that was hidden. A correction cannot be corrected; what it took
// out can be claimed again.
Result<int> Correct(const LedgerRequest& request, const std::string& file, Instant now) {
  // Entries are named by their row number. It never changes, because rows are never removed.
  const std::optional<std::int64_t> number = request.words.size() == 2 ? ParseInteger(request.words[1]) : std::nullopt;
  if (!number || request.note.empty()) {
    return FailUsage(
        "ledger correct: give the number of an entry and why: idleburn ledger correct 3 --note 'wrong runs'");
  }
  SqliteDatabase history = TRY(OpenToKeep(file, now));
  const std::vector<LedgerRow> rows = TRY(ReadLedger(history));
  // The number must be that of an entry, or the correction would take out nothing and look as if it did.
  const auto entry = std::find_if(rows.begin(), rows.end(), [&](const LedgerRow& row) { return row.row == *number; });
  if (entry == rows.end() || entry->kind == "correction") {
    return Fail(file + ": has no entry " + request.words[1] + " to correct; idleburn ledger --format csv numbers them");
  }
  LedgerRow correction;
  correction.written = now;
  correction.tool = "idleburn " IDLEBURN_VERSION;
  correction.kind = "correction";
  // The correction carries the claim, so that it appears beside the entry that it corrects.
  correction.claim = entry->claim;
  correction.corrects = entry->row;
  correction.note = request.note;
  TRY(AppendToLedger(history, correction));
  return 0;
}

// Shows the ledger. A history that does not exist yet is an empty ledger and no error.
Result<int> ShowLedger(const LedgerRequest& request, const Settings& settings, const Environment& environment) {
  const ReportFormat format = TRY(ChooseFormat(settings, "ledger", request.output, kLedgerFormats));
  LedgerReport report;
  report.file = HistoryFile(settings);
  report.ids = OwnIds();
  const std::optional<SqliteDatabase> history = TRY(OpenToRead(report.file, environment.now));
  if (history) {
    report.rows = TRY(ReadLedger(*history));
  }
  report.view = ViewLedger(report.rows);
  // The shares are what advice learns from these entries, so that a user can see where an estimate comes from.
  report.shares = SharesOf(report.view);
  const Paper paper = PaperFor(environment, request.output, {true, false, 120});
  TRY(WriteOutput(request.output, Written(kLedgerWriters, format, report, paper)));
  return 0;
}

}  // namespace

Result<int> RunLedger(const std::vector<std::string>& arguments, const Environment& environment) {
  LedgerRequest request;
  CommandFlags flags({"history.file", "output."});
  flags.Writes(kLedgerFormats);
  flags.Add("action", "correct ROW", "mark an entry as not counting; without it: show the ledger").list =
      &request.words;
  flags.Add("--note", "WHY", "the reason for correct").text = &request.note;
  flags.Add("--output", "FILE", "write to FILE").text = &request.output;
  const auto settings =
      TRY(flags.Read("ledger", "Shows savings: claimed, verified, lost again; predicted and realised.", arguments));
  if (!settings) return 0;
  if (request.words.empty()) return ShowLedger(request, *settings, environment);
  if (request.words.front() == "correct") return Correct(request, HistoryFile(*settings), environment.now);
  return FailUsage("ledger: unknown action '" + request.words.front().substr(0, 20) +
                   "'; give no action to see the ledger, or correct ROW --note WHY");
}

}  // namespace idleburn
