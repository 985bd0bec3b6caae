#include "cli/commands.h"

#include <array>

// The table of commands. Its order is that of the help. A summary is one line and says what a user gets, not how it is
// done.

namespace idleburn {

std::span<const Command> Commands() {
  static constexpr auto kCommands = std::to_array<Command>({
      {"run", "runs a command and says what it cost and why: idleburn run -- CMD", RunRun},
      {"record", "records this machine until stopped, then audits it", RunRecord},
      {"top", "shows what this machine's GPUs do and cost, live", RunTop},
      {"audit", "audits files that recorded GPUs: cost by phase, causes, fixes", RunAudit},
      {"combine", "adds up several claimed savings that overlap", RunCombine},
      {"claim", "records, before a change, how its saving will be judged", RunClaim},
      {"compare", "verifies a saving: idleburn compare BEFORE... --vs AFTER...", RunCompare},
      {"tco", "computes the total cost of a model or fleet: scenarios, levers, uncertainty, actuals", RunTco},
      {"isolate", "changes one thing at a time to find what bounds a command", RunIsolate},
      {"history", "shows kept runs: list, show, tag, rm, export", RunHistory, true},
      {"ledger", "shows savings: claimed, verified, lost again; predicted and realised", RunLedger},
      {"drill", "interrupts and resumes a command: reports what is lost, skipped or repeated", RunDrillCommand},
      {"agent", "counts every GPU-second of a node by owner, and serves the counters", RunAgent},
      {"fleet", "audits a cluster through its engine of time series: who burned what, and why", RunFleet, true},
      {"bill", "reconciles, charges and forecasts invoices; exports to FOCUS", RunBill, true},
      {"plan", "predicts memory and time of a training run before it starts", RunPlan},
      {"export", "writes samples of recordings as CSV or Parquet", RunExport},
      {"prices", "shows the price catalogue: list, resolve, import", RunPrices},
      {"doctor", "checks what can be measured here, what cannot and why, and what to do", RunDoctor},
      {"demo", "audits an invented recording: the product without a GPU", RunDemo},
      {"config", "shows settings and where they come from; writes a template", RunConfigCommand},
      {"completion", "prints completions for bash, zsh or fish", RunCompletion},
      {"man", "prints manual pages: idleburn man audit | man -l -", RunMan},
  });
  return kCommands;
}

std::vector<CommandHelp> AllCommandHelp(const Environment& environment) {
  std::vector<CommandHelp> all;
  for (const Command& command : Commands()) {
    const Result<int> asked = command.run({std::string(kListFlags)}, environment);
    CHECK(!asked);
    all.push_back({command.name, command.summary, ParseFlagTable(asked.error().message)});
  }
  return all;
}

}  // namespace idleburn
