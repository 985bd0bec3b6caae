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
#include "import/importer.h"
#include "import/owner_timeline.h"
#include "telemetry/time_sorter.h"

namespace idleburn {

// True for the columns that tell devices apart.
bool IsIdentity(const BoundColumn& column);

// Where the rows of a foreign table become samples. Knows the devices of the table, counts what its cells lack, and
// passes samples on in batches. If the first rows of the table are not in order of time within each device (newest
// first, say), all of it is sorted on the way; otherwise samples keep the order of the rows. A wall clock that was set
// back is in order: its rows follow one another, and who takes them makes time of it.
class ColumnRows {
 public:
  // `source` names the kind of table in counters ("csv"). The references outlive the rows.
  ColumnRows(std::span<const BoundColumn> columns, std::string_view source, const std::string& file, ImportTarget& out);
  ~ColumnRows();
  ColumnRows(const ColumnRows&) = delete;
  ColumnRows& operator=(const ColumnRows&) = delete;

  // The columns that tell devices apart, in the order in which Device wants their cells. None: one GPU.
  [[nodiscard]] const std::vector<BoundColumn>& identity() const { return identity_; }
  // The device that those cells name; absent if they name none. A UUID, an index or a bus id is that; any other text
  // is a GPU of its own by that name. So many devices that the column cannot name GPUs are an error.
  Result<std::optional<DeviceId>> Device(std::span<const std::string_view> cells, std::int64_t line);

  // Starts the sample of a row. It is valid, to be filled by Put, until the next call of Begin or Finish.
  Sample& Begin(Instant time, DeviceId device) {
    if (used_ == limit_) Flush();
    Sample& sample = batch_[used_++];
    sample.time = time;
    sample.device = device;
    sample.present = 0;
    sample.unavailable = 0;
    return sample;
  }
  // Passes on many rows at once.
  void Add(const SampleColumns& columns);
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

  // Delivers the rest. No row at all is an error.
  Result<void> Finish();

 private:
  struct Named {
    std::vector<std::string> cells;
    DeviceId id = 0;
  };
  // The row of a device that named an owner last.
  struct Owned {
    std::optional<Instant> time;
    std::string owner;
    OwnerTimeline::Presence* presence = nullptr;
  };
  [[nodiscard]] static bool Matches(const Named& named, std::span<const std::string_view> cells);
  std::optional<DeviceId> EnterDevice(std::span<const std::string_view> cells, std::int64_t line);
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
  std::unique_ptr<TimeSorter> sorter_;
  std::map<DeviceId, Owned> owned_;
  OwnerTimeline owners_;
};

}  // namespace idleburn
