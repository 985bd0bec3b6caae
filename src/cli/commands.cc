#include "cli/commands.h"

#include <array>

// The table of commands. Its order is that of the help. A summary is one line and says what a user gets, not how it is
// done.

namespace idleburn {

std::span<const Command> Commands() {
  static constexpr auto kCommands = std::to_array<Command>({
      {"run", "runs a command and says what it cost and why: idleburn run -- CMD", RunRun},
      {"record", "records this machine until stopped, then audits it", RunRecord},
      {"top", "what this machine's GPUs do and cost, live", RunTop},
      {"audit", "audits files that recorded GPUs: cost by phase, causes, fixes", RunAudit},
      {"combine", "what several claimed savings really add up to", RunCombine},
      {"claim", "writes down, before a change, how its saving will be judged", RunClaim},
      {"compare", "verifies a saving: idleburn compare BEFORE... --vs AFTER...", RunCompare},
      {"tco", "what a model or fleet costs in all: scenarios, levers, uncertainty, actuals", RunTco},
      {"isolate", "changes one thing at a time and measures again: what bounds a command", RunIsolate},
      {"history", "runs that were kept: list, show, tag, rm, export", RunHistory, true},
      {"ledger", "savings: claimed, verified, lost again; predicted against realised", RunLedger},
      {"drill", "interrupts a command and resumes it: what is lost, skipped or repeated", RunDrillCommand},
      {"agent", "counts every GPU-second of a node by owner, and serves the counters", RunAgent},
      {"plan", "what a training run needs in memory and time, before it is started", RunPlan},
      {"export", "samples of recordings as CSV or Parquet", RunExport},
      {"prices", "the price catalogue: list, resolve, import", RunPrices},
      {"doctor", "what can be measured here, what cannot and why, and what to do", RunDoctor},
      {"demo", "an audit of an invented recording: the product without a GPU", RunDemo},
      {"config", "settings: where they come from, and a template", RunConfigCommand},
      {"completion", "completions of bash, zsh or fish", RunCompletion},
      {"man", "manual pages: idleburn man audit | man -l -", RunMan},
  });
  return kCommands;
}

}  // namespace idleburn
