#pragma once

#include "cli/command.h"

namespace idleburn {

// The functions of the commands. Each reads its own words, prints its own help (exit 0) and returns the exit code of
// the process. Results of all commands: 0 for success, 1 and 2 as errors (cli/command.h), 3 for a gate of --fail-on.

// Runs a command and audits it. Returns the command's own exit code, whatever fails in idleburn. Only a gate turns a 0
// into 3 (docs/run-ends.md, "How a run ends").
Result<int> RunRun(const std::vector<std::string>& arguments, const Environment& environment);
// Records this machine until a signal, a time or the end of a process, then audits. 1 if the recording failed.
Result<int> RunRecord(const std::vector<std::string>& arguments, const Environment& environment);
// Shows what the GPUs of this machine do, until the user ends it. 1 without a GPU.
Result<int> RunTop(const std::vector<std::string>& arguments, const Environment& environment);
// Audits files. 3 if a gate does not hold.
Result<int> RunAudit(const std::vector<std::string>& arguments, const Environment& environment);
// Combines savings that overlap. It reads no file.
Result<int> RunCombine(const std::vector<std::string>& arguments, const Environment& environment);
// Writes a claim to a new file and to the ledger.
Result<int> RunClaim(const std::vector<std::string>& arguments, const Environment& environment);
// Judges a saving. 0 for every verdict, INVALID included, unless a gate asks otherwise: a verdict is an answer, not a
// failure (docs/saving-money.md, "Exit codes").
Result<int> RunCompare(const std::vector<std::string>& arguments, const Environment& environment);
// Computes the cost of scenarios over a horizon, or writes a template of one.
Result<int> RunTco(const std::vector<std::string>& arguments, const Environment& environment);
// Runs a command again and again with one change each. 1 if nothing could be measured, 128 + the signal if interrupted.
Result<int> RunIsolate(const std::vector<std::string>& arguments, const Environment& environment);
// Lists, shows, tags, removes and exports kept runs.
Result<int> RunHistory(const std::vector<std::string>& arguments, const Environment& environment);
// Shows the ledger, or adds a correction to it.
Result<int> RunLedger(const std::vector<std::string>& arguments, const Environment& environment);
// Interrupts and resumes a command. 3 with --fail-on fail if the job failed the drill, 128 + the signal if interrupted.
Result<int> RunDrillCommand(const std::vector<std::string>& arguments, const Environment& environment);
// Serves a node's counters until a signal ends it. 70 when a driver call hangs (agent/agent.h).
Result<int> RunAgent(const std::vector<std::string>& arguments, const Environment& environment);
// Audits a cluster through an engine of time series, or writes dashboards.
Result<int> RunFleet(const std::vector<std::string>& arguments, const Environment& environment);
// Imports bills, reconciles and validates them, and answers SQL about them.
Result<int> RunBill(const std::vector<std::string>& arguments, const Environment& environment);
// Plans a run, and with --launch also runs it. Then the exit code is the command's.
Result<int> RunPlan(const std::vector<std::string>& arguments, const Environment& environment);
// Writes the samples of recordings as a table.
Result<int> RunExport(const std::vector<std::string>& arguments, const Environment& environment);
// Lists, resolves and imports prices.
Result<int> RunPrices(const std::vector<std::string>& arguments, const Environment& environment);
// Says what can be measured here. 2 for failures, so that a script can check a machine; warnings are only told.
Result<int> RunDoctor(const std::vector<std::string>& arguments, const Environment& environment);
// Audits the recording that is embedded in the program.
Result<int> RunDemo(const std::vector<std::string>& arguments, const Environment& environment);
// Shows and checks settings, or writes a template of them.
Result<int> RunConfigCommand(const std::vector<std::string>& arguments, const Environment& environment);
// Prints the completions of a shell.
Result<int> RunCompletion(const std::vector<std::string>& arguments, const Environment& environment);
// Prints a manual page, or writes all of them.
Result<int> RunMan(const std::vector<std::string>& arguments, const Environment& environment);

}  // namespace idleburn
