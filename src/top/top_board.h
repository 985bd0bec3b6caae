#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/money.h"
#include "base/result.h"
#include "classify/run_classifier.h"
#include "price/cost_report.h"
#include "price/find_rate.h"
#include "telemetry/live_sink.h"

namespace idleburn {

// What `idleburn top` shows. TopBoard hears the samples, keeps the newest readings, and classifies and prices all of
// them with the code of an audit, so that top and audit never differ. TopView is a moment of that as plain data, which
// another thread draws.

// One process, on all the GPUs it holds.
struct TopProcess {
  std::int64_t pid = 0;
  // When it began, in ticks of the kernel; absent: /proc does not show it.
  std::optional<std::int64_t> start_ticks;
  // Places in TopView::gpus.
  std::vector<std::size_t> gpus;
  // Bytes on all of them; absent if the driver does not say it of one.
  std::optional<std::int64_t> memory;
  // Of the GPUs that it holds alone.
  Money per_hour;
  // It holds others together with somebody.
  bool shares = false;
  std::string user = "unknown";
  // On one line, without secrets.
  std::string command = "unknown";
};

// A GPU as far as its processes go: who holds it, and what it costs.
struct HeldGpu {
  // In TopView::gpus.
  std::size_t place = 0;
  const std::vector<GpuHolder>* holders = nullptr;
  std::optional<Money> per_hour;
};

// Who holds the GPUs.
struct TopProcesses {
  // In order of the first GPU, then of the pid.
  std::vector<TopProcess> list;
  // Most of the processes that the driver names are not seen here, because its pids are of another namespace than ours.
  // One that is seen has that number by chance. Nobody is named then.
  bool foreign = false;
};
// Who holds which of `gpus`. The price of a GPU is that of its one holder. Where there are several, nothing measures
// whose time it was, and it is nobody's.
TopProcesses ProcessesOn(const std::vector<HeldGpu>& gpus);

// Finds out who processes are, by the /proc of this machine. It may wait for the disk or a directory of users, so the
// sampler's thread must not call it.
class ProcessNames {
 public:
  // `proc` is "/proc", or the folder that stands for it in a test.
  explicit ProcessNames(std::string proc = "/proc") : proc_(std::move(proc)) {}
  // Fills in user and command. A process that has ended meanwhile keeps what it last had.
  void Fill(TopProcesses& processes);

 private:
  struct Known {
    std::string user;
    std::string command;
  };
  // Users are looked up once: a directory may be far away.
  std::string UserOf(std::uint32_t id);

  std::string proc_;
  // By pid and start: a pid alone may be another process by now.
  std::map<std::pair<std::int64_t, std::int64_t>, Known> known_;
  std::map<std::uint32_t, std::string> users_;
};

// One GPU, or MIG instance, at a moment and since the start. What was not read is absent.
struct TopGpu {
  // As the tables call it: "GPU 0".
  std::string name;
  // Of the last whole second; where it is not known, `unobserved` says why.
  std::optional<Phase> phase;
  std::string_view unobserved;
  // A board with instances: the phases are theirs.
  bool split = false;
  // The newest readings, by signal.
  std::array<std::optional<std::int64_t>, kSignalCount> last;
  std::optional<Money> per_hour;
  // How many processes hold it; absent where the driver does not list them.
  std::optional<std::size_t> holders;
  // Time by phase, and money where there is a price.
  UsageCost since_start;
};

// All GPUs at a moment.
struct TopView {
  Instant time;
  std::vector<TopGpu> gpus;
  // Who they are is not filled in (ProcessNames).
  TopProcesses processes;
  // All GPUs together.
  UsageCost whole;
  // Of all GPUs, as OneRate says it.
  Rate rate;
  // Why there is no money, where that is no matter of prices.
  std::string fault;
};

// Makes views of what is measured. The lanes' thread pushes to it, any thread may take a view.
class TopBoard final : public LiveSink {
 public:
  // `thresholds` outlives the board. `find_rates` is asked once, when there are GPUs.
  TopBoard(const Thresholds& thresholds, RateFinder find_rates);

  void OnSamples(std::span<const Sample> samples) override;
  void OnHost(std::span<const HostSample> /*samples*/) override {}
  void OnWork(const WorkMark& /*mark*/) override {}
  void OnNote(const Note& note) override;
  void OnFact(const RunFact& /*fact*/) override {}
  void OnHolders(const GpuHolders& holders) override;

  // The view of about a second ago. From any thread.
  [[nodiscard]] TopView Latest() const;
  // The view of now. Nothing may be pushed any more.
  [[nodiscard]] TopView Final() { return Build(); }
  // What happened since the last call, a line each. From any thread.
  std::vector<std::string> TakeNotes();

  // The table that the lanes enter devices into.
  [[nodiscard]] DeviceTable& devices() { return devices_; }

 private:
  // The readings of one second; they decide its phase.
  struct Second {
    // Since the epoch.
    std::int64_t number = INT64_MIN;
    std::int64_t sum = 0;
    std::int64_t count = 0;
  };
  struct Gpu {
    std::array<std::optional<std::int64_t>, kSignalCount> last;
    // By number % 4: the open second, the two that are shown, and one to spare.
    std::array<Second, 4> seconds;
    // The phase follows from engine activity until utilization is read.
    bool by_engine = true;
    Unobserved why = Unobserved::kGap;
    GpuHolders holders;
  };
  // Takes what a row of the table needs.
  void Keep(const Sample& sample);
  // Absent where the last two seconds have no reading.
  [[nodiscard]] std::optional<Phase> PhaseOfLastSecond(const Gpu& gpu) const;
  // Those of `ids` whose holders are known.
  [[nodiscard]] std::vector<HeldGpu> Held(const std::vector<DeviceId>& ids, TopView& view) const;
  // Classifies and prices all that was heard. By the lanes' thread, or after the end.
  TopView Build();

  const Thresholds& thresholds_;
  RateFinder find_rates_;
  // The lanes' thread writes to it. It is read there, or after the end.
  DeviceTable devices_;
  DataQuality quality_;
  RunClassifier classifier_;
  std::vector<Gpu> gpus_;
  std::optional<Result<RateCard>> rates_;
  Instant newest_ = Instant::FromNanos(0);
  // The second of the last view, since the epoch.
  std::int64_t built_second_ = 0;

  // Of what follows.
  mutable std::mutex mutex_;
  TopView view_;
  std::vector<std::string> notes_;
};

}  // namespace idleburn
