#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "import/column_map.h"
#include "import/column_values.h"
#include "import/host_watch.h"
#include "import/importer.h"
#include "import/owner_timeline.h"
#include "telemetry/time_sorter.h"

namespace idleburn {

// True for the columns that tell devices apart.
bool IsIdentity(const BoundColumn& column);

// Where the rows of a foreign table become samples. Knows the devices of the table, counts what its cells lack, and
// passes samples on in batches. If the first rows of the table are not in order of time within each device (newest
// first, or a row for each signal), all of it is sorted on the way; otherwise samples keep the order of the rows, and
// where a later one is out of it by more than readings are held, the table is refused. Times without a zone that go
// back may show a wall clock that was set back: that is in order, and who takes the rows makes time of it.
class ColumnRows {
 public:
  // `source` names the kind of table in counters ("csv"). The references outlive the rows.
  ColumnRows(std::span<const BoundColumn> columns, std::string_view source, const std::string& file,
             const ImportOptions& options, ImportTarget& out);
  ~ColumnRows();
  ColumnRows(const ColumnRows&) = delete;
  ColumnRows& operator=(const ColumnRows&) = delete;

  // The columns that tell devices apart, in the order in which Device wants their cells. None: one GPU.
  [[nodiscard]] const std::vector<BoundColumn>& identity() const { return identity_; }
  // The device that those cells name; absent if they name none. A UUID, an index or a bus id is that; any other text
  // is a GPU of its own by that name. So many devices that the column cannot name GPUs are an error.
  Result<std::optional<DeviceId>> Device(std::span<const std::string_view> cells, std::int64_t line);

  // Whether there are times without a zone.
  void set_local(bool local) { local_ = local; }
  // Starts the sample of a row. It is valid, to be filled by Put, until the next call of Begin or Finish.
  Sample& Begin(Instant time, DeviceId device, std::int64_t line) {
    if (used_ == limit_) Flush();
    if (rows_ > 0) Follow(time, device, line);
    Sample& sample = batch_[used_++];
    sample.time = time;
    sample.device = device;
    sample.present = 0;
    sample.unavailable = 0;
    return sample;
  }
  // Passes on many rows at once, the first of which is that of `line`.
  void Add(const SampleColumns& columns, std::int64_t line);
  void Put(Sample& sample, Signal signal, const CellReading& reading, std::int64_t line) {
    if (reading.fault == CellFault::kNone) {
      sample.Set(signal, reading.value);
    } else {
      PutFault(sample, signal, reading, line);
    }
  }
  // Names the owner of the row last begun. A further row of the same device and time is a copy for another owner and
  // is taken back.
  void Own(std::string_view owner, std::int64_t line);
  void CountBadRow(std::int64_t line) { out_.quality.Count(QualityId::kBadRow, {&file_, line}); }

  // Delivers the rest. No row at all is an error, and so are rows out of order.
  Result<void> Finish();

 private:
  struct Named {
    std::vector<std::string> cells;
    DeviceId id = 0;
  };
  // The row of a device that named an owner last.
  struct Owned {
    std::optional<Instant> time;
    std::string first;  // owner of the first row of that time
    std::string owner;
    OwnerTimeline::Presence* presence = nullptr;
  };
  // How far the rows of a device have come.
  struct Track {
    Instant latest = Instant::FromNanos(INT64_MIN);
    std::int64_t hold = kNanosPerSecond;  // ns
  };
  // Once the first rows were in order: whether the others follow.
  [[nodiscard]] bool follows() const { return !sorter_ && !local_; }
  void Follow(Instant time, DeviceId device, std::int64_t line) {
    if (!follows()) return;
    if (device >= tracks_.size()) tracks_.resize(device + 1);
    Track& track = tracks_[device];
    if (time >= track.latest) {
      track.latest = time;
    } else if (line_back_ == 0 && IsBack(track, time)) {
      line_back_ = line;
    }
  }
  void SeeOnHost(DeviceId device, Instant time) {
    if (device < stays_.size() && stays_[device] != nullptr) stays_[device]->See(time);
  }
  [[nodiscard]] static bool IsBack(const Track& track, Instant time);
  [[nodiscard]] bool IsInOrder(std::span<const Sample> rows);
  [[nodiscard]] static bool Matches(const Named& named, std::span<const std::string_view> cells);
  // Whether a column tells the GPUs of one host apart.
  [[nodiscard]] bool SaysWhich() const;
  [[nodiscard]] std::string WhyNotOneGpu(std::span<const Sample> rows, bool in_order) const;
  [[nodiscard]] std::string SeveralModels() const;
  Result<std::optional<DeviceId>> EnterDevice(std::span<const std::string_view> cells, std::int64_t line);
  void PutFault(Sample& sample, Signal signal, const CellReading& reading, std::int64_t line);
  void Flush();

  std::vector<BoundColumn> columns_;
  std::vector<BoundColumn> identity_;
  std::string source_;
  const std::string& file_;
  ImportTarget& out_;
  std::size_t known_before_;  // devices of earlier inputs of the run

  // Devices in order of appearance; rows mostly repeat that order or the last device, so these are looked at first.
  std::vector<Named> named_;
  std::size_t last_ = 0;
  std::map<std::string, std::size_t, std::less<>> by_cells_;  // cells joined by a byte that no text holds
  std::string joined_;

  std::vector<Sample> batch_;
  std::size_t used_ = 0;
  std::size_t limit_;
  std::int64_t rows_ = 0;
  std::optional<int> said_gpus_;  // --gpus
  std::string gpu_model_;         // --gpu-model
  std::string several_;           // why its rows are not of one GPU; empty: nothing says so
  std::unique_ptr<TimeSorter> sorter_;
  bool local_ = false;
  std::vector<Track> tracks_;            // by device
  std::vector<HostWatch::Stay*> stays_;  // by device: on the machine that its rows name; null: not watched
  std::int64_t line_back_ = 0;           // of the first row out of order; 0: there is none
  std::map<DeviceId, Owned> owned_;
  OwnerTimeline owners_;
};

}  // namespace idleburn
