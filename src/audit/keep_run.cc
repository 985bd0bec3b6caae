#include "audit/keep_run.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <filesystem>
#include <mutex>
#include <sstream>
#include <system_error>

#include "audit/watch_flags.h"
#include "history/runs.h"
#include "history/users_history.h"
#include "measure/proc_files.h"
#include "measure/system_facts.h"
#include "os/held_signals.h"
#include "os/kept_file.h"
#include "price/find_rate.h"
#include "telemetry/run_facts.h"
#include "terminal/output.h"
#include "text/secrets.h"
#include "text/strings.h"

// Keeps runs in the history without delaying them. Three things may go wrong: the disk is slow, another program has the
// history locked, or idleburn is killed. So Begin writes in a thread of its own, End waits for a lock for half a second
// at most, and a run that could not be written waits in a file beside the history (history/users_history.h).
//
// No process marks a killed run as interrupted. Whoever looks at its row finds out (StateNow). A heartbeat in the row
// would be simpler, but it would write to the user's disk for as long as a run lasts.

namespace idleburn {
namespace {

// The project of a run: the setting, else the W&B project or MLflow experiment, else the name of the working directory.
std::string ProjectOf(const RunFacts& facts, const Settings& settings) {
  if (settings.Has("history.project")) return WithoutSecrets(settings.Text("history.project"));
  for (const char* fact : {"env.WANDB_PROJECT", "env.MLFLOW_EXPERIMENT_NAME"}) {
    if (const std::string named = FactIn(facts, fact); !named.empty()) return named;
  }
  return std::filesystem::path(FactIn(facts, "cwd")).filename().string();
}

constexpr const char* kBootId = "/proc/sys/kernel/random/boot_id";

// The pid namespace of this process. In another one, the same pid means another process.
std::string PidRealm() {
  std::error_code ignored;
  return std::filesystem::read_symlink("/proc/self/ns/pid", ignored).string();
}

// Stores the price in a row that begins, if the settings alone decide it. A killed run can then be completed at that
// price. Otherwise the price is found when the GPUs are known.
void TakeStatedPrice(const Settings& settings, const RateBook& prices, RunFigures& figures) {
  const std::optional<Rate> rate = RateOfAny(prices);
  if (!rate && !prices.stated.empty()) figures.rates = settings.Text("price.rate");
  if (!rate || !rate->per_gpu_hour) return;
  figures.currency = rate->currency;
  figures.rate_nano = rate->per_gpu_hour->nano();
  figures.rate_source = rate->source;
  if (rate->as_of) figures.rate_as_of_ns = rate->as_of->nanos();
}

}  // namespace

std::string HostName() {
  std::array<char, 256> host{};
  return gethostname(host.data(), host.size() - 1) == 0 ? host.data() : std::string();
}

Result<std::map<std::string, std::string>> ParseTags(const std::vector<std::string>& texts) {
  std::map<std::string, std::string> tags;
  for (const std::string& text : texts) {
    const std::size_t equals = text.find('=');
    if (equals == 0 || equals == std::string::npos) {
      return FailUsage("tag '" + text.substr(0, 40) + "': write it as key=value");
    }
    tags[Printable(text.substr(0, equals))] = Printable(text.substr(equals + 1));
  }
  return tags;
}

Result<void> RefuseMarks(const std::string& command, const std::vector<std::string>& tags, const Settings& settings,
                         const std::string& why) {
  const bool project = settings.Get("history.project").origin == "--project";  // in a file it is of other runs too
  if (tags.empty() && !project) return {};
  return FailUsage(command + ": " + (tags.empty() ? "--project" : "--tag") + " does nothing " + why +
                   "; it marks a run in the history");
}

// StateNow reads these words back; a change here must change it too.
std::string ThisProcess() {
  const std::optional<std::int64_t> start = StartTicksOf("/proc", getpid());
  return FileText(kBootId) + " " + PidRealm() + " " + std::to_string(getpid()) + " " +
         std::to_string(start.value_or(0));
}

// A different boot id means that the machine was rebooted, but only if the row is of this machine. A different
// namespace hides the process, so nothing can be said.
RunState StateNow(const HistoryRun& run) {
  if (run.state != RunState::kRunning) return run.state;
  std::istringstream words(run.process);
  std::string boot;
  std::string realm;
  std::int64_t pid = 0;
  std::int64_t start = 0;
  if (!(words >> boot >> realm >> pid >> start)) return run.state;
  if (boot != FileText(kBootId)) return run.host == HostName() ? RunState::kInterrupted : run.state;
  if (realm != PidRealm() || RunningSince("/proc", pid) == start) return run.state;
  return RunState::kInterrupted;
}

HistoryRun NewRun(const std::string& kind, const RunFacts& facts, const Settings& settings, const RateBook& prices) {
  HistoryRun run;
  run.kind = kind;
  run.host = FactIn(facts, "host");
  run.command = FactIn(facts, "command");
  run.folder = FactIn(facts, "cwd");
  run.exit = FactIn(facts, "exit");
  run.parent = FactIn(facts, "env.IDLEBURN_RUN_ID");
  run.version = IDLEBURN_VERSION;
  run.project = ProjectOf(facts, settings);
  run.experiments = IdsOf(facts).named;
  TakeStatedPrice(settings, prices, run.figures);
  return run;
}

namespace {

// The patience of each attempt of Begin with a locked history, and the pause before it in milliseconds. Attempts are
// short, so that End never waits long for one.
constexpr Nanos kTry(kNanosPerSecond / 10);
constexpr std::array<int, 4> kPauses = {0, 100, 400, 1500};

}  // namespace

Result<void> RunKeeper::Put(const HistoryRun& run, Nanos patience) const {
  SqliteDatabase history = TRY(OpenToKeep(*file_, run.started, patience));
  return PutRun(history, run);
}

// Failures are silent here, because End tries again and reports its own failure.
void RunKeeper::Begin() {
  if (!file_) return;
  run_.state = RunState::kRunning;
  run_.process = ThisProcess();
  const auto begin = [this, begun = run_](const std::stop_token& stop) {
    std::mutex mutex;
    std::condition_variable_any stopped;
    for (const int pause : kPauses) {
      std::unique_lock lock(mutex);
      if (pause > 0) stopped.wait_for(lock, stop, std::chrono::milliseconds(pause), [] { return false; });
      if (pause > 0 && stop.stop_requested()) return;  // but once it is tried
      begun_ = Put(begun, kTry).has_value();
      if (begun_) return;
    }
  };
  try {
    beginning_ = std::jthread([begin](const std::stop_token& stop) {
      const SignalStack signals;
      try {
        begin(stop);
      } catch (const std::exception&) {  // no memory: tried again at the end
        return;
      }
    });
  } catch (const std::system_error&) {  // no thread: written at the end
    return;
  }
}

bool RunKeeper::Kept() {
  beginning_.request_stop();
  if (beginning_.joinable()) beginning_.join();
  return begun_;
}

void RunKeeper::End(Instant ended, const std::string& exit, RunFigures figures) {
  // Both would write the same row, so the attempts of Begin must be over.
  static_cast<void>(Kept());
  run_.state = RunState::kEnded;
  run_.ended = ended;
  run_.exit = exit;
  run_.figures = std::move(figures);
  if (!file_) return;
  const Result<void> put = Put(run_, kPatienceAtTheEnd);
  if (put) return;
  if (!file_->empty() && KeepForLater(*file_, run_)) {
    return Say(put.error().message + "; idleburn keeps the run beside the history until then");
  }
  Say(put.error().message + "; this run is not in the history");
}

RunIds OwnIds() {
  RunFacts facts;
  for (const RunFact& fact : ExperimentFacts(OwnVariable)) facts[fact.key] = fact.value;
  return IdsOf(facts);
}

RunIds IdsOfKept(const HistoryRun& run) {
  RunFacts facts = {{std::string(kRunIdFact), run.id}};
  for (const auto& [name, value] : run.experiments) facts["env." + name] = value;
  return IdsOf(facts);
}

}  // namespace idleburn
