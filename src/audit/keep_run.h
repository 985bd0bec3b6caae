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
// The texts of --tag as keys and values.
Result<std::map<std::string, std::string>> ParseTags(const std::vector<std::string>& texts);
// Of a run that is not kept: fails where --tag or --project was given to find it by. `why`: "without --keep".
Result<void> RefuseMarks(const std::string& command, const std::vector<std::string>& tags, const Settings& settings,
                         const std::string& why);

// Who this process is, so that another can tell later whether it still lives: boot, pid namespace, pid, start.
std::string ThisProcess();
// The name of this machine; empty if it has none.
std::string HostName();
// What the row says, or kInterrupted where its idleburn is gone: its process has ended, or its machine was started
// anew. Of a process that cannot be seen from here (another machine or container) the row is believed.
RunState StateNow(const HistoryRun& run);

// A row for a run of that kind that begins, by the facts told so far and the settings.
HistoryRun NewRun(const std::string& kind, const RunFacts& facts, const Settings& settings, const RateBook& prices);

// Keeps a run in the history: a row when it begins, so that nothing is lost on a kill, and all of it when it ends.
// Where that fails, it is said once on standard error, and the run goes on.
class RunKeeper {
 public:
  // `file`: of the history; absent: nothing is kept.
  RunKeeper(std::optional<std::string> file, HistoryRun run) : file_(std::move(file)), run_(std::move(run)) {}
  // Writes the row, in a thread of its own: the run does not wait for a disk or for another program.
  void Begin();
  // Ends that, whether it is done or not; whether the run is kept so far.
  [[nodiscard]] bool Kept();
  // Adds how it ended, and writes it. Where another program has the history locked, the run is left beside it, so that
  // who waits for the command waits no longer. run() then has all of it, also where nothing is kept.
  void End(Instant ended, const std::string& exit, RunFigures figures);

  [[nodiscard]] HistoryRun& run() { return run_; }  // before Begin, after End

 private:
  Result<void> Put(const HistoryRun& run, Nanos patience) const;

  std::optional<std::string> file_;
  HistoryRun run_;
  std::atomic<bool> begun_ = false;
  std::jthread beginning_;
};

// Of the environment that this program runs in, which is that of a command it measures too. Only the variables of
// ExperimentFacts are looked at. No run: what is computed here is none.
RunIds OwnIds();
// Of a run that was kept: its own id, and what its environment told then.
RunIds IdsOfKept(const HistoryRun& run);

}  // namespace idleburn
