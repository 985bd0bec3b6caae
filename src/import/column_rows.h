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

// From the cells of bound columns to samples: ColumnScale reads values, ColumnClock reads times, and ColumnRows knows
// the devices and delivers the rows. CSV and Parquet tables share them, so the same table in either format gives the
// same audit. CSV has only texts; Parquet also has integers, reals and timestamps, which is why each reader takes
// several types.

// Why a cell has no value. kUnavailable is a word such as "N/A" or an empty cell, kSentinel a number that a tool uses
// for "no value".
enum class CellFault : std::uint8_t { kNone, kUnavailable, kNotFinite, kOutOfRange, kSentinel, kUnreadable };

// The value of a cell, or why it has none.
struct CellReading {
  std::int64_t value = 0;  // in the signal's unit
  CellFault fault = CellFault::kNone;
  Unobserved why = Unobserved::kSentinel;  // if there is a fault
};

// Converts the cells of one signal's column into the signal's integer unit.
class ColumnScale {
 public:
  explicit ColumnScale(const BoundColumn& column);

  // Reads a number. A unit in the cell ("78.28 W") overrides the column's unit. A decimal comma ("312,5") is
  // understood where it cannot separate thousands.
  CellReading FromText(std::string_view cell);
  // Reads a number in the column's unit.
  CellReading FromInteger(std::int64_t v);
  CellReading FromReal(double v);

  // Converts a run of numbers at once. False if a number needs more than a multiplication: it is out of range, NaN, or
  // a code for "no value". `out` is then undefined, and each cell must go through the functions above.
  bool FromPlain(std::span<const std::int64_t> cells, std::int64_t* out);
  bool FromPlain(std::span<const double> cells, std::int64_t* out);

  // True if further numbers cannot change the result of CheckUnit.
  [[nodiscard]] bool unit_settled() const { return !percent_assumed_ || saw_above_one_; }
  // Call after the last cell. Fails if percent was only assumed and all values were fractions of at most 1, which may
  // be a ratio. `column` is the column scaled here.
  [[nodiscard]] Result<void> CheckUnit(const BoundColumn& column, const std::string& file) const;

 private:
  // The value if the signal's unit can have it, else kOutOfRange.
  [[nodiscard]] CellReading Checked(Int128 value) const;
  // Remembers what CheckUnit needs to know of a value, in the column's unit.
  void Saw(bool fraction, bool above_one) {
    saw_fraction_ = saw_fraction_ || fraction;
    saw_above_one_ = saw_above_one_ || above_one;
  }

  Unit kind_;
  const ColumnUnit* unit_;
  Int128 integer_factor_;   // an integer of the column times this, divided by
  Int128 integer_divisor_;  // this, is the value
  double real_factor_;
  bool percent_assumed_;
  // FromPlain takes numbers from 0 to plain_high_ and multiplies integers by plain_factor_.
  std::int64_t plain_high_ = -1;
  std::int64_t plain_factor_ = 0;
  double real_high_ = 0;  // after scaling
  bool saw_fraction_ = false;
  bool saw_above_one_ = false;
};

// Converts the cells of the time column into instants. One clock reads one column in row order, because the meaning
// of a local time depends on the one before it.
class ColumnClock {
 public:
  // All references outlive the clock.
  ColumnClock(const BoundColumn& column, const ImportOptions& options, DataQuality& quality, const std::string& file);

  // Absent if the cell is not a time. If the user gave no unit, the first epoch decides it; a later epoch of another
  // magnitude is an error, and so is one that fits no unit. `line` is the place.
  Result<std::optional<Instant>> FromText(std::string_view cell, std::int64_t line);
  Result<std::optional<Instant>> FromInteger(std::int64_t v, std::int64_t line);
  Result<std::optional<Instant>> FromReal(double v, std::int64_t line);
  // True if no zone was given. Stamps without a zone are then read as UTC, which is counted once.
  bool LocalIsUtc(std::int64_t line);
  // Whether a time without a zone was read. A clock set back may show such a time twice.
  [[nodiscard]] bool local() const { return local_; }
  // `nanos`: a wall-clock time without a zone, as nanoseconds since 1970 on that clock.
  Instant FromLocal(std::int64_t nanos, std::int64_t line);

 private:
  // The epoch unit as decimals of a second: 9 for seconds, 0 for nanoseconds.
  [[nodiscard]] int Decimals() const;
  Result<void> Decide(std::int64_t whole, std::string_view cell, std::int64_t line);
  // `fits`: the epoch is within the range of an Instant.
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

  // The meaning of the start of the last used quarter hour in the zone. UTC offsets change only between quarter hours.
  std::int64_t slot_ = INT64_MIN;
  LocalMeaning slot_meaning_;
  Instant last_local_;
};

// True for columns that tell devices apart: everything but times, owners and signals.
bool IsIdentity(const BoundColumn& column);

// Turns the rows of a table into samples. It knows the devices of the table, counts what cells lack, and delivers
// samples in batches.
// The first rows decide about order. If they are not in time order within each device (newest first, or a row per
// signal), the whole table is sorted. Otherwise rows keep their order, and a later row out of order by more than the
// hold time is an error. Times without a zone may go back where a wall clock was set back, which counts as in order;
// the consumer resolves that.
class ColumnRows {
 public:
  // `source` names the kind of table in counters ("csv"). All references outlive the rows.
  ColumnRows(std::span<const BoundColumn> columns, std::string_view source, const std::string& file,
             const ImportOptions& options, ImportTarget& out);
  ~ColumnRows();
  ColumnRows(const ColumnRows&) = delete;
  ColumnRows& operator=(const ColumnRows&) = delete;

  // The columns that tell devices apart, in the order in which Device expects their cells. Empty: one GPU.
  [[nodiscard]] const std::vector<BoundColumn>& identity() const { return identity_; }
  // The device that the cells name. Absent if they name none. A UUID, an index or a bus id is taken as that; any other
  // text is the name of a GPU of its own. Too many devices are an error.
  Result<std::optional<DeviceId>> Device(std::span<const std::string_view> cells, std::int64_t line);

  // Says whether there are times without a zone.
  void set_local(bool local) { local_ = local; }
  // Starts the sample of a row, to be filled by Put. Valid until the next call of Begin or Finish.
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
  // Delivers many rows at once. `line` is the place of the first. Rows that name an owner must go through Begin and
  // Own instead.
  void Add(const SampleColumns& columns, std::int64_t line);
  // Sets a signal of the sample, or counts why it has no value.
  void Put(Sample& sample, Signal signal, const CellReading& reading, std::int64_t line) {
    if (reading.fault == CellFault::kNone) {
      sample.Set(signal, reading.value);
    } else {
      PutFault(sample, signal, reading, line);
    }
  }
  // Names the owner of the last row. A further row of the same device and time is a copy for another owner, and is
  // taken back.
  void Own(std::string_view owner, std::int64_t line);
  void CountBadRow(std::int64_t line) { out_.quality.Count(QualityId::kBadRow, {&file_, line}); }

  // Delivers the rest. Fails if there is no row at all, if rows are out of order, or if rows without a GPU column
  // seem to be of several GPUs.
  Result<void> Finish();

 private:
  // The identity cells of a device and the id that they stand for.
  struct Named {
    std::vector<std::string> cells;
    DeviceId id = 0;
  };
  // The last row of a device that named an owner.
  struct Owned {
    std::optional<Instant> time;
    std::string first;  // owner in the first row of that time
    std::string owner;
    OwnerTimeline::Presence* presence = nullptr;
  };
  // How far the rows of a device have come.
  struct Track {
    Instant latest = Instant::FromNanos(INT64_MIN);
    std::int64_t hold = kNanosPerSecond;  // ns
  };
  // Whether later rows are checked for order: the first rows were in order.
  [[nodiscard]] bool follows() const { return !sorter_ && !local_; }
  // Checks the order of a row. Only the first row that goes back is remembered, for the error of Finish.
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
  // Notes when a device was on the host that its rows name.
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
  std::size_t known_before_;  // devices of earlier inputs

  // In order of appearance. Rows mostly repeat that order or the last device, so those are tried first.
  std::vector<Named> named_;
  std::size_t last_ = 0;
  std::map<std::string, std::size_t, std::less<>> by_cells_;  // cells joined by a byte that is in no text
  std::string joined_;

  // Rows not delivered yet: the first `used_` elements. `limit_` is where they are delivered.
  std::vector<Sample> batch_;
  std::size_t used_ = 0;
  std::size_t limit_;
  std::int64_t rows_ = 0;
  std::optional<int> said_gpus_;  // --gpus
  std::string gpu_model_;         // --gpu-model
  std::string several_;           // why the rows are of several GPUs; empty: nothing shows it
  std::unique_ptr<TimeSorter> sorter_;
  bool local_ = false;
  std::vector<Track> tracks_;            // by device
  std::vector<HostWatch::Stay*> stays_;  // by device: its stay on the host that rows name; null: not watched
  std::int64_t line_back_ = 0;           // the first row out of order; 0: none
  std::map<DeviceId, Owned> owned_;
  OwnerTimeline owners_;
};

}  // namespace idleburn
