#pragma once

#include <optional>

#include "compare/compared_sides.h"
#include "compare/comparison_report.h"
#include "config/settings.h"
#include "history/ledger.h"

namespace idleburn {

// What the ledger keeps of a claim, and of a comparison that judged one. Both are identified by the hash of the claim,
// so entries of two claims about the same jobs stay apart.
LedgerRow ClaimEntry(const Claim& claim, Instant now);
LedgerRow ComparisonEntry(const ComparisonReport& report, Instant now);

// Writes an entry into the ledger of the user's history. A failure is said on standard error only: the verdict stands
// without the ledger.
//
// The entry also gets a bound, the most that its measure could save. It is the bound of the claim's entry, or else what
// the audits of its runs said. Without both, the prediction is taken as the usual 0.8 of the bound. Advice learns from
// measured saving / bound.
void KeepInLedger(LedgerRow entry, const Settings& settings, Instant now);

// Finds the file that a name on the command line means: a file of that name, or the recording of a kept run. A run is
// named as "history:ID", as "last", or by at least four digits of its id. A name that can only be a run fails if the
// history has no such run, several, or one without a recording. Without a history, only "history:ID" fails.
Result<std::string> FileOrKeptRun(const std::string& name, const Settings& settings, Instant now);

// Finds where the runs before a change stand among all runs of the same job that the history knows. The same job means:
// same project and command, as many GPUs of the same model, and the same unit of work. Only other runs count that ended
// with exit 0 and started before the change. Absent unless the history has every run of the baseline with its work.
std::optional<KnownRuns> KnownRunsOf(const ComparedSides& sides, const Settings& settings, Instant now);

}  // namespace idleburn
