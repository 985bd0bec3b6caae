// The agent's end of the sampler: hears everything that is measured on a node and counts it, second by second. It is
// one more consumer of LiveSink, as a recording is.

#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/node_counters.h"
#include "agent/second_meter.h"
#include "os/run_clock.h"
#include "price/find_rate.h"
#include "telemetry/device.h"
#include "telemetry/link_speed.h"
#include "telemetry/live_sink.h"
#include "telemetry/run_facts.h"

namespace idleburn {

// A second is counted this long after its end: the driver's ring of utilizations is read every fifth of a second, and a
// slow driver once a second.
inline constexpr std::int64_t kSettleSeconds = 2;

// Gauges of a GPU at a moment; absent: unknown.
struct GpuGauges {
  std::size_t place = 0;                     // in NodeCounters::gpus
  std::optional<std::int64_t> utilization;   // micro-percent
  std::optional<std::int64_t> memory_used;   // bytes
  std::optional<std::int64_t> memory_total;  // bytes
  std::optional<std::int64_t> power;         // milliwatts
  std::optional<std::int64_t> temperature;   // thousandths of a degree Celsius
  std::optional<std::int64_t> sm_active;     // micro-percent; only GPUs with GPM tell it
  std::optional<std::int64_t> pcie_link;     // bytes a second that the link can move, one way
  std::optional<std::int64_t> nvlink_link;   // bytes a second, both ways together
  std::optional<Money> price;                // a GPU-hour
  std::string currency;
  std::string price_source;
};

// The InfiniBand ports that are counted apart. A host with virtual functions has hundreds; the rest share kOtherPorts.
inline constexpr std::size_t kMostPorts = 32;
inline constexpr std::string_view kOtherPorts = "other";

// What a port received and sent since the agent started. A direction that the last reading did not tell is not known:
// its bytes are kept until the port tells again.
struct PortBytes {
  std::array<std::int64_t, 2> bytes{};
  std::array<bool, 2> known{};
};

// The rise of each host counter since the agent started. Absent: not known on this host.
struct HostRises {
  std::array<std::optional<std::int64_t>, kHostSignalCount> rise{};
  std::map<std::string, PortBytes> ports;  // by "mlx5_0/1", or kOtherPorts
};

// What is known about the agent's own work.
struct NodeHealth {
  std::map<std::string, bool> up;              // by source: "nvml", "host", "slurm", ...
  std::map<std::string, std::int64_t> errors;  // by source
  std::int64_t missed_ticks = 0;
  std::int64_t late_samples = 0;
  std::int64_t resets = 0;               // counters that began anew while the agent ran
  std::int64_t clock_offset_ns = 0;      // wall clock - time line
  std::optional<Instant> newest_sample;  // UTC
};

// A device of the node and the processes on it, for those who ask who holds it.
struct NodeDevice {
  Device device;
  std::string board;  // UUID of the board of a MIG instance; empty: a whole GPU
  std::vector<GpuHolder> holders;
};

// Everything that an exposition shows, at one moment.
struct NodeView {
  NodeCounters counters;
  std::vector<GpuGauges> gauges;
  HostRises host;
  NodeHealth health;
  Instant at;       // UTC
  Instant started;  // of the process
  // By JobSignal: whether it can be told on all GPUs of this node.
  std::array<bool, kJobSignalCount> tells = {};
};

// Counts a node. Any thread may call any function.
class NodeMeter final : public LiveSink {
 public:
  // `thresholds` outlives the meter. `find_rates` is asked whenever a GPU is new. `now` is UTC.
  NodeMeter(const Thresholds& thresholds, NodeCounters counters, RateFinder find_rates, Instant now);

  void OnSamples(std::span<const Sample> samples) override;
  void OnHost(std::span<const HostSample> samples) override;
  void OnWork(const WorkMark& /*mark*/) override {}
  void OnNote(const Note& note) override;
  void OnFact(const RunFact& fact) override;
  void OnHolders(const GpuHolders& holders) override;
  void OnPorts(std::span<const PortTraffic> ports) override;
  // The lanes change the table while Advance may read it.
  void ChangeDevices(const std::function<void()>& change) override {
    const std::lock_guard lock(mutex_);
    change();
  }

  // The table that the lanes enter GPUs into.
  DeviceTable& devices() { return devices_; }
  // Who holds the GPUs from now on. Errors become counters.
  void Hold(const Holdings& holdings, Instant utc);
  // Counts all seconds that ended kSettleSeconds ago. `line` is the time of the samples' time line, `clocks` the same
  // moment on the clocks of the machine.
  //
  // A step of the wall clock forward is unobserved time (clock), and an edge in it is not published. After a step back
  // nothing is counted until the clock has passed what was counted. A step of more than an hour back, or a day
  // forward, starts all counters anew.
  //
  // While the machine slept, time did pass. So these seconds are unobserved (suspend), and their edges are published.
  // Example: it sleeps from 8:50 to 10:10. At 10:00 the counter has 70 min of suspend, and a bill reads it as usual.
  void Advance(Instant line, const ClockReading& clocks);
  // The time before the agent ran, of a resumed state: [next(), to) is unobserved (agent_down).
  void CountDowntime(Instant to);
  // A scrape of the live families.
  void OnScrape();
  // Counts an error of a source of the agent.
  void CountError(const std::string& source);
  void SetUp(const std::string& source, bool up);

  // The first second that is not counted yet.
  [[nodiscard]] std::int64_t NextSecond() const;
  [[nodiscard]] NodeView View(Instant utc) const;
  [[nodiscard]] std::string StateBytes() const;
  // All devices of the node: boards and instances.
  [[nodiscard]] std::vector<NodeDevice> Devices() const;
  [[nodiscard]] std::vector<std::pair<Owner, JobCounters>> TakeEndedJobs();
  // Notes since the last call, a line each.
  std::vector<std::string> TakeNotes();
  // How long no GPU has given a value since a driver call hung; absent: none hangs.
  [[nodiscard]] std::optional<Nanos> HangingFor(Instant utc) const;

 private:
  struct Gpu {
    std::unique_ptr<SecondMeter> meter;
    std::optional<std::size_t> place;  // in the counters; absent: a board that is counted by its instances
    GpuHolders holders;
  };
  // Seconds that a jump of the wall clock went over.
  struct Skip {
    std::int64_t from = 0;
    std::int64_t to = 0;
    std::size_t reason = 0;  // why they are unobserved
  };
  void Jump(const ClockReading& clocks, std::int64_t step);
  void SetWall(std::int64_t before_ns, std::int64_t after_ns);
  Gpu& GpuOf(DeviceId device);
  void EnterNew();
  void SetLinkSpeeds();
  [[nodiscard]] std::array<bool, kJobSignalCount> TellableSignals(Instant utc) const;
  void PutGauges(DeviceId id, std::int64_t utc_ns, GpuGauges* gauges) const;
  void Restart(std::int64_t second);
  void CountSeconds(std::int64_t until);
  [[nodiscard]] std::int64_t UtcOf(Instant line) const { return line.nanos() + offset_ns_; }

  mutable std::mutex mutex_;
  const Thresholds& thresholds_;
  RateFinder find_rates_;
  DeviceTable devices_;
  NodeCounters counters_;
  std::vector<Gpu> gpus_;    // by DeviceId
  std::size_t entered_ = 0;  // devices of the table that were looked at
  std::optional<RateCard> rates_;
  RunFacts link_facts_;                // what was told of the GPUs' links
  std::vector<LinkSpeed> links_;       // by DeviceId, as of the newest of these facts
  std::int64_t offset_ns_ = 0;         // UTC - time line
  std::optional<ClockReading> first_;  // of the first Advance; absent: offset_ns_ is not known yet
  ClockReading last_;                  // of the newest Advance
  std::int64_t wall_ns_ = 0;           // wall clock - monotonic clock, as of the last jump
  std::vector<Skip> skips_;            // in order; those that were counted are dropped
  bool lost_noted_ = false;
  std::optional<Instant> hangs_since_;  // UTC
  std::array<std::optional<std::int64_t>, kHostSignalCount> host_last_{};
  HostRises host_;
  HostPressure pressure_;
  NodeHealth health_;
  std::vector<std::string> notes_;
  Instant started_;
};

}  // namespace idleburn
