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

namespace idleburn {
namespace {

std::string ProjectOf(const RunFacts& facts, const Settings& settings) {
  if (settings.Has("history.project")) return WithoutSecrets(settings.Text("history.project"));
  for (const char* fact : {"env.WANDB_PROJECT", "env.MLFLOW_EXPERIMENT_NAME"}) {
    if (const std::string named = FactIn(facts, fact); !named.empty()) return named;
  }
  return std::filesystem::path(FactIn(facts, "cwd")).filename().string();
}

constexpr const char* kBootId = "/proc/sys/kernel/random/boot_id";

// The namespace in which our pids mean processes.
std::string PidRealm() {
  std::error_code ignored;
  return std::filesystem::read_symlink("/proc/self/ns/pid", ignored).string();
}

// The price, where it is stated: a run that is killed can then be completed in it. Else it is found when the GPUs are
// known.
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
                   ": it marks a run in the history");
}

std::string ThisProcess() {
  const std::optional<std::int64_t> start = StartTicksOf("/proc", getpid());
  return FileText(kBootId) + " " + PidRealm() + " " + std::to_string(getpid()) + " " +
         std::to_string(start.value_or(0));
}

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

// Tries to write a run that begins, and the milliseconds before each.
constexpr Nanos kTry(kNanosPerSecond / 10);
constexpr std::array<int, 4> kPauses = {0, 100, 400, 1500};

}  // namespace

Result<void> RunKeeper::Put(const HistoryRun& run, Nanos patience) const {
  SqliteDatabase history = TRY(OpenToKeep(*file_, run.started, patience));
  return PutRun(history, run);
}

// What fails here is tried again at the end, and told then. In short tries, so that the end need not wait for it.
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
  static_cast<void>(Kept());
  run_.state = RunState::kEnded;
  run_.ended = ended;
  run_.exit = exit;
  run_.figures = std::move(figures);
  if (!file_) return;
  const Result<void> put = Put(run_, kPatienceAtTheEnd);
  if (put) return;
  if (!file_->empty() && KeepForLater(*file_, run_)) {
    return Say(put.error().message + "; the run is kept beside it until then");
  }
  Say(put.error().message + "; the history does not have this run");
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
