#pragma once

#include <array>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "classify/run_classifier.h"
#include "price/cost_report.h"
#include "price/find_rate.h"
#include "telemetry/live_sink.h"
#include "top/top_processes.h"

namespace idleburn {

// One GPU, or MIG instance, at a moment and since the start. What was not read is absent.
struct TopGpu {
  std::string name;
  std::string model;
  std::optional<Phase> phase;                                  // of the last whole second
  std::string_view unobserved;                                 // without a phase: why
  bool split = false;                                          // a board with instances: the phases are theirs
  std::array<std::optional<std::int64_t>, kSignalCount> last;  // newest readings
  std::optional<Money> per_hour;
  std::optional<std::size_t> holders;  // how many processes; absent where the driver does not list them
  UsageCost since_start;
};

struct TopView {
  Instant time;
  std::vector<TopGpu> gpus;
  TopProcesses processes;  // who they are is not filled in
  UsageCost whole;
  Rate rate;          // of all of them, see OneRate
  std::string fault;  // why there is no money, where that is no matter of prices
};

// What `idleburn top` shows: keeps the newest readings, and classifies and prices all of them as an audit does.
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

  // Of about a second ago, from any thread.
  [[nodiscard]] TopView Latest() const;
  // Of now, when nothing is pushed any more.
  [[nodiscard]] TopView Final();
  // What happened since the last call, a line each. From any thread.
  std::vector<std::string> TakeNotes();

  [[nodiscard]] DeviceTable& devices() { return devices_; }

 private:
  struct Second {
    std::int64_t number = INT64_MIN;  // since the epoch
    std::int64_t sum = 0;
    std::int64_t count = 0;
  };
  struct Gpu {
    std::array<std::optional<std::int64_t>, kSignalCount> last;
    std::array<Second, 4> seconds;  // by number % 4
    bool by_engine = true;          // until utilization was read
    Unobserved why = Unobserved::kGap;
    GpuHolders holders;
  };
  void Keep(const Sample& sample);
  [[nodiscard]] std::optional<Phase> PhaseOfLastSecond(const Gpu& gpu) const;
  [[nodiscard]] std::vector<HeldGpu> Held(const std::vector<DeviceId>& ids, TopView& view) const;
  TopView Build();

  const Thresholds& thresholds_;
  RateFinder find_rates_;
  DeviceTable devices_;  // the lanes' thread writes to it: read there, or after the end
  DataQuality quality_;
  RunClassifier classifier_;
  std::vector<Gpu> gpus_;
  std::optional<Result<RateCard>> rates_;
  Instant newest_ = Instant::FromNanos(0);
  std::int64_t built_second_ = 0;

  mutable std::mutex mutex_;  // of what follows
  TopView view_;
  std::vector<std::string> notes_;
};

}  // namespace idleburn
