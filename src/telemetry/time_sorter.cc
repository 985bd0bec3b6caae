#include "telemetry/time_sorter.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <queue>
#include <tuple>

#include "os/output_file.h"

namespace idleburn {

// Reads one sorted run back, from the file or from the buffer.
class TimeSorter::Cursor {
 public:
  Cursor(std::FILE* file, Run run) : file_(file), run_(run) {}
  explicit Cursor(std::span<const Reading> tail) : view_(tail) {}

  // The next reading, or nullptr at the end.
  Result<const Reading*> Next() {
    if (view_.empty() && run_.count > 0) {
      block_.resize(std::min<std::size_t>(run_.count, 4096));
      if (fseeko(file_, run_.offset, SEEK_SET) != 0 ||
          std::fread(block_.data(), sizeof(Reading), block_.size(), file_) != block_.size()) {
        return Fail(std::string("the temporary file for sorting cannot be read back: ") + std::strerror(errno));
      }
      run_.offset += static_cast<off_t>(block_.size() * sizeof(Reading));
      run_.count -= block_.size();
      view_ = block_;
    }
    if (view_.empty()) return nullptr;
    const Reading* reading = &view_.front();
    view_ = view_.subspan(1);
    return reading;
  }

 private:
  std::FILE* file_ = nullptr;
  Run run_{0, 0};
  std::vector<Reading> block_;
  std::span<const Reading> view_;
};

namespace {

// Joins the readings of one device and time into a sample, and samples into batches.
class Joiner {
 public:
  Joiner(SampleSink& out, DataQuality& quality) : out_(out), quality_(quality) { batch_.reserve(kBatch); }

  // The sample of this time and device. Also records that the device was present.
  Sample& At(std::int64_t time, DeviceId device) {
    if (batch_.empty() || batch_.back().time.nanos() != time || batch_.back().device != device) {
      if (batch_.size() >= kBatch) Flush();
      differs_ = false;
      stamp_ = batch_.size();
      again_ = 0;
      Append(time, device);
    }
    return batch_[stamp_];
  }
  // Adds a reading. `log`: every reading of the stamp is separate, so the second value of a signal starts another
  // sample. Otherwise it is a copy or a part, and the larger one counts.
  void Add(std::int64_t time, DeviceId device, Signal signal, std::uint8_t unavailable, std::int64_t value, bool log) {
    Sample& s = At(time, device);
    if (unavailable != 0) {  // sorted after the valid copies; one of them is enough, unless all are stale
      const auto why = static_cast<Unobserved>(unavailable - 1);
      for (std::size_t i = stamp_; i < batch_.size() && why == Unobserved::kStale; ++i) {
        batch_[i].present &= ~Bit(signal);
      }
      if (!s.Has(signal)) s.SetUnavailable(signal, why);
    } else if (s.Has(signal) && log) {
      again_ = again_signal_ == signal ? again_ + 1 : 1;
      again_signal_ = signal;
      if (stamp_ + again_ == batch_.size()) Append(time, device);
      batch_[stamp_ + again_].Set(signal, value);
    } else if (s.Has(signal)) {
      quality_.Count(QualityId::kSharedCopies);
      if (s.Get(signal) != value && !differs_) quality_.Count(QualityId::kDifferingReadings);
      differs_ = differs_ || s.Get(signal) != value;
      s.Set(signal, std::max(s.Get(signal), value));
    } else {
      s.Set(signal, value);
    }
  }
  void Flush() {
    if (!batch_.empty()) out_.OnSamples(batch_);
    batch_.clear();
  }

 private:
  static constexpr std::size_t kBatch = 256;
  void Append(std::int64_t time, DeviceId device) {
    Sample& s = batch_.emplace_back();
    s.time = Instant::FromNanos(time);
    s.device = device;
  }

  SampleSink& out_;
  DataQuality& quality_;
  std::vector<Sample> batch_;
  std::size_t stamp_ = 0;  // first sample in the batch with the present time and device
  std::size_t again_ = 0;  // samples after it that repeat `again_signal_`, as readings arrive sorted by signal
  Signal again_signal_ = Signal::kUtilization;
  bool differs_ = false;  // already counted for the present stamp
};

}  // namespace

TimeSorter::TimeSorter(DeviceTable& devices, DataQuality& quality, std::size_t memory_bytes)
    : devices_(devices), quality_(quality), capacity_(std::max<std::size_t>(memory_bytes / sizeof(Reading), 2)) {}

TimeSorter::~TimeSorter() {
  if (file_ != nullptr) std::fclose(file_);
}

// Orders readings by time, device and signal. Valid readings precede unavailable ones.
bool TimeSorter::Before(const Reading& a, const Reading& b) {
  return std::tie(a.time, a.device, a.signal, a.unavailable, a.value) <
         std::tie(b.time, b.device, b.signal, b.unavailable, b.value);
}

// Takes samples apart into readings and notes the counter of each.
void TimeSorter::OnSamples(std::span<const Sample> samples) {
  for (const Sample& s : samples) {
    for (std::size_t i = 0; i < kSignalCount; ++i) {
      const auto signal = static_cast<Signal>(i);
      if (!s.Has(signal) && !s.Lacks(signal)) continue;
      const bool has = s.Has(signal);
      const auto why = has ? std::uint8_t{0} : static_cast<std::uint8_t>(static_cast<int>(s.reason) + 1);
      const DeviceId home = devices_.Home(s.device, signal);
      // An instance may name a counter of its own; otherwise the board's name applies.
      const std::string& own = devices_[s.device].counter[i];
      const std::string& name = own.empty() ? devices_[home].counter[i] : own;
      const CounterChoice::Ordinal counter = counters_.Note(home, signal, name, s.time.nanos(), has);
      buffer_.push_back({s.time.nanos(), home, static_cast<std::uint8_t>(i), why, counter, has ? s.Get(signal) : 0});
      if (buffer_.size() >= capacity_) Spill();
    }
  }
}

// Inputs are often in order already, which is quick to find out.
void TimeSorter::SortBuffer() {
  if (!std::is_sorted(buffer_.begin(), buffer_.end(), Before)) std::sort(buffer_.begin(), buffer_.end(), Before);
}

// Appends the sorted buffer to the temporary file. A failure is reported by Deliver.
void TimeSorter::Spill() {
  SortBuffer();
  if (file_ == nullptr) file_ = OpenTemporaryFile();
  if (file_ == nullptr || fseeko(file_, 0, SEEK_END) != 0) {
    failed_ = true;
  } else {
    runs_.push_back({ftello(file_), buffer_.size()});
    if (std::fwrite(buffer_.data(), sizeof(Reading), buffer_.size(), file_) != buffer_.size()) failed_ = true;
  }
  buffer_.clear();
}

// Merges the sorted runs with a heap of their next readings.
Result<void> TimeSorter::Deliver(SampleSink& out) {
  if (file_ != nullptr && std::fflush(file_) != 0) failed_ = true;
  if (failed_) return Fail("the temporary folder is full or not writable; set TMPDIR to one with more space");
  SortBuffer();
  counters_.Settle(devices_, quality_);
  std::vector<Cursor> cursors;
  for (const Run& run : runs_) cursors.emplace_back(file_, run);
  cursors.emplace_back(std::span<const Reading>(buffer_));
  struct Head {
    Reading reading;
    std::size_t cursor;
  };
  const auto later = [](const Head& a, const Head& b) { return Before(b.reading, a.reading); };
  std::priority_queue<Head, std::vector<Head>, decltype(later)> heads(later);
  // Replaces the head of a run by its next reading.
  const auto advance = [&](std::size_t cursor) -> Result<void> {
    const Reading* next = TRY(cursors[cursor].Next());
    if (next != nullptr) heads.push({*next, cursor});
    return {};
  };
  for (std::size_t i = 0; i < cursors.size(); ++i) TRY(advance(i));
  Joiner joiner(out, quality_);
  while (!heads.empty()) {
    const Head head = heads.top();
    heads.pop();
    const Reading& r = head.reading;
    const auto signal = static_cast<Signal>(r.signal);
    if (counters_.Keeps(r.device, signal, r.counter)) {
      const bool log = counters_.IsLog(r.device, signal, r.counter);
      joiner.Add(r.time, r.device, signal, r.unavailable, r.value, log);
    } else if (counters_.IsEdge(r.device, signal, r.counter, r.time)) {
      joiner.At(r.time, r.device);
    }
    TRY(advance(head.cursor));
  }
  joiner.Flush();
  return {};
}

}  // namespace idleburn
