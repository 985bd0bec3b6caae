#pragma once

#include <atomic>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/run_ids.h"
#include "config/settings.h"
#include "history/run.h"
#include "price/rate_book.h"
#include "telemetry/run_facts.h"

namespace idleburn {
// Reads the texts of --tag, "key=value" each. Any other text is a usage error. The last of several equal keys counts.
Result<std::map<std::string, std::string>> ParseTags(const std::vector<std::string>& texts);
// Fails if --tag or --project was given for a run that is not kept: nothing would hold the mark. `why` completes the
// message: "without --keep".
Result<void> RefuseMarks(const std::string& command, const std::vector<std::string>& tags, const Settings& settings,
                         const std::string& why);

// Identifies this process by boot, pid namespace, pid and start time, so that another process can tell later whether it
// still lives. A pid alone would not do: the kernel gives it to the next process.
std::string ThisProcess();
// The name of this machine; empty if it has none.
std::string HostName();
// The present state of a run: what its row says, or kInterrupted if its idleburn is gone. It is gone if its process has
// ended or its machine was rebooted. A process on another machine or in another container cannot be seen from here, so
// the row is believed.
RunState StateNow(const HistoryRun& run);

// A row for a run that begins, from its facts so far and the settings. `kind` is "run", "record" or "audit".
HistoryRun NewRun(const std::string& kind, const RunFacts& facts, const Settings& settings, const RateBook& prices);

// Keeps a run in the history. A row is written when the run begins, so that a killed run is visible, and completed when
// it ends. A failure is reported once on standard error, and the run goes on.
//
// Usage: fill in run(), call Begin, measure, call End. Without Begin, End alone keeps the run.
class RunKeeper {
 public:
  // `file` is the history. If it is absent, nothing is kept, but run() is filled in all the same.
  RunKeeper(std::optional<std::string> file, HistoryRun run) : file_(std::move(file)), run_(std::move(run)) {}
  // Writes the row in a thread of its own: the run waits neither for a disk nor for another program. Failed attempts
  // are repeated a few times.
  void Begin();
  // Stops the attempts of Begin and returns whether the run is kept so far.
  [[nodiscard]] bool Kept();
  // Completes the row and writes it. If another program has the history locked, the run is left in a file beside it, so
  // that whoever waits for the command does not wait longer. Afterwards run() is complete, also if nothing is kept.
  void End(Instant ended, const std::string& exit, RunFigures figures);

  [[nodiscard]] HistoryRun& run() { return run_; }  // before Begin, after End

 private:
  Result<void> Put(const HistoryRun& run, Nanos patience) const;

  std::optional<std::string> file_;
  HistoryRun run_;
  std::atomic<bool> begun_ = false;
  std::jthread beginning_;
};

// The ids of the experiment that this process belongs to (Slurm, MLflow, W&B and others), from its environment. Only
// the variables of ExperimentFacts are read. There is no run id, because a calculation is not a run. A measured command
// has the same environment, so its ids are the same.
RunIds OwnIds();
// The ids of a kept run: its own id, and those that its environment told.
RunIds IdsOfKept(const HistoryRun& run);

}  // namespace idleburn
