#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "classify/device_classifier.h"
#include "classify/period_watch.h"

namespace idleburn {

// How a device is read from one of its samples on.
struct CadencePiece {
  Instant from;   // the first sample that is read so
  Instant start;  // of the piece: the sample before it, whose reading is the first to last so long
  Cadence cadence;
  bool by_counter = true;  // the counter changed its pace, not only another signal
};

// Reads on as `piece` says, from the sample that is fed next.
void Adopt(const CadencePiece& piece, DeviceClassifier& live);

// Feeds the samples of one device to its classifier and follows the pace of its counter and of every signal that is
// held (PeriodWatch). A sample that is in step goes straight on; where one is not, samples wait until the next ones
// decide whether the pace changed, up to kMost of them (FirstSamples).
class CadenceWatch {
 public:
  // Follows nothing.
  CadenceWatch() = default;
  // `thresholds` outlive it. `most`: samples that may wait.
  CadenceWatch(const Thresholds& thresholds, const Cadence& cadence, Instant start, std::size_t most);

  void Feed(const Sample& sample, DeviceClassifier& live) {
    const std::int64_t stamp = sample.time.nanos();
    if (((sample.present | sample.unavailable) & watched_) != set_ || !InStep(stamp)) return FeedAny(sample, live);
    last_ = stamp;
    live.Feed(sample);
  }
  // The same for the `rows` of the columns that are of this device.
  void Feed(const SampleColumns& columns, std::span<const std::uint32_t> rows, RowSums& sums, DeviceClassifier& live);
  // The input ended, or makes a new start: nothing waits any longer.
  void End(DeviceClassifier& live);

  [[nodiscard]] const Cadence& cadence() const { return cadence_; }
  [[nodiscard]] std::span<const CadencePiece> pieces() const { return pieces_; }
  [[nodiscard]] std::span<const Sample> waiting() const { return rows_; }

 private:
  static constexpr std::uint32_t kNoSet = UINT32_MAX;
  struct Track {
    std::size_t signal;
    PeriodWatch watch;
  };
  struct Opened {
    std::size_t signal;
    PeriodWatch::Piece piece;
  };

  [[nodiscard]] bool InStep(std::int64_t stamp) const {
    return static_cast<std::uint64_t>(stamp - last_ - low_) < width_;
  }
  void FeedAny(const Sample& sample, DeviceClassifier& live);
  void Note(std::uint32_t signals, std::int64_t stamp);
  void LeaveSet();
  void ChooseSet(std::uint32_t signals, std::int64_t stamp);
  void Release(DeviceClassifier& live);
  void Change(std::int64_t row, DeviceClassifier& live);

  const Thresholds* thresholds_ = nullptr;
  std::size_t most_ = 0;
  Cadence cadence_;
  std::vector<CadencePiece> pieces_;
  std::vector<Track> tracks_;
  std::uint32_t watched_ = 0;
  std::vector<PeriodWatch::Piece> scratch_;
  std::vector<Opened> opened_;  // not yet reached
  std::vector<Sample> rows_;    // that wait
  std::int64_t first_row_ = 0;  // number of the first of them, or of the next
  std::int64_t newest_ = INT64_MIN;

  // The samples before this one named these signals, all at last_; one more is in step if it names them too, within
  // [low_, low_ + width_) after that. A sample in step is later than last_, by no more than readings are held, as
  // DeviceClassifier::Feed of columns asks. That holds where nothing is followed, too.
  std::uint32_t set_ = 0;
  std::int64_t last_ = 0;
  std::int64_t low_ = 0;
  std::uint64_t width_ = 0;
};

}  // namespace idleburn
