#include "agent/agent.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <mutex>
#include <thread>

#include "agent/agent_metrics.h"
#include "agent/job_summary.h"
#include "agent/state_file.h"
#include "os/held_signals.h"
#include "run/live_session.h"
#include "terminal/output.h"
#include "text/strings.h"

namespace idleburn {
namespace {

constexpr Nanos kLook{kNanosPerSecond / 4};
constexpr Nanos kRetryDriver{60 * kNanosPerSecond};
constexpr Nanos kHangLimit{60 * kNanosPerSecond};
constexpr Nanos kReadyWithin{3 * kNanosPerSecond};
constexpr std::int64_t kTextfileSeconds = 15;

// Tells systemd's service manager how the agent is: "READY=1", "WATCHDOG=1", "STOPPING=1" (sd_notify(3)). Without
// NOTIFY_SOCKET it does nothing.
void TellServiceManager(const char* state) {
  const char* const path = std::getenv("NOTIFY_SOCKET");
  sockaddr_un address{};
  if (path == nullptr || std::strlen(path) >= sizeof address.sun_path) return;
  address.sun_family = AF_UNIX;
  std::strcpy(address.sun_path, path);
  if (path[0] == '@') address.sun_path[0] = '\0';
  const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return;
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + std::strlen(path));
  sendto(fd, state, std::strlen(state), MSG_NOSIGNAL, reinterpret_cast<const sockaddr*>(&address), length);
  close(fd);
}

// The state of the agent on disk, if it can be kept.
class KeptCounts {
 public:
  // Opens the state and says what it found. Fails if another agent holds it.
  Result<void> Open(const std::string& folder) {
    if (folder.empty()) return {};
    std::error_code ignored;
    std::filesystem::create_directories(folder, ignored);
    bool held = false;
    Result<StateFile> file = StateFile::Open(folder, &held);
    if (!file && held) return Fail(file.error().message + "; one agent serves a node");
    if (file) {
      file_.emplace(std::move(*file));
    } else {
      Say(file.error().message + "; counts will start from zero at every start");
    }
    boot_ = BootId();
    return {};
  }
  // The counters to go on with: those of the last agent, or new ones that begin at the next second.
  NodeCounters Resume(std::int64_t period, Instant now) {
    NodeCounters fresh(FloorSecond(now.nanos()) + 1, period);
    if (!file_) return fresh;
    std::string why;
    const std::optional<std::string> bytes = file_->Resume(boot_, &why);
    if (bytes) {
      Result<NodeCounters> counters = NodeCounters::FromBytes(*bytes, period);
      if (counters) return std::move(*counters);
      why = counters.error().message;
    }
    if (!why.empty()) Say("counts start from zero: " + why);
    return fresh;
  }
  void Store(const std::string& bytes) {
    if (!file_ || file_->Store(bytes, boot_) || told_) return;
    told_ = true;
    Say("the state is larger than its file; counts will start from zero at the next start");
  }
  void EndInOrder() {
    if (file_) file_->EndInOrder();
  }
  [[nodiscard]] bool kept() const { return file_.has_value(); }

 private:
  std::optional<StateFile> file_;
  std::string boot_;
  bool told_ = false;
};

// Says each note once, and again only after an hour: a source that fails does so at every poll.
class NotesTold {
 public:
  void Tell(const std::vector<std::string>& notes) {
    const Nanos now = MonotonicNow();
    std::erase_if(told_, [now](const auto& each) { return now - each.second > Nanos(kNanosPerHour); });
    for (const std::string& note : notes) {
      if (told_.size() < kMost && told_.try_emplace(note, now).second) Say(Printable(note));
    }
  }

 private:
  static constexpr std::size_t kMost = 256;  // texts of others may differ each time
  std::map<std::string, Nanos> told_;
};

// The measuring of the node, started again while there is no driver.
class NodeSession {
 public:
  NodeSession(NodeMeter& meter, const LiveGpuOptions& gpus) : meter_(meter), gpus_(gpus) { Begin(); }
  ~NodeSession() { End(); }
  NodeSession(const NodeSession&) = delete;
  NodeSession& operator=(const NodeSession&) = delete;

  [[nodiscard]] Instant Now() const { return session_->Now(); }
  // Starts anew if there was no GPU a minute ago: the driver may have been loaded meanwhile.
  void Retry() {
    if (!opened_ || session_->why_no_gpu().empty() || MonotonicNow() - begun_ < kRetryDriver) return;
    End();
    Begin();
  }

 private:
  void Begin() {
    begun_ = MonotonicNow();
    opened_ = false;
    session_ = std::make_unique<LiveSession>(meter_.devices(), meter_);
    opening_ = std::jthread([this](const std::stop_token& stop) {
      LiveSessionSpec spec;
      spec.gpus = gpus_;
      session_->Start(spec, stop);
      const std::string& why = session_->why_no_gpu();
      if (!why.empty() && why != said_) Say("no GPU is measured: " + why);
      said_ = why;
      meter_.SetUp("nvml", why.empty());
      opened_ = true;
    });
  }
  void End() {
    opening_.request_stop();
    if (opening_.joinable()) opening_.join();
    session_->Stop();
  }

  NodeMeter& meter_;
  LiveGpuOptions gpus_;
  std::unique_ptr<LiveSession> session_;
  std::jthread opening_;
  std::atomic<bool> opened_ = false;
  Nanos begun_{0};
  std::string said_;
};

// Asks who holds the GPUs, once a period.
std::jthread PollOwners(NodeMeter& meter, const OwnerSource& owners, Nanos period) {
  return std::jthread([&meter, owners, period](const std::stop_token& stop) {
    const std::shared_ptr<RunClock> clock = SystemClock();
    while (!stop.stop_requested()) {
      const ClockReading began = clock->Read();
      Holdings holdings = owners(began.wall, meter.Devices());
      meter.SetUp("owners", holdings.errors.empty());
      meter.Hold(holdings, began.wall);
      clock->SleepUntil(began.monotonic + period, stop);
    }
  });
}

class NodeAgent {
 public:
  NodeAgent(const AgentOptions& options, KeptCounts& kept, NodeMeter& meter)
      : options_(options), kept_(kept), meter_(meter), clock_(SystemClock()) {}

  // Counts what is due, keeps it, and only then exposes it.
  void Step(const NodeSession& session) {
    const ClockReading clocks = clock_->Read();
    const Instant wall = clocks.wall;
    meter_.Advance(session.Now(), clocks);
    const std::int64_t next = meter_.NextSecond();
    if (next == counted_ && newest_ != nullptr) return;
    const NodeView view = meter_.View(wall);
    kept_.Store(meter_.StateBytes());
    counted_ = next;
    auto exposed = std::make_shared<Exposed>();
    exposed->families = AgentFamilies(view, options_.node, options_.version);
    exposed->jobs = JobsJson(view, options_.node);
    exposed->at = wall;
    const std::optional<Instant>& newest = view.health.newest_sample;
    exposed->ready = newest && wall - *newest < kReadyWithin;
    SummariseJobs(view);
    WriteFile(*exposed);
    const std::lock_guard lock(mutex_);
    newest_ = std::move(exposed);
  }
  [[nodiscard]] std::shared_ptr<const Exposed> Newest() const {
    const std::lock_guard lock(mutex_);
    return newest_;
  }
  // How long the driver has hung is over the limit.
  [[nodiscard]] bool DriverHangs() const {
    const std::optional<Nanos> hanging = meter_.HangingFor(clock_->Read().wall);
    return hanging && *hanging > kHangLimit;
  }

 private:
  void SummariseJobs(const NodeView& view) {
    std::optional<Money> price;
    std::string currency;
    for (const GpuGauges& gpu : view.gauges) {
      // Jobs are counted over all GPUs, so they have a price only where all GPUs have the same.
      if (!gpu.price || (price && *price != *gpu.price)) {
        price.reset();
        break;
      }
      price = gpu.price;
      currency = gpu.currency;
    }
    for (const auto& [owner, job] : meter_.TakeEndedJobs()) {
      const std::string text = JobSummaryText(owner, job, price, currency);
      std::fputs(text.c_str(), stderr);
      if (!kept_.kept()) continue;
      std::error_code ignored;
      std::filesystem::create_directories(options_.state_folder + "/jobs", ignored);
      std::ofstream(options_.state_folder + "/jobs/" + JobSummaryName(owner)) << text;
    }
  }
  void WriteFile(const Exposed& exposed) {
    if (options_.textfile.empty() || counted_ - written_ < kTextfileSeconds) return;
    written_ = counted_;
    const Result<void> written = WriteTextfile(options_.textfile, exposed);
    if (!written) meter_.CountError("textfile");
    if (!written && !told_) Say(written.error().message);
    told_ = !written;
  }

  const AgentOptions& options_;
  KeptCounts& kept_;
  NodeMeter& meter_;
  std::shared_ptr<RunClock> clock_;
  std::int64_t counted_ = 0;
  std::int64_t written_ = 0;
  bool told_ = false;
  mutable std::mutex mutex_;
  std::shared_ptr<const Exposed> newest_;
};

}  // namespace

Result<int> RunNodeAgent(const AgentOptions& options, const Thresholds& thresholds, RateFinder find_rates,
                         const OwnerSource& owners) {
  // Before any thread starts, so that all of them leave the signals to Wait.
  const HeldSignals end(std::vector<int>{SIGINT, SIGTERM});
  std::signal(SIGXFSZ, SIG_IGN);
  KeptCounts kept;
  TRY(kept.Open(options.state_folder));
  const Instant started = SystemClock()->Read().wall;
  NodeMeter meter(thresholds, kept.Resume(options.close_period, started), std::move(find_rates), started);
  meter.CountDowntime(started);
  NodeAgent agent(options, kept, meter);
  const std::unique_ptr<ScrapeServer> server = TRY(ScrapeServer::Start(
      options.server, [&agent] { return agent.Newest(); }, [&meter] { meter.OnScrape(); }));
  for (const std::string& warning : server->warnings()) Say(warning);
  Say("serving " + server->url());
  NodeSession session(meter, options.gpus);
  std::jthread polling = PollOwners(meter, owners, options.owner_period);
  TellServiceManager("READY=1");
  NotesTold notes;
  const Nanos began = MonotonicNow();
  bool hangs = false;
  for (bool over = false; !over && !hangs;) {
    over = end.Wait(kLook) || (options.run_for && MonotonicNow() - began >= *options.run_for);
    agent.Step(session);
    session.Retry();
    notes.Tell(meter.TakeNotes());
    TellServiceManager("WATCHDOG=1");
    hangs = agent.DriverHangs();
  }
  TellServiceManager("STOPPING=1");
  polling.request_stop();
  kept.EndInOrder();
  if (!hangs) return 0;
  Say("a call into the driver has not returned for 60 s; the agent ends here, and the service manager starts it again");
  return kDriverHangs;
}

}  // namespace idleburn
