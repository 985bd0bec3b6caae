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

#include "base/int128.h"
#include "import/column_map.h"
#include "import/host_watch.h"
#include "import/importer.h"
#include "import/owner_timeline.h"
#include "telemetry/sample.h"
#include "telemetry/time_sorter.h"

namespace idleburn {

// Why a cell of a table has no value.
enum class CellFault : std::uint8_t { kNone, kUnavailable, kNotFinite, kOutOfRange, kSentinel, kUnreadable };

struct CellReading {
  std::int64_t value = 0;  // in the unit of the signal
  CellFault fault = CellFault::kNone;
  Unobserved why = Unobserved::kSentinel;  // of a fault
};

// Turns the cells of one signal's column into the signal's integer unit.
class ColumnScale {
 public:
  explicit ColumnScale(const BoundColumn& column);

  // A number with or without its own unit ("78.28 W"), which goes before the column's.
  CellReading FromText(std::string_view cell);
  CellReading FromInteger(std::int64_t v);
  CellReading FromReal(double v);

  // The quick way for a run of numbers. False, with nothing of use in `out`, if one needs more than a multiplication
  // (it is out of range, a code for "no value", NaN); then each goes through the functions above.
  bool FromPlain(std::span<const std::int64_t> cells, std::int64_t* out);
  bool FromPlain(std::span<const double> cells, std::int64_t* out);

  // True if further numbers cannot change what CheckUnit says.
  [[nodiscard]] bool unit_settled() const { return !percent_assumed_ || saw_above_one_; }
  // After the last cell: an error if per cent was only assumed and all values were fractions of at most 1, which are
  // as likely a ratio. `column` is the one scaled.
  [[nodiscard]] Result<void> CheckUnit(const BoundColumn& column, const std::string& file) const;

 private:
  [[nodiscard]] CellReading Checked(Int128 value) const;
  void Saw(bool fraction, bool above_one) {
    saw_fraction_ = saw_fraction_ || fraction;
    saw_above_one_ = saw_above_one_ || above_one;
  }

  Unit kind_;
  const ColumnUnit* unit_;
  Int128 integer_factor_;   // of an integer of the column, over
  Int128 integer_divisor_;  // this
  double real_factor_;
  bool percent_assumed_;
  // The numbers of FromPlain: from 0 to here, one of an integer column being plain_factor_.
  std::int64_t plain_high_ = -1;
  std::int64_t plain_factor_ = 0;
  double real_high_ = 0;  // after scaling
  bool saw_fraction_ = false;
  bool saw_above_one_ = false;
};

// Turns the cells of the time column into instants.
class ColumnClock {
 public:
  // The references outlive the clock.
  ColumnClock(const BoundColumn& column, const ImportOptions& options, DataQuality& quality, const std::string& file);

  // Absent if the cell is no time. The unit of an epoch that the user did not give is fixed by the first one; an epoch
  // of another magnitude afterwards, or one that fits no unit, is an error. `line` is the place.
  Result<std::optional<Instant>> FromText(std::string_view cell, std::int64_t line);
  Result<std::optional<Instant>> FromInteger(std::int64_t v, std::int64_t line);
  Result<std::optional<Instant>> FromReal(double v, std::int64_t line);
  // True if no zone was given, so that stamps without one are read as UTC, which is counted once.
  bool LocalIsUtc(std::int64_t line);
  // Whether a time without a zone was read, which a wall clock that is set back may show twice.
  [[nodiscard]] bool local() const { return local_; }
  // A wall-clock time without a zone, as nanoseconds since 1970 on that clock.
  Instant FromLocal(std::int64_t nanos, std::int64_t line);

 private:
  // Epoch units as decimals of a second: 9 for seconds down to 0 for nanoseconds.
  [[nodiscard]] int Decimals() const;
  Result<void> Decide(std::int64_t whole, std::string_view cell, std::int64_t line);
  // `fits`: the epoch lies in the range of an Instant.
  [[nodiscard]] Result<std::optional<Instant>> Checked(std::int64_t nanos, bool fits, std::string_view cell,
                                                       std::int64_t line) const;
  [[nodiscard]] tl::unexpected<Error> Refuse(std::string_view cell, std::int64_t line, std::string_view why) const;
  [[nodiscard]] std::optional<Instant> Civil(std::string_view cell, std::int64_t line);

  const ImportOptions& options_;
  DataQuality& quality_;
  const std::string& file_;
  std::string column_;
  TimeForm form_;
  bool assumed_ = false;  // the form came from the first row
  bool said_utc_ = false;
  bool local_ = false;

  // What the start of the quarter of an hour last used means in the zone: offsets change only between those.
  std::int64_t slot_ = INT64_MIN;
  LocalMeaning slot_meaning_;
  Instant last_local_;
};

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
