#pragma once

#include <optional>

#include "compare/compared_sides.h"
#include "compare/comparison_report.h"
#include "config/settings.h"
#include "history/ledger.h"

namespace idleburn {

// What the ledger keeps of a claim, and of a comparison that judged one.
LedgerRow ClaimEntry(const Claim& claim, Instant now);
LedgerRow ComparisonEntry(const ComparisonReport& report, Instant now);

// Writes an entry into the ledger of the user's history, with the bound that the audits of its runs gave the measure;
// without such audits what was predicted counts as the usual 0.8 of the bound. That it cannot be written is said on
// standard error: the verdict stands without it.
void KeepInLedger(LedgerRow entry, const Settings& settings, Instant now);

// What a name on the command line means: itself where there is such a file; else the recording of the run of the
// history that it names, as "history:ID", an id of at least four digits, or "last". Fails only on a run that is named
// by history: and cannot be had, or is named by too little.
Result<std::string> FileOrKeptRun(const std::string& name, const Settings& settings, Instant now);

// Where the runs before a change stand among all that the user's history knows of the same jobs: of the same project
// and command, on as many GPUs of the same model, with work counted in the same unit, started before the change, ended
// well. Absent where the history does not have every one of them with its work.
std::optional<KnownRuns> KnownRunsOf(const ComparedSides& sides, const Settings& settings, Instant now);

}  // namespace idleburn
