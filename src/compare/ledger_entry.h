#pragma once

#include <optional>

#include "compare/compared_sides.h"
#include "compare/comparison_report.h"
#include "config/settings.h"
#include "history/ledger.h"

namespace idleburn {

// What the ledger keeps of a claim, and of a comparison that judged one. Both are identified by the hash of the
// claim.
LedgerRow ClaimEntry(const Claim& claim, Instant now);
LedgerRow ComparisonEntry(const ComparisonReport& report, Instant now);

// Writes an entry into the ledger of the user's history. Its bound is what the claim's entry has, or what the audits
// of its runs gave the measure; without both, the prediction counts as the usual 0.8 of the bound. A failure is said
// on standard error only: the verdict stands without the ledger.
void KeepInLedger(LedgerRow entry, const Settings& settings, Instant now);

// What a name on the command line means: a file of that name, or the recording of a run in the history. Runs are
// named as "history:ID", by an id of at least four digits, or as "last". A name that can only be a run fails if the
// history has no such run, several, or one without a recording. Without a history, only "history:ID" fails.
Result<std::string> FileOrKeptRun(const std::string& name, const Settings& settings, Instant now);

// Where the runs before a change stand among all runs of the same jobs that the user's history knows: same project
// and command, as many GPUs of the same model, work in the same unit, and started before the change. Only other runs
// that ended with exit 0 count. Absent unless the history has every run of the baseline with its work.
std::optional<KnownRuns> KnownRunsOf(const ComparedSides& sides, const Settings& settings, Instant now);

}  // namespace idleburn
