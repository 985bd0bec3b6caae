#pragma once

#include <map>
#include <memory>
#include <vector>

#include "classify/board_watch.h"
#include "classify/cadence_watch.h"
#include "classify/device_rows.h"
#include "classify/stretch.h"
#include "telemetry/data_quality.h"
#include "telemetry/device.h"

namespace idleburn {

// What is known of a board by its name, where its own readings do not say.
struct BoardFacts {
  std::optional<std::int64_t> power_limit_mw;
  std::optional<std::int64_t> max_sm_khz;
};

// Classifies every device of a run from one stream of samples. Memory: a classifier per device and its FirstSamples,
// until its cadence is known; as many again where its counter begins only later, or where its pace changes.
class RunClassifier final : public SampleSink {
 public:
  using FactsByName = BoardFacts (*)(std::string_view gpu_name);

  // All references, and `window` if given, outlive the classifier. With a window whose start is known all is one run,
  // and every device is carried to its ends (classify/carry.h); where both are known they are the ends of every device,
  // and one that was never read is unobserved from end to end, unless the user named the window. Without one, runs are
  // told apart (classify/stretch.h), and a device lasts from its first row of a run to its last.
  RunClassifier(const Thresholds& thresholds, const DeviceTable& devices, DataQuality& quality, FactsByName facts,
                const RunWindow* window = nullptr);

  // The limit of boards whose readings have none, instead of the one published for their model.
  void AssumePowerLimit(std::optional<std::int64_t> milliwatts) { power_limit_mw_ = milliwatts; }

  void OnSamples(std::span<const Sample> samples) override;
  void OnColumns(const SampleColumns& columns) override;
  // End of input.
  RunResult Finish();
  // The stamp of a row that lies in a gap between rows of its device before it (DeviceClassifier::misplaced), if any.
  [[nodiscard]] std::optional<Instant> Misplaced() const;
  // As Finish would say now, had the input ended, and with it the window, if given one that is still open; more may be
  // pushed afterwards.
  [[nodiscard]] RunResult SoFar() const;

 private:
  struct Stream {
    FirstSamples first;  // of which the cadence is still to be measured
    Cadence cadence;     // at first
    CadenceWatch watch;  // how it goes on
    std::unique_ptr<DeviceClassifier> live;
  };
  void WatchBoard(const Sample& sample);
  void AddByDevice(const SampleColumns& columns);
  void Add(const Sample& sample, Stream& stream) const;
  void Begin(DeviceId device, Stream& stream, const RunWindow* window) const;
  [[nodiscard]] DeviceResult Settle(DeviceId device, Stream& stream, const std::vector<Stretch>& stretches,
                                    const std::vector<RunSpan>& runs) const;
  [[nodiscard]] RunResult Conclude(std::vector<Stream>& streams, const RunWindow* window) const;
  [[nodiscard]] std::optional<Instant> Newest() const;
  [[nodiscard]] BoardFacts FactsOf(DeviceId device) const;
  void CountQuality(const DeviceResult& result, const Stream& stream);

  const Thresholds& thresholds_;
  const DeviceTable& devices_;
  DataQuality& quality_;
  FactsByName facts_;
  std::optional<std::int64_t> power_limit_mw_;  // AssumePowerLimit
  const RunWindow* window_;
  std::vector<Stream> streams_;
  std::map<DeviceId, BoardWatch> boards_;  // of MIG instances
  DeviceRows rows_;                        // of the columns at hand
  RowSums sums_;
};

// Spin-wait of a device once its idle power is known: a kernel that polls and draws little. `limit_mw` absent: power
// decides nothing.
SpinVerdict SettleSpin(const DeviceTotals& totals, const Thresholds& thresholds, std::optional<std::int64_t> limit_mw);

}  // namespace idleburn
