#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "classify/board_watch.h"
#include "classify/cadence_watch.h"
#include "classify/stretch.h"
#include "telemetry/data_quality.h"
#include "telemetry/device.h"
#include "telemetry/sample.h"

namespace idleburn {

// Classifies all devices of a run from one stream of samples. Each device is independent of the others but for three
// things: MIG instances share a board, runs end where all devices are silent, and a window ends for all of them.

// Rows of columns, device by device: those of each device in their order, devices in the order of their first rows.
class DeviceRows {
 public:
  // Takes the device of every row. Most logs repeat one round of devices, so the devices are often those of the call
  // before. Then the lists of rows are kept.
  void Set(std::span<const DeviceId> devices) {
    if (std::equal(devices.begin(), devices.end(), devices_.begin(), devices_.end())) return;
    devices_.assign(devices.begin(), devices.end());
    List();
  }

  // Calls use(device, its rows) for each device.
  template <typename Use>
  void ForEach(Use use) const {
    std::size_t at = 0;
    for (const Present& p : present_) {
      use(p.device, std::span(rows_).subspan(at, p.rows));
      at += p.rows;
    }
  }

 private:
  // A device that is there, and how many rows it has.
  struct Present {
    DeviceId device;
    std::uint32_t rows;
  };

  void List();
  // False where the rows are no rounds of one order; List then sorts them.
  bool ListRounds();

  std::vector<DeviceId> devices_;  // of every row
  std::vector<Present> present_;
  // By device: how many rows it has, then where the next one goes; 0 between uses.
  std::vector<std::uint32_t> place_;
  std::vector<std::uint32_t> rows_;
  std::vector<DeviceId> seen_;  // in a round
};

// What is known of a board by its name, where its own readings do not say. Absent: not known.
struct BoardFacts {
  std::optional<std::int64_t> power_limit_mw;
  std::optional<std::int64_t> max_sm_khz;
};

// Classifies every device of a run. Memory: a classifier for each device and its FirstSamples, until its cadence is
// known. The same is held again where its counter begins only later, or where its pace changes.
class RunClassifier final : public SampleSink {
 public:
  using FactsByName = BoardFacts (*)(std::string_view gpu_name);

  // All references, and `window` if given, outlive the classifier.
  //
  // With a window whose start is known all is one run, and every device is carried to its ends (CarryToEnds). Where
  // both ends are known, they are the ends of every device, and one that was never read is unobserved from end to end,
  // unless the user named the window.
  //
  // Without a window runs are told apart (classify/stretch.h), and a device lasts from its first row of a run to its
  // last.
  RunClassifier(const Thresholds& thresholds, const DeviceTable& devices, DataQuality& quality, FactsByName facts,
                const RunWindow* window = nullptr);

  // The limit of boards whose readings have none, in place of the one published for their model.
  void AssumePowerLimit(std::optional<std::int64_t> milliwatts) { power_limit_mw_ = milliwatts; }

  void OnSamples(std::span<const Sample> samples) override;
  void OnColumns(const SampleColumns& columns) override;
  // The input has ended. Counts what is wrong with it as DataQuality, too.
  RunResult Finish();
  // The stamp of a row that lies in a gap between earlier rows of its device (DeviceClassifier::misplaced); absent:
  // none.
  [[nodiscard]] std::optional<Instant> Misplaced() const;
  // What Finish would say had the input ended now, and with it the window if one is given that is still open. More may
  // be pushed afterwards.
  [[nodiscard]] RunResult SoFar() const;

 private:
  // One device while its samples come.
  struct Stream {
    // Samples before the cadence is measured.
    FirstSamples first;
    // At first. The watch knows how it goes on.
    Cadence cadence;
    CadenceWatch watch;
    std::unique_ptr<DeviceClassifier> live;
  };
  void WatchBoard(const Sample& sample);
  void AddByDevice(const SampleColumns& columns);
  void Add(const Sample& sample, Stream& stream) const;
  void Begin(DeviceId device, Stream& stream, const RunWindow* window) const;
  [[nodiscard]] DeviceResult Settle(DeviceId device, Stream& stream, const std::vector<Stretch>& stretches,
                                    const std::vector<RunSpan>& runs) const;
  // The result of these streams, which end by that.
  [[nodiscard]] RunResult Conclude(std::vector<Stream>& streams, const RunWindow* window) const;
  [[nodiscard]] std::optional<Instant> Newest() const;
  // What is known of a board, with what the user said of it.
  [[nodiscard]] BoardFacts FactsOf(DeviceId device) const;
  void CountQuality(const DeviceResult& result, const Stream& stream);

  const Thresholds& thresholds_;
  const DeviceTable& devices_;
  DataQuality& quality_;
  FactsByName facts_;
  std::optional<std::int64_t> power_limit_mw_;  // AssumePowerLimit
  const RunWindow* window_;
  std::vector<Stream> streams_;
  // Boards of MIG instances.
  std::map<DeviceId, BoardWatch> boards_;
  DeviceRows rows_;  // of the columns at hand
  RowSums sums_;
};

}  // namespace idleburn
