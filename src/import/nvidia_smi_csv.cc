#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <memory>
#include <set>
#include <unordered_map>
#include <vector>

#include "import/device_facts.h"
#include "import/formats.h"
#include "import/line_blocks.h"
#include "import/log_watch.h"
#include "import/printed_values.h"
#include "import/smi_rows.h"
#include "import/sweeps.h"
#include "text/number.h"
#include "text/strings.h"

namespace idleburn {

// The largest logs are CSV of nvidia-smi, so this importer uses several threads. ForEachLineBlock cuts the input; each
// CsvWorker parses blocks with a SmiRowReader of its own and delivers them in input order.
//
// The usual case needs no shared state: known columns, known devices, numbers in their usual form. Everything else
// takes the slow path, in the order of the log: binding the header, choosing between columns for one signal, entering a
// device. A worker that needs it waits for its turn (Turn::Await).
//
// What the whole log must fulfil is collected on the way and judged at the end: indices that stay (IndexWatch), columns
// that stay (MisfitRows), and the number of GPUs of rows that name none (UnnamedRows).

namespace {

// The line with the column names: the first line, except for messages of nohup, ssh or the driver. Empty if there is
// none.
std::string_view HeaderLine(std::string_view text) {
  constexpr int kLinesBefore = 8;
  for (int before = 0; before <= kLinesBefore && !text.empty();) {
    const std::string_view line = text.substr(0, text.find('\n'));
    if (IsSmiHeader(line)) return line;
    before += Trim(line).empty() ? 0 : 1;
    text.remove_prefix(std::min(line.size() + 1, text.size()));
  }
  return {};
}

// The last cell of the last line of `text`.
std::string_view LastCell(std::string_view text) {
  text = text.substr(0, text.find_last_not_of(" \r\n") + 1);
  return Trim(text.substr(text.find_last_of(",\n") + 1));  // the whole text if there is neither
}

// Whether the last row ends in a unit. If so, a cut last cell is recognizable: "16" is what is left of "16384 MiB".
bool EndsInUnit(std::string_view cell) { return !cell.empty() && IsDigit(cell.front()) && !IsDigit(cell.back()); }
// Whether a cell has digits and a point, and no unit.
bool IsBareNumber(std::string_view cell) {
  return !cell.empty() && std::all_of(cell.begin(), cell.end(), [](char c) { return IsDigit(c) || c == '.'; });
}

// Times of rows in a log without times, from --start and --period. A sweep has each GPU once, so a GPU that repeats
// begins the next sweep. Wrong where a row is missing from every GPU of a sweep; later times are then too early.
class SweepTimes {
 public:
  Instant Next(DeviceId device, const ImportOptions& options) {
    if (!seen_.insert(device).second) {
      ++sweep_;
      seen_ = {device};
    }
    return AssumedTime(options, sweep_);
  }

 private:
  std::set<DeviceId> seen_;
  std::int64_t sweep_ = 0;
};

// State shared by the workers. Only the worker whose turn it is may touch it. `in`, `options` and `zone` do not
// change.
struct Shared {
  Shared(ByteSource& source, const ImportOptions& how, ImportTarget& target)
      : in(source), options(how), out(target), zone(how.timezone ? &*how.timezone : nullptr) {}

  ByteSource& in;
  const ImportOptions& options;
  ImportTarget& out;
  const TimeZone* zone;
  std::unique_ptr<SmiLayout> layout;  // bound by the first block
  std::string header;                 // as written
  std::int64_t lines = 0;             // delivered so far
  std::int64_t rows = 0;
  std::int64_t bad_rows = 0;
  std::string first_bad;  // its place, and what is wrong
  bool zone_noted = false;
  bool ends_in_unit = false;        // the last row delivered: "16384 MiB"
  std::uint32_t units_assumed = 0;  // signals, as counted so far
  std::optional<IndexWatch> watch;  // if the log identifies GPUs by index alone
  std::optional<MisfitRows> misfits;
  std::unordered_map<std::string, DeviceId> entered;  // by SmiRowReader::Joined
  SweepTimes times;                                   // if the log has no times
  std::unordered_map<std::string, DeviceId> models;   // if the log names only models: their numbers, from 1
  std::vector<std::string> model_names{""};           // by that number
};

// Records which columns tell the signals of a device, except for signals that no row has settled yet.
void NameCounters(DeviceId id, Shared& shared) {
  for (const SmiColumn& column : shared.layout->columns) {
    if ((shared.layout->unsettled & Bit(column.signal)) != 0) continue;
    if (column.role == SmiRole::kValue || column.role == SmiRole::kMask) {
      shared.out.devices.NameCounter(id, column.signal, "nvidia_smi." + column.header);
    } else if (column.role == SmiRole::kFlag) {
      shared.out.devices.NameCounter(id, Signal::kEventReasons, "nvidia_smi.clocks_event_reasons");
    }
  }
}

// Columns of the PCIe link and the part each one tells.
struct LinkColumn {
  SmiRole role;
  LinkPart part;
};
constexpr std::array<LinkColumn, 4> kLinkColumns = {{
    {SmiRole::kLinkGeneration, LinkPart::kGeneration},
    {SmiRole::kLinkMostGeneration, LinkPart::kMostGeneration},
    {SmiRole::kLinkWidth, LinkPart::kWidth},
    {SmiRole::kLinkMostWidth, LinkPart::kMostWidth},
}};

// Tells the link of a device from its first row. `line` is the whole row.
void TellDeviceLink(DeviceId id, std::string_view line, Shared& shared) {
  const std::vector<SmiColumn>& columns = shared.layout->columns;
  const std::vector<std::string_view> cells = Split(line, ',');
  for (std::size_t i = 0; i < std::min(columns.size(), cells.size()); ++i) {
    const auto* const link = std::find_if(kLinkColumns.begin(), kLinkColumns.end(),
                                          [&](const LinkColumn& l) { return l.role == columns[i].role; });
    if (link != kLinkColumns.end()) TellLink(id, link->part, Trim(cells[i]), shared.out);
  }
}

// The device of a row. Absent if every identity cell of the row has no value, as after a GPU fell off the bus. Fails
// if an index now means another model, because the rows of two GPUs would become one.
Result<std::optional<DeviceId>> EnterDevice(const RowIdentity& row, Shared& shared) {
  DeviceKey key;
  key.uuid = NameIn(row.uuid);
  key.bus_id = NameIn(row.bus_id);
  key.name = shared.layout->has_name ? NameIn(row.name) : shared.options.gpu_model;
  if (const std::optional<std::int64_t> index = ParseInteger(row.index); index && *index >= 0 && *index < 65536) {
    key.index = static_cast<int>(*index);
  }
  if (key.uuid.empty() && key.bus_id.empty() && !key.index) {
    if (NameIn(row.index).empty()) return std::optional<DeviceId>();
    return Fail("a row names no GPU ('" + std::string(row.index.substr(0, 20)) + "'); record index or uuid");
  }
  const std::string uuid = NormalUuid(key.uuid);
  if (!uuid.empty() && IsMaskedUuid(uuid)) shared.out.quality.Count(QualityId::kMaskedUuid, {&shared.in.name(), 0});
  const std::size_t before = shared.out.devices.size();
  // A UUID identifies a GPU even if a driver renames the model or an exporter uses another name.
  const bool known_by_uuid = shared.out.devices.KnowsUuid(uuid);
  const DeviceId id = shared.out.devices.Enter(key);
  const Device& known = shared.out.devices[id];
  if (key.index && known.index && *known.index != *key.index) {
    shared.out.quality.Count(QualityId::kIndexRemapped, {&shared.in.name(), 0});
  }
  if (shared.layout->has_name && !known_by_uuid && !key.name.empty() && known.name != key.name && id < before) {
    return Fail("GPU " + std::string(row.index) + " is called '" + known.name.substr(0, 40) + "' and then '" +
                key.name.substr(0, 40) + "': the GPU indices changed; record uuid to tell the GPUs apart");
  }
  NameCounters(id, shared);
  return std::optional(id);
}

// Rows of a log that names no GPU. Their order tells GPUs apart (SweepIdentity). If the log has no times either,
// --gpus alone does. Only Deliver uses it, so rows arrive in the order of the log.
class UnnamedRows {
 public:
  explicit UnnamedRows(Shared& shared) : shared_(shared), sweeps_(shared.options.gpus) {}

  // `device` of a sample is the number of its model's name.
  Result<void> Add(std::span<const Sample> samples, const std::vector<std::int64_t>& lines) {
    if (!shared_.layout->has_time) return AddByCount(samples);
    for (std::size_t i = 0; i < samples.size(); ++i) TRY(InFile(sweeps_.Add(samples[i], lines[i])));
    return Pass(sweeps_.TakePlaced());
  }
  // Delivers the last rows and counts those that no GPU could be found for.
  Result<void> Finish() {
    TRY(InFile(sweeps_.Finish()));
    TRY(Pass(sweeps_.TakePlaced()));
    const std::string& file = shared_.in.name();
    shared_.out.quality.Count(QualityId::kTornRow, {&file, sweeps_.first_dropped()}, sweeps_.dropped());
    shared_.out.quality.Count(QualityId::kTornRow, {&file, shared_.lines}, sweeps_.cut_off());
    return {};
  }

 private:
  // Puts the file's name before an error, which begins with its line.
  Result<void> InFile(Result<void> result) const {
    if (result) return result;
    return Fail(shared_.in.name() + ":" + result.error().message);
  }

  // Row n is of GPU n modulo --gpus. Wrong after a missing row, which nothing shows in a log without times.
  Result<void> AddByCount(std::span<const Sample> samples) {
    std::vector<Sample> placed(samples.begin(), samples.end());
    for (Sample& row : placed) row.device = static_cast<DeviceId>(rows_++ % *shared_.options.gpus);
    return Pass(std::move(placed));
  }

  // Replaces positions by devices and delivers the rows. `device` of a sample is its position in the sweep.
  Result<void> Pass(std::vector<Sample> placed) {
    if (placed.empty()) return {};
    if (devices_.empty()) TRY(EnterPositions());
    for (Sample& row : placed) {
      row.device = devices_[row.device];
      if (!shared_.layout->has_time) row.time = shared_.times.Next(row.device, shared_.options);
    }
    shared_.out.sink.OnSamples(placed);
    return {};
  }

  // Enters the GPUs, once their number is known. The position counts as the index, and the report says that it was
  // inferred.
  Result<void> EnterPositions() {
    shared_.out.quality.Count(QualityId::kInferredIdentity, {&shared_.in.name(), 0});
    const int gpus = shared_.layout->has_time ? sweeps_.gpus() : *shared_.options.gpus;
    for (int gpu = 0; gpu < gpus; ++gpu) {
      const std::string index = std::to_string(gpu);
      RowIdentity row;
      row.index = index;
      if (const auto& names = sweeps_.names(); !names.empty()) {
        row.name = shared_.model_names[names[static_cast<std::size_t>(gpu)]];
      }
      const std::optional<DeviceId> device = TRY(EnterDevice(row, shared_));
      devices_.push_back(*device);
      shared_.entered.emplace(index, *device);
    }
    return {};
  }

  Shared& shared_;
  SweepIdentity sweeps_;
  std::int64_t rows_ = 0;          // placed by count
  std::vector<DeviceId> devices_;  // by position
};

// Parses blocks of lines. Parse runs on several threads at once; Deliver runs in input order. A block that meets an
// unknown device or an unsettled column waits for its turn first, because those change shared state. That happens in
// the first blocks and then hardly ever, so the threads do not hold each other up.
class CsvWorker final : public LineBlockWorker {
 public:
  CsvWorker(Shared& shared, UnnamedRows& unnamed) : shared_(shared), unnamed_(unnamed) {}

  // Reads the rows of a block into stretches, by column where rows are usual and one by one elsewhere. Errors are
  // kept for Deliver, which knows the line.
  void Parse(const LineBlock& block, Turn& turn) override {
    stretches_.clear();
    odd_.clear();
    lines_of_.clear();
    misfits_.clear();
    error_.reset();
    bad_ = Faulty{};
    torn_ = Faulty{};
    lines_ = 0;
    rows_ = 0;
    std::string_view text = block.text();
    ends_in_unit_ = EndsInUnit(LastCell(text));
    // The last line of the input may be cut off. Whether it can be trusted depends on the rows before.
    if (!block.terminated) {
      if (!turn.Await()) return;
      if (IsCutInACell(text)) return;
    }
    // The first block of a worker, or a signal whose column is still open.
    if (!reader_ || reader_unsettled_ != 0) {
      if (!turn.Await() || !Start(text)) return;
    }
    reader_->Begin(text);
    lines_before_ = lines_;
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
      if (named_ ? !FindDevice(identity, sample, turn) : has_models_ && !FindModel(identity, sample, turn)) {
        if (error_ || stopped_) return;
        continue;
      }
      KeepOdd(sample);
    }
  }

  // Counts the faults, then pushes the rows. Line numbers of a block become lines of the file here, because only now
  // all earlier lines are counted.
  Result<void> Deliver() override {
    const std::string& file = shared_.in.name();
    DataQuality& quality = shared_.out.quality;
    const auto place = [&](std::int64_t line) { return Place{&file, shared_.lines + line}; };
    const RowFaults faults = reader_ ? reader_->TakeFaults() : RowFaults{};
    const auto count = [&](QualityId id, const FaultCount& fault, std::int64_t times) {
      quality.Count(id, place(lines_before_ + fault.line), times);
    };
    count(QualityId::kOutOfRange, faults.out_of_range, faults.out_of_range.count);
    count(QualityId::kNotFinite, faults.not_finite, faults.not_finite.count);
    count(QualityId::kUnavailableValue, faults.unavailable, faults.unavailable.count);
    count(QualityId::kTimezoneAmbiguous, faults.zone_ambiguous, faults.zone_ambiguous.count);
    count(QualityId::kUnitAssumed, faults.unit_assumed, std::popcount(faults.units_assumed & ~shared_.units_assumed));
    shared_.units_assumed |= faults.units_assumed;
    quality.Count(QualityId::kBadRow, place(bad_.line), bad_.count);
    quality.Count(QualityId::kTornRow, place(torn_.line), torn_.count);
    if (bad_.count > 0 && shared_.bad_rows == 0) {
      shared_.first_bad = file + ":" + std::to_string(place(bad_.line).line) + ": " + bad_.why;
    }
    shared_.bad_rows += bad_.count;
    // Lines and rows of earlier blocks are known only now.
    for (MisfitRun& run : misfits_) {
      run.line += shared_.lines;
      run.good_before += shared_.rows;
      shared_.misfits->Add(run);
    }
    if (error_)
      return tl::unexpected<Error>(Error{file + ":" + std::to_string(shared_.lines + lines_) + ": " + *error_});
    if (faults.zone_assumed && !shared_.zone_noted) {
      quality.Count(QualityId::kTimezoneAssumed, {&file, 0});
      shared_.zone_noted = true;
    }
    for (const Stretch& stretch : stretches_) {
      shared_.rows += static_cast<std::int64_t>(stretch.rows);
      if (!stretch.odd) DeliverColumns(stretch);
      if (stretch.odd && named_) DeliverOdd(std::span(odd_).subspan(stretch.from, stretch.rows), stretch.from);
    }
    if (!named_) {
      for (std::int64_t& line : lines_of_) line += shared_.lines;
      TRY(unnamed_.Add(odd_, lines_of_));
    }
    shared_.lines += lines_;
    shared_.ends_in_unit = ends_in_unit_;
    return {};
  }

  [[nodiscard]] std::int64_t LinesDelivered() const override { return shared_.lines; }

 private:
  // Consecutive rows of a block: by column in the reader, or one by one in odd_.
  struct Stretch {
    bool odd;
    std::size_t from;  // a line of the reader's text, or an index into odd_
    std::size_t rows;
    std::int64_t line;  // the first row's, in the block
  };
  // Lines of one kind that are not rows.
  struct Faulty {
    std::int64_t count = 0;
    std::int64_t line = 0;  // the first one's, in the block
    std::string why;        // what is wrong with the first
  };

  // Pushes a stretch by column.
  void DeliverColumns(const Stretch& stretch) {
    const SampleColumns columns = reader_->Columns(stretch.from, stretch.rows);
    if (shared_.watch) shared_.watch->OnColumns(columns, shared_.lines + stretch.line);
    shared_.out.sink.OnColumns(columns);
  }
  // Pushes rows that were read one by one, dated if the log has no times.
  void DeliverOdd(std::span<Sample> samples, std::size_t first) {
    for (std::size_t i = 0; i < samples.size(); ++i) {
      if (!shared_.layout->has_time) samples[i].time = shared_.times.Next(samples[i].device, shared_.options);
      if (shared_.watch) shared_.watch->OnSample(samples[i], shared_.lines + lines_of_[first + i]);
    }
    shared_.out.sink.OnSamples(samples);
  }

  // Whether the last line of the input, which has no line end, lost part of its last cell. If so, it is counted. A
  // shortened number would still be a number, so the line cannot be trusted.
  bool IsCutInACell(std::string_view line) {
    if (!shared_.layout || Trim(line.substr(0, line.size() - 1)).empty()) return false;
    if (!shared_.in.truncated() && !(shared_.ends_in_unit && IsBareNumber(LastCell(line)))) return false;
    lines_ = 1;
    torn_ = {1, 1, {}};
    return true;
  }

  // Binds the header if this is the first block and removes it from `text`. Settles the columns that can be settled.
  // False if the header cannot be bound.
  bool Start(std::string_view& text) {
    if (!shared_.layout && !BindHeader(text)) return false;
    const SmiLayout& layout = *shared_.layout;
    if (layout.unsettled != 0) Settle(text);
    if (reader_ && reader_unsettled_ == layout.unsettled) return true;
    reader_ = std::make_unique<SmiRowReader>(layout.Preferred(), shared_.zone);
    reader_unsettled_ = layout.unsettled;
    named_ = layout.has_identity;
    has_models_ = !named_ && layout.has_name;
    return true;
  }

  // Looks for a row with a value in one of the columns of each unsettled signal. A signal that stays unsettled has no
  // value in any row of the block.
  void Settle(std::string_view text) {
    SmiLayout& layout = *shared_.layout;
    const std::uint32_t before = layout.unsettled;
    while (layout.unsettled != 0 && !text.empty()) {
      const std::size_t end = text.find('\n');
      const std::vector<std::string_view> cells = Split(text.substr(0, end), ',');
      if (cells.size() == layout.columns.size()) layout.Settle(cells);
      text.remove_prefix(end + 1);
    }
    if (layout.unsettled == before) return;
    for (const auto& [cells, id] : shared_.entered) NameCounters(id, shared_);
  }

  // Binds the header and removes it, with the lines before it, from `text`. Those lines are counted as bad rows.
  bool BindHeader(std::string_view& text) {
    const std::string& file = shared_.in.name();
    DataQuality& quality = shared_.out.quality;
    const std::string_view line = HeaderLine(text);
    if (line.empty()) {
      error_ = "no line names the columns of nvidia-smi --query-gpu; record again with --format=csv";
      return false;
    }
    const std::string_view before = text.substr(0, static_cast<std::size_t>(line.data() - text.data()));
    for (std::size_t at = 0, end = 0; at < before.size(); at = end + 1) {
      end = before.find('\n', at);
      ++lines_;
      quality.Count(QualityId::kBadRow, {&file, lines_}, Trim(before.substr(at, end - at)).empty() ? 0 : 1);
    }
    ++lines_;
    text.remove_prefix(before.size() + line.size() + 1);
    shared_.header = Trim(line);
    Result<SmiLayout> layout = BindSmiHeader(line, file, quality);
    if (!layout) {
      error_ = layout.error().message;
      return false;
    }
    shared_.layout = std::make_unique<SmiLayout>(std::move(*layout));
    shared_.misfits.emplace(shared_.layout->columns.size());
    if (shared_.layout->by_index_alone) shared_.watch.emplace(shared_.out.devices);
    return CanBeDated();
  }

  // A log without times needs --start and --period. Without a clock nothing shows how many GPUs there are, so it
  // needs --gpus too if it names none. False if error_ says what is missing.
  bool CanBeDated() {
    const SmiLayout& layout = *shared_.layout;
    const ImportOptions& options = shared_.options;
    if (layout.has_time) return true;
    if (!options.start || !options.period) {
      error_ =
          "no column says when a row was read; record timestamp, or give --start 2026-07-03T22:22:01Z and --period 1s";
    } else if (!layout.has_identity && !options.gpus) {
      error_ =
          "no column says when a row was read or which GPU it is from; record timestamp, index and uuid, or also give "
          "--gpus N";
    }
    return !error_;
  }

  // Keeps the rows that ReadUsualRows has just read. They stay in the reader, unless the log names no GPU: then each
  // row must be placed by itself.
  void KeepUsual(std::size_t rows) {
    if (rows == 0) return;
    rows_ += static_cast<std::int64_t>(rows);
    const std::size_t from = reader_->line() - rows;
    if (named_) {
      stretches_.push_back({false, from, rows, lines_ + 1});
      lines_ += static_cast<std::int64_t>(rows);
      return;
    }
    const SampleColumns columns = reader_->Columns(from, rows);
    Sample sample;
    for (std::size_t i = 0; i < rows; ++i) {
      ++lines_;
      columns.Get(i, sample);
      KeepSample(sample);
    }
  }
  // Keeps a row of the last line read.
  void KeepOdd(const Sample& sample) {
    ++rows_;
    KeepSample(sample);
  }
  // Appends a row to the current stretch of odd rows, or begins one.
  void KeepSample(const Sample& sample) {
    if (stretches_.empty() || !stretches_.back().odd) stretches_.push_back({true, odd_.size(), 0, lines_});
    ++stretches_.back().rows;
    odd_.push_back(sample);
    lines_of_.push_back(lines_);
  }

  // Classifies a line that is not a row: a repeated header, a torn row, a misfit, or a bad row. `why`: what is wrong,
  // if the reader does not know. A header with other columns is an error, because a log has one layout.
  void OnBadRow(std::string_view line, bool torn, std::string_view why = {}) {
    const std::string_view row = Trim(line);
    if (row == shared_.header) {  // two logs in one file: the same header again
      if (named_ || shared_.layout->has_time) return;
      error_ = "the log starts again here, and may have ended within a sweep; audit each part separately";
      return;
    }
    // A recorder that stopped within a row and restarted wrote its header on the same line.
    const bool restarted = row.ends_with(shared_.header);
    if (!restarted && IsSmiHeader(line)) {
      error_ = "the columns change here; split the file at this line and give both parts";
      return;
    }
    if (!torn && !restarted && why.empty()) KeepMisfit();
    Faulty& faulty = torn || restarted ? torn_ : bad_;
    if (faulty.count++ > 0) return;
    faulty.line = lines_;
    if (!torn) faulty.why = why.empty() ? reader_->WhyBad() : std::string(why);
  }

  // Remembers a line that may be a row of other columns.
  void KeepMisfit() {
    const std::size_t cells = reader_->MisfitCells();
    if (cells == 0) return;
    const bool goes_on = !misfits_.empty() && misfits_.back().cells == cells && misfits_.back().good_before == rows_;
    if (!goes_on) misfits_.push_back({cells, rows_, lines_, 0, reader_->WhyBad()});
    ++misfits_.back().count;
  }

  // Finds the device of the last line read. False if the row names none, which is counted; or if error_ says why; or
  // if the import has failed elsewhere and must stop. A reader learns each device once and then finds it without the
  // turn.
  bool FindDevice(const RowIdentity& identity, Sample& sample, Turn& turn) {
    if (const std::optional<DeviceId> learned = reader_->Find(identity)) {
      sample.device = *learned;
      return true;
    }
    stopped_ = !turn.Await();
    if (stopped_) return false;
    auto known = shared_.entered.find(reader_->Joined(identity));
    if (known == shared_.entered.end()) {
      const Result<std::optional<DeviceId>> entered =
          shared_.entered.size() < kMaxDevices ? EnterDevice(identity, shared_) : Fail(TooManyDevices(NamingColumn()));
      if (!entered) {
        error_ = entered.error().message;
        return false;
      }
      if (!*entered) {
        OnBadRow(reader_->Line(), false, "names no GPU");
        return false;
      }
      known = shared_.entered.emplace(reader_->Joined(identity), **entered).first;
      TellDeviceLink(known->second, reader_->Line(), shared_);
    }
    sample.device = known->second;
    reader_->Learn(identity, known->second);
    return true;
  }

  // The same for a log that names only models. False: the import stops.
  bool FindModel(const RowIdentity& identity, Sample& sample, Turn& turn) {
    if (const std::optional<DeviceId> learned = reader_->Find(identity)) {
      sample.device = *learned;
      return true;
    }
    stopped_ = !turn.Await();
    if (stopped_) return false;
    const std::string name(NameIn(identity.name));
    if (shared_.model_names.size() > kMaxDevices) {
      error_ = TooManyDevices("name");
      return false;
    }
    const auto number = static_cast<DeviceId>(shared_.model_names.size());
    const auto [known, fresh] = shared_.models.emplace(name, name.empty() ? 0 : number);
    if (fresh && !name.empty()) shared_.model_names.push_back(name);
    sample.device = known->second;
    reader_->Learn(identity, sample.device);
    return true;
  }

  // The first column that identifies GPUs.
  [[nodiscard]] std::string NamingColumn() const {
    for (const SmiColumn& column : shared_.layout->columns) {
      const SmiRole role = column.role;
      if (role == SmiRole::kIndex || role == SmiRole::kUuid || role == SmiRole::kBusId) return Printable(column.header);
    }
    return {};
  }

  Shared& shared_;
  UnnamedRows& unnamed_;
  std::unique_ptr<SmiRowReader> reader_;
  std::uint32_t reader_unsettled_ = 0;  // unsettled signals when it was made
  bool named_ = true;
  bool has_models_ = false;             // the log names only models
  std::vector<Stretch> stretches_;      // all rows of the block, in order
  std::vector<Sample> odd_;             // rows read by Next; all rows if the log names no GPU
  std::vector<std::int64_t> lines_of_;  // of odd_
  std::optional<std::string> error_;
  bool stopped_ = false;
  Faulty bad_;
  Faulty torn_;
  std::vector<MisfitRun> misfits_;
  bool ends_in_unit_ = false;  // the last row of the block
  std::int64_t lines_ = 0;
  std::int64_t lines_before_ = 0;  // lines before the reader's text
  std::int64_t rows_ = 0;          // fitting rows of the block
};

// Checks --gpus against a log that names its GPUs: the user expects another machine, or the log lacks GPUs.
Result<void> CheckSaidGpus(const Shared& shared) {
  if (!shared.options.gpus || shared.rows == 0 || !shared.layout->has_identity) return {};
  std::set<DeviceId> named;
  for (const auto& [cells, id] : shared.entered) named.insert(id);
  if (named.size() == static_cast<std::size_t>(*shared.options.gpus)) return {};
  return Fail(shared.in.name() + ": --gpus " + std::to_string(*shared.options.gpus) + ", but its rows name " +
              std::to_string(named.size()) + (named.size() == 1 ? " GPU" : " GPUs") + "; leave --gpus out");
}

}  // namespace

bool SniffNvidiaSmiCsv(std::string_view head) { return !HeaderLine(head).empty(); }

Result<void> ImportNvidiaSmiCsv(ByteSource& in, const ImportOptions& options, ImportTarget& out) {
  Shared shared(in, options, out);
  UnnamedRows unnamed(shared);
  // The repeated hour of daylight saving is resolved by the row before, so one worker reads such a log in order.
  const int threads = shared.zone != nullptr ? 1 : std::max(options.threads, 1);
  std::vector<std::unique_ptr<LineBlockWorker>> workers;
  // With one thread, one worker. With more, each other thread may leave a parsed block and take a second worker.
  for (int i = 0; i < 2 * threads - 1; ++i) workers.push_back(std::make_unique<CsvWorker>(shared, unnamed));
  TRY(ForEachLineBlock(in, threads, workers));
  if (shared.rows > 0) TRY(shared.misfits->Verdict(shared.rows, in.name()));
  TRY(unnamed.Finish());
  TRY(CheckSaidGpus(shared));
  if (shared.watch) TRY(shared.watch->Verdict(in.name()));
  if (shared.rows == 0) {
    if (shared.bad_rows > 0) return Fail(shared.first_bad + "; no other row fits the header either");
    return Fail(in.name() + ": has a header but no rows; record again with --format=csv");
  }
  return {};
}

}  // namespace idleburn
