#include "import/nvidia_smi_csv.h"

#include <algorithm>
#include <bit>
#include <map>
#include <memory>
#include <vector>

#include "import/line_blocks.h"
#include "import/smi_columns.h"
#include "import/smi_rows.h"
#include "import/sweep_identity.h"
#include "text/number.h"

namespace idleburn {
namespace {

std::string_view FirstLine(std::string_view text) {
  while (!text.empty() && (text.front() == '\n' || text.front() == '\r')) text.remove_prefix(1);
  if (text.substr(0, 3) == "\xEF\xBB\xBF") text.remove_prefix(3);
  return text.substr(0, text.find('\n'));
}

// What the workers share. Touched only by the worker whose turn it is.
struct Shared {
  Shared(ByteSource& source, ImportTarget& target, const TimeZone* time_zone)
      : in(source), out(target), zone(time_zone) {}

  ByteSource& in;
  ImportTarget& out;
  const TimeZone* zone;
  std::unique_ptr<SmiLayout> layout;  // bound by the first block
  std::string header;                 // as written
  std::int64_t lines = 0;             // delivered so far
  std::int64_t rows = 0;
  std::int64_t bad_rows = 0;
  std::string first_bad;
  bool zone_noted = false;
  std::uint32_t unit_assumed = 0;  // signals, as counted so far
};

Result<DeviceId> EnterDevice(const RowIdentity& row, Shared& shared) {
  DeviceKey key;
  key.uuid = row.uuid;
  key.bus_id = row.bus_id;
  key.name = row.name;
  if (const std::optional<std::int64_t> index = ParseInteger(row.index); index && *index >= 0 && *index < 65536) {
    key.index = static_cast<int>(*index);
  }
  if (key.uuid.empty() && key.bus_id.empty() && !key.index) {
    return Fail("a row names no GPU ('" + std::string(row.index.substr(0, 20)) + "'); record index or uuid");
  }
  const std::string uuid = NormalUuid(key.uuid);
  if (!uuid.empty() && IsMaskedUuid(uuid)) shared.out.quality.Count(QualityId::kMaskedUuid, {&shared.in.name(), 0});
  const std::size_t before = shared.out.devices.size();
  const DeviceId id = shared.out.devices.Enter(key);
  const Device& known = shared.out.devices[id];
  if (key.index && known.index && *known.index != *key.index) {
    shared.out.quality.Count(QualityId::kIndexRemapped, {&shared.in.name(), 0});
  }
  if (!row.name.empty() && known.name != row.name && id < before) {
    return Fail("GPU " + std::string(row.index) + " is called '" + known.name.substr(0, 40) + "' and then '" +
                std::string(row.name.substr(0, 40)) + "': the indices moved; record uuid to tell the GPUs apart");
  }
  for (const SmiColumn& column : shared.layout->columns) {
    if (column.role == SmiRole::kValue || column.role == SmiRole::kMask) {
      shared.out.devices.NameCounter(id, column.signal, "nvidia_smi." + column.header);
    } else if (column.role == SmiRole::kFlag) {
      shared.out.devices.NameCounter(id, Signal::kEventReasons, "nvidia_smi.clocks_event_reasons");
    }
  }
  return id;
}

// Rows of a log that names no GPU: held back until enough are known to tell sweeps apart.
class UnnamedRows {
 public:
  explicit UnnamedRows(Shared& shared) : shared_(shared) {}

  Result<void> Add(std::span<const Sample> samples, const std::vector<std::int64_t>& lines) {
    samples_.insert(samples_.end(), samples.begin(), samples.end());
    lines_.insert(lines_.end(), lines.begin(), lines.end());
    return samples_.size() < SweepIdentity::kLearn && !sweeps_ ? Result<void>{} : Place();
  }
  Result<void> Finish() {
    TRY(Place());
    if (sweeps_ && sweeps_->open_rows() != sweeps_->gpus()) {
      shared_.out.quality.Count(QualityId::kTornRow, {&shared_.in.name(), shared_.lines}, sweeps_->open_rows());
    }
    return {};
  }

 private:
  // Gives each row its place in the sweep and passes it on.
  Result<void> Place() {
    if (samples_.empty()) return {};
    if (!sweeps_) TRY(Learn());
    for (std::size_t i = 0; i < samples_.size(); ++i) {
      const std::optional<int> gpu = sweeps_->Next(samples_[i].time);
      if (!gpu) {
        return Fail(shared_.in.name() + ":" + std::to_string(lines_[i]) + ": the sweep that ends here does not have " +
                    std::to_string(sweeps_->gpus()) +
                    " rows like the others, and no column says which GPU a row is of; record index or uuid");
      }
      samples_[i].device = devices_[static_cast<std::size_t>(*gpu)];
    }
    shared_.out.sink.OnSamples(samples_);
    samples_.clear();
    lines_.clear();
    return {};
  }

  Result<void> Learn() {
    std::vector<Instant> stamps;
    for (const Sample& s : samples_) stamps.push_back(s.time);
    sweeps_ = std::make_unique<SweepIdentity>(stamps);
    shared_.out.quality.Count(QualityId::kInferredIdentity, {&shared_.in.name(), 0});
    for (int gpu = 0; gpu < sweeps_->gpus(); ++gpu) {
      const std::string index = std::to_string(gpu);
      RowIdentity row;
      row.index = index;
      const Result<DeviceId> device = EnterDevice(row, shared_);
      if (!device) return tl::unexpected<Error>(device.error());
      devices_.push_back(*device);
    }
    return {};
  }

  Shared& shared_;
  std::vector<Sample> samples_;
  std::vector<std::int64_t> lines_;  // of samples_
  std::unique_ptr<SweepIdentity> sweeps_;
  std::vector<DeviceId> devices_;
};

class CsvWorker final : public LineBlockWorker {
 public:
  CsvWorker(Shared& shared, UnnamedRows& unnamed) : shared_(shared), unnamed_(unnamed) {}

  void Parse(const LineBlock& block, Turn& turn) override {
    stretches_.clear();
    odd_.clear();
    lines_of_.clear();
    error_.reset();
    bad_ = Faulty{};
    torn_ = Faulty{};
    lines_ = 0;
    std::string_view text = block.text();
    if (!reader_) {
      if (!turn.Await() || !Start(text)) return;
    }
    reader_->Begin(text);
    RowIdentity identity;
    while (true) {
      KeepUsual(reader_->ReadUsualRows());
      if (reader_->AtEnd()) return;
      ++lines_;
      Sample sample;
      const SmiRowReader::Outcome outcome = reader_->Next(identity, sample);
      if (outcome != SmiRowReader::Outcome::kRow) {
        if (outcome == SmiRowReader::Outcome::kBad) OnBadRow(reader_->Line(), reader_->AtEnd() && !block.terminated);
        if (error_) return;
        continue;
      }
      if (named_ && !FindDevice(identity, sample, turn)) return;
      KeepOdd(sample);
    }
  }

  Result<void> Deliver() override {
    const std::string& file = shared_.in.name();
    DataQuality& quality = shared_.out.quality;
    const auto place = [&](std::int64_t line) { return Place{&file, shared_.lines + line}; };
    const RowFaults faults = reader_ ? reader_->TakeFaults() : RowFaults{};
    quality.Count(QualityId::kOutOfRange, place(1), faults.out_of_range);
    quality.Count(QualityId::kNotFinite, place(1), faults.not_finite);
    quality.Count(QualityId::kUnavailableValue, place(1), faults.unavailable);
    quality.Count(QualityId::kTimezoneAmbiguous, place(1), faults.zone_ambiguous);
    quality.Count(QualityId::kUnitAssumed, place(1), std::popcount(faults.unit_assumed & ~shared_.unit_assumed));
    shared_.unit_assumed |= faults.unit_assumed;
    quality.Count(QualityId::kBadRow, place(bad_.line), bad_.count);
    quality.Count(QualityId::kTornRow, place(torn_.line), torn_.count);
    if (bad_.count > 0 && shared_.bad_rows == 0) shared_.first_bad = file + ":" + std::to_string(place(bad_.line).line);
    shared_.bad_rows += bad_.count;
    if (error_)
      return tl::unexpected<Error>(Error{file + ":" + std::to_string(shared_.lines + lines_) + ": " + *error_});
    if (!stretches_.empty() && !shared_.zone_noted && shared_.zone == nullptr) {
      quality.Count(QualityId::kTimezoneAssumed, {&file, 0});
      shared_.zone_noted = true;
    }
    for (const Stretch& stretch : stretches_) {
      shared_.rows += static_cast<std::int64_t>(stretch.rows);
      if (!stretch.odd) shared_.out.sink.OnColumns(reader_->Columns(stretch.from, stretch.rows));
      if (stretch.odd && named_) shared_.out.sink.OnSamples(std::span(odd_).subspan(stretch.from, stretch.rows));
    }
    if (!named_) {
      for (std::int64_t& line : lines_of_) line += shared_.lines;
      TRY(unnamed_.Add(odd_, lines_of_));
    }
    shared_.lines += lines_;
    return {};
  }

  [[nodiscard]] std::int64_t LinesDelivered() const override { return shared_.lines; }

 private:
  // Rows of the block that follow each other: as the reader has them by column, or in odd_.
  struct Stretch {
    bool odd;
    std::size_t from;  // line of the block, or place in odd_
    std::size_t rows;
  };
  struct Faulty {
    std::int64_t count = 0;
    std::int64_t line = 0;  // of the first, in the block
  };

  // Binds the header if this is the first block, and takes it off `text`. False: it could not be bound.
  bool Start(std::string_view& text) {
    if (!shared_.layout) {
      const std::string_view line = FirstLine(text);
      const auto skipped = static_cast<std::size_t>(line.data() - text.data());
      lines_ += std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(skipped), '\n') + 1;
      text.remove_prefix(skipped + line.size() + 1);
      shared_.header = Trim(line);
      Result<SmiLayout> layout = BindSmiHeader(line, shared_.in.name(), shared_.out.quality);
      if (!layout) {
        error_ = layout.error().message;
        return false;
      }
      shared_.layout = std::make_unique<SmiLayout>(std::move(*layout));
    }
    reader_ = std::make_unique<SmiRowReader>(*shared_.layout, shared_.zone);
    named_ = shared_.layout->has_identity;
    return true;
  }

  // The reader read so many usual rows.
  void KeepUsual(std::size_t rows) {
    if (rows == 0) return;
    const std::size_t from = reader_->line() - rows;
    if (named_) {
      stretches_.push_back({false, from, rows});
      lines_ += static_cast<std::int64_t>(rows);
      return;
    }
    const SampleColumns columns = reader_->Columns(from, rows);
    Sample sample;
    for (std::size_t i = 0; i < rows; ++i) {
      ++lines_;
      columns.Get(i, sample);
      KeepOdd(sample);
    }
  }
  // A row of the line read last.
  void KeepOdd(const Sample& sample) {
    if (stretches_.empty() || !stretches_.back().odd) stretches_.push_back({true, odd_.size(), 0});
    ++stretches_.back().rows;
    odd_.push_back(sample);
    if (!named_) lines_of_.push_back(lines_);
  }

  void OnBadRow(std::string_view line, bool torn) {
    if (Trim(line) == shared_.header) return;  // two logs in one file: the same header again
    if (IsSmiHeader(line)) {
      error_ = "the columns change here; split the file at this line and give both parts";
      return;
    }
    Faulty& faulty = torn ? torn_ : bad_;
    if (faulty.count++ == 0) faulty.line = lines_;
  }

  // Of the line that the reader read last. False: it is none, and error_ says why; or the import failed elsewhere.
  bool FindDevice(const RowIdentity& identity, Sample& sample, Turn& turn) {
    if (const std::optional<DeviceId> known = reader_->Find(identity)) {
      sample.device = *known;
      return true;
    }
    if (!turn.Await()) return false;
    const Result<DeviceId> entered = EnterDevice(identity, shared_);
    if (!entered) {
      error_ = entered.error().message;
      return false;
    }
    sample.device = *entered;
    reader_->Learn(identity, *entered);
    return true;
  }

  Shared& shared_;
  UnnamedRows& unnamed_;
  std::unique_ptr<SmiRowReader> reader_;
  bool named_ = true;
  std::vector<Stretch> stretches_;      // all rows of the block
  std::vector<Sample> odd_;             // all of them if the log names no GPU
  std::vector<std::int64_t> lines_of_;  // of odd_, if the log names no GPU
  std::optional<std::string> error_;
  Faulty bad_;
  Faulty torn_;
  std::int64_t lines_ = 0;
};

}  // namespace

bool SniffNvidiaSmiCsv(std::string_view head) { return IsSmiHeader(FirstLine(head)); }

Result<void> ImportNvidiaSmiCsv(ByteSource& in, const ImportOptions& options, ImportTarget& out) {
  Shared shared(in, out, options.timezone ? &*options.timezone : nullptr);
  UnnamedRows unnamed(shared);
  // A zone's repeated hour is told by the row before it, so such a log is read in order by one worker.
  const int threads = shared.zone != nullptr ? 1 : std::max(options.threads, 1);
  std::vector<std::unique_ptr<LineBlockWorker>> workers;
  for (int i = 0; i < 2 * threads - 1; ++i) workers.push_back(std::make_unique<CsvWorker>(shared, unnamed));
  TRY(ForEachLineBlock(in, threads, workers));
  TRY(unnamed.Finish());
  if (shared.rows == 0) {
    const std::string why = shared.bad_rows > 0 ? ": no row fits the header (first at " + shared.first_bad + ")"
                                                : ": has a header but no rows";
    return Fail(in.name() + why + "; record again with --format=csv");
  }
  return {};
}

}  // namespace idleburn
