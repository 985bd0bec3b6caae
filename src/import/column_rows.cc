#include "import/column_rows.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include "import/device_facts.h"
#include "import/host_watch.h"
#include "import/printed_values.h"
#include "import/sweeps.h"
#include "text/number.h"
#include "text/strings.h"

namespace idleburn {

// Tables of unknown origin may be in any order and may lack a GPU column. The first 8,192 rows are held back to find
// out: whether rows are in time order within each device, and whether rows without a GPU column can be of one GPU.

namespace {

constexpr std::size_t kTrialRows = 8192;    // decide whether the table is in order
constexpr std::size_t kBatchSamples = 128;  // samples, which stay in the L1 cache until they are classified
constexpr char kBetweenCells = '\xff';

// True for "00000000:65:00.0".
bool IsBusId(std::string_view text) {
  const std::size_t domain = text.find(':');
  if ((domain != 4 && domain != 8) || text.size() != domain + 8) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char want = i == domain || i == domain + 3 ? ':' : i == domain + 6 ? '.' : 'x';
    const bool hex = std::isxdigit(static_cast<unsigned char>(text[i])) != 0;
    if (want == 'x' ? !hex : text[i] != want) return false;
  }
  return true;
}

// "3", or "3.0" as spreadsheets and data frames write it.
std::optional<int> AsIndex(std::string_view text) {
  const std::size_t point = text.find('.');
  const std::size_t decimals = point == std::string_view::npos ? point : text.find_first_not_of('0', point + 1);
  const std::optional<std::int64_t> n = ParseInteger(text.substr(0, point));
  if (!n || *n < 0 || *n > 65535 || decimals != std::string_view::npos) return std::nullopt;
  return static_cast<int>(*n);
}

// Sets the field of `key` that the text of a gpu or uuid cell is. False if it is only a name.
bool SetIdentity(DeviceKey& key, std::string_view text) {
  if (!NormalUuid(text).empty()) {
    key.uuid = text;
  } else if (const std::optional<int> index = AsIndex(text)) {
    key.index = index;
  } else if (IsBusId(text)) {
    key.bus_id = text;
  } else {
    return false;
  }
  return true;
}

// Among the first `count` devices, one that is known only by this name. It lets two tables of one run that name GPUs
// by the same text ("gpu-a") mean the same GPU.
std::optional<DeviceId> FindByName(const DeviceTable& devices, std::size_t count, const DeviceKey& key) {
  for (DeviceId id = 0; id < count; ++id) {
    const Device& d = devices[id];
    const bool only_name = d.uuid.empty() && d.bus_id.empty() && !d.index;
    if (only_name && d.name == key.name && d.host == devices.HostOf(key)) return id;
  }
  return std::nullopt;
}

// Difference of any two times, limited to the largest value.
std::int64_t Between(std::int64_t from, std::int64_t to) {
  std::int64_t nanos = 0;
  return __builtin_sub_overflow(to, from, &nanos) ? INT64_MAX : nanos;
}

// The first rows of a device, from which its order and its hold time are judged.
struct FirstRows {
  std::vector<std::int64_t> times;  // until the clock was set back
  std::vector<std::int64_t> intervals;
  std::int64_t latest = INT64_MIN;
  std::uint32_t said = 0;  // signals with a value at `latest`
  bool set_back = false;

  // How long a reading holds: 2.5 periods. Reorders the intervals.
  [[nodiscard]] std::int64_t Hold() {
    constexpr std::int64_t kLongest = INT64_MAX / 10;
    if (intervals.empty()) return kNanosPerSecond;
    const auto middle = intervals.begin() + static_cast<std::ptrdiff_t>((intervals.size() - 1) / 2);
    std::nth_element(intervals.begin(), middle, intervals.end());
    return std::max(std::min(*middle / 2, kLongest) * 5, kNanosPerSecond);
  }
};

// Whether a row older than the latest shows that the wall clock was set back. The step must exceed the hold time. It
// must end among earlier rows of the device but not in a gap between them, or be the hour at the end of daylight
// saving. For example, rows each second from 01:30:00 to 02:59:59, and then 02:00:00.
bool WasSetBack(FirstRows& known, std::int64_t time) {
  const std::int64_t hold = known.Hold();
  const std::int64_t back = Between(time, known.latest);
  const auto next = std::upper_bound(known.times.begin(), known.times.end(), time);
  const bool before_all = next == known.times.begin();
  const bool covered = !before_all && time != known.times.front() && Between(*(next - 1), *next) <= hold;
  const bool by_an_hour = back >= kNanosPerHour - hold && back <= kNanosPerHour + hold;
  return back > hold && (covered || (before_all && by_an_hour));
}

}  // namespace

bool IsIdentity(const BoundColumn& column) {
  using Kind = ColumnKind;
  const Kind kind = column.role->kind;
  return kind == Kind::kGpu || kind == Kind::kUuid || kind == Kind::kName || kind == Kind::kHost ||
         kind == Kind::kMig || kind == Kind::kMigProfile;
}

ColumnRows::ColumnRows(std::span<const BoundColumn> columns, std::string_view source, const std::string& file,
                       const ImportOptions& options, ImportTarget& out)
    : columns_(columns.begin(), columns.end()),
      source_(source),
      file_(file),
      out_(out),
      known_before_(out.devices.size()),
      batch_(kTrialRows),
      limit_(kTrialRows),
      said_gpus_(options.gpus),
      gpu_model_(options.gpu_model),
      owners_(options) {
  std::copy_if(columns.begin(), columns.end(), std::back_inserter(identity_), IsIdentity);
  for (const BoundColumn& column : columns_) {
    if (!column.unit_assumed) continue;
    const std::string said = column.name + " in " + std::string(column.unit->name);
    out_.quality.CountNamed(QualityId::kUnitAssumed, said, {&file_, 0});
  }
}

ColumnRows::~ColumnRows() = default;

bool ColumnRows::SaysWhich() const {
  return std::any_of(identity_.begin(), identity_.end(), [](const BoundColumn& column) {
    const ColumnKind kind = column.role->kind;
    return kind != ColumnKind::kName && kind != ColumnKind::kHost;
  });
}

bool ColumnRows::Matches(const Named& named, std::span<const std::string_view> cells) {
  return std::equal(cells.begin(), cells.end(), named.cells.begin(), named.cells.end());
}

// Guesses first: rows of a sweep repeat their order, and rows sorted by device repeat the device. Only a wrong guess
// costs a look-up by text.
Result<std::optional<DeviceId>> ColumnRows::Device(std::span<const std::string_view> cells, std::int64_t line) {
  if (!named_.empty()) {
    const std::size_t next = last_ + 1 == named_.size() ? 0 : last_ + 1;
    for (const std::size_t guess : {next, last_}) {
      if (!Matches(named_[guess], cells)) continue;
      last_ = guess;
      return std::optional(named_[guess].id);
    }
  }
  joined_.clear();
  for (const std::string_view cell : cells) (joined_ += cell) += kBetweenCells;
  const auto found = by_cells_.find(joined_);
  if (found != by_cells_.end()) {
    last_ = found->second;
    return std::optional(named_[last_].id);
  }
  if (named_.size() == kMaxDevices) {
    return Fail(file_ + ":" + std::to_string(line) + ": " + TooManyDevices(Printable(identity_.front().name)));
  }
  const Result<std::optional<DeviceId>> entered = EnterDevice(cells, line);
  if (!entered || !*entered) return entered;
  const std::optional<DeviceId> id = *entered;
  last_ = named_.size();
  named_.push_back({{cells.begin(), cells.end()}, *id});
  by_cells_.emplace(joined_, last_);
  return id;
}

// Enters a device by its identity cells. Absent if they name none. Fails if a GPU is on two hosts, because its rows
// would be of two machines.
Result<std::optional<DeviceId>> ColumnRows::EnterDevice(std::span<const std::string_view> cells, std::int64_t line) {
  DeviceKey key;
  MigInstance mig;
  std::string label;
  bool one_gpu = true;  // no column says which
  bool named = false;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const std::string_view text = Trim(cells[i]);
    const ColumnKind kind = identity_[i].role->kind;
    const bool which = kind == ColumnKind::kGpu || kind == ColumnKind::kUuid;
    one_gpu = one_gpu && !which;
    // "[N/A]" names nothing.
    if (WhyUnavailable(text)) continue;
    if (kind == ColumnKind::kName) key.name = Printable(text);
    if (kind == ColumnKind::kHost) key.host = Printable(text);
    if (kind == ColumnKind::kMig) mig.id = Printable(text);
    if (kind == ColumnKind::kMigProfile) mig.profile = Printable(text);
    if (!which) continue;
    named = true;
    if (!SetIdentity(key, text)) label = Printable(text);
  }
  if (!one_gpu && !named) return std::optional<DeviceId>();
  // Without a column that says which, all rows of a host are of one GPU. Flush and Finish check that.
  if (one_gpu) key.index = 0;
  if (!mig.id.empty()) {
    mig.slices = ProfileSlices(mig.profile);
    key.mig = std::move(mig);
  }
  if (key.name.empty() && (label.empty() || !key.uuid.empty() || key.index)) key.name = gpu_model_;
  // A text that is no UUID, index or bus id becomes the name of a GPU of its own.
  const bool by_name = key.uuid.empty() && key.bus_id.empty() && !key.index;
  if (by_name) key.name = key.name.empty() ? label : label + " (" + key.name + ")";
  if (!key.uuid.empty() && IsMaskedUuid(NormalUuid(key.uuid))) {
    out_.quality.Count(QualityId::kMaskedUuid, {&file_, line});
  }
  // A name alone is only matched with GPUs of earlier inputs; within a table, equal cells mean one GPU anyway.
  std::optional<DeviceId> id;
  if (by_name && !key.mig) id = FindByName(out_.devices, known_before_, key);
  if (id) out_.devices.Meet(*id, key);
  if (!id) id = out_.devices.Enter(key);
  const auto& entered = out_.devices[*id];
  if (!entered.uuid.empty() && !key.host.empty() && !IsOneHost(entered.host, key.host)) {
    return Fail(
        file_ + ":" + std::to_string(line) + ": " + entered.uuid + " is on " + Printable(entered.host) + " and on " +
        key.host +
        "; one GPU cannot be on two machines: correct the host or the UUID, or audit the rows of each host separately");
  }
  // Only a UUID can be on two hosts; an index belongs to its host.
  if (out_.hosts != nullptr && !entered.uuid.empty() && !key.host.empty()) {
    stays_.resize(std::max<std::size_t>(stays_.size(), *id + 1));
    stays_[*id] = out_.hosts->Track(*id, key.host);
  }
  for (const BoundColumn& column : columns_) {
    if (column.role->kind != ColumnKind::kSignal) continue;
    out_.devices.NameCounter(*id, column.role->signal, source_ + "." + Printable(column.name));
  }
  return id;
}

// Counts why a cell has no value.
void ColumnRows::PutFault(Sample& sample, Signal signal, const CellReading& reading, std::int64_t line) {
  using Q = QualityId;
  constexpr std::array<Q, 6> kIds = {Q::kBadRow,     Q::kUnavailableValue, Q::kNotFinite,  // in the order of CellFault
                                     Q::kOutOfRange, Q::kSentinelValue,    Q::kBadRow};
  out_.quality.Count(kIds[static_cast<std::size_t>(reading.fault)], {&file_, line});
  sample.SetUnavailable(signal, reading.why);
}

// Rows of shared GPUs come once per owner. The first row of a time is the reading; a copy for another owner is taken
// back and only says that the owner was there.
void ColumnRows::Own(std::string_view owner, std::int64_t line) {
  const Sample& sample = batch_[used_ - 1];
  Owned& owned = owned_[sample.device];
  owner = Trim(owner);
  if (WhyUnavailable(owner)) owner = {};
  if (owned.time != sample.time) {
    owned.time = sample.time;
    if (owned.first != owner) owned.first = owner;
  } else if (owned.first != owner) {  // rows of the same owner are readings of their own
    out_.quality.Count(QualityId::kSharedCopies, {&file_, line});
    --used_;
  }
  if (owned.presence == nullptr || owned.owner != owner) {
    owned.owner = owner;
    owned.presence = owners_.Track(sample.device, Printable(owner));
  }
  owners_.See(owned.presence, sample.time);
}

// Whether a row is older than its device's latest by more than the hold time. Less is jitter, which the classifier
// handles.
bool ColumnRows::IsBack(const Track& track, Instant time) {
  return Between(time.nanos(), track.latest.nanos()) > track.hold;
}

// Whether the rows of each device are in time order. A clock without a zone may be set back once. Rows that go back
// more often are grouped by something else, such as a signal. Tables whose rows may be copies for other owners are
// not in order, and neither are rows of one time that complete one another, which must be joined. Sets tracks_ if
// they are in order.
bool ColumnRows::IsInOrder(std::span<const Sample> rows) {
  std::map<DeviceId, FirstRows> devices;
  for (const Sample& row : rows) {
    const std::int64_t time = row.time.nanos();
    FirstRows& known = devices[row.device];
    if (!known.times.empty() && time < known.latest) {
      if (!local_ || !owned_.empty() || known.set_back || !WasSetBack(known, time)) return false;
      known.set_back = true;
    } else if (!known.times.empty() && time == known.latest) {
      if ((row.present & ~known.said) != 0) return false;
      continue;
    } else if (!known.set_back) {
      if (!known.times.empty()) known.intervals.push_back(Between(known.latest, time));
      known.times.push_back(time);
    }
    known.latest = time;
    known.said = row.present;
  }
  for (auto& [device, known] : devices) {
    if (device >= tracks_.size()) tracks_.resize(device + 1);
    tracks_[device] = {Instant::FromNanos(known.latest), known.Hold()};
  }
  return true;
}

// For a table without a GPU column: what suggests several GPUs on one host, for people; empty if nothing does. Rows
// that complete one another are one reading. If rows are not in order, those of another GPU may follow all rows of the
// first.
// Known limit: GPUs whose rows alternate evenly and have only utilization or power look like one GPU that works and
// rests (FindTurns).
std::string ColumnRows::WhyNotOneGpu(std::span<const Sample> rows, bool in_order) const {
  std::map<DeviceId, std::vector<Sample>> hosts;
  for (const Sample& row : rows) {
    std::vector<Sample>& alike = hosts[row.device];
    if (alike.empty() || row.present == alike.front().present) alike.push_back(row);
  }
  for (auto& [device, alike] : hosts) {
    const auto earlier = [](const Sample& a, const Sample& b) { return a.time < b.time; };
    if (!in_order) std::stable_sort(alike.begin(), alike.end(), earlier);
    std::size_t shared = 0;
    for (std::size_t i = 1; i < alike.size(); ++i) {
      if (alike[i].time == alike[i - 1].time) ++shared;
    }
    // Rows of one GPU seldom share a time; a few do where stamps are coarse.
    if (shared * 10 > alike.size() * 3) return "most rows share their time with others";
    const int gpus = FindSweeps(alike).gpus;
    if (gpus >= 2) return "its rows come in sweeps of " + std::to_string(gpus);
    const Turns turns = FindTurns(alike);
    if (turns.gpus == 0) continue;
    const auto column = std::find_if(columns_.begin(), columns_.end(), [&](const BoundColumn& c) {
      return c.role->kind == ColumnKind::kSignal && c.role->signal == turns.signal;
    });
    return Describe(turns, column == columns_.end() ? Info(turns.signal).name : Printable(column->name));
  }
  return {};
}

// For such a table: the models that rows of one host name, if there are several; else empty.
std::string ColumnRows::SeveralModels() const {
  std::map<std::string, std::string> first;  // by host
  for (const Named& named : named_) {
    std::string model;
    std::string host;
    for (std::size_t i = 0; i < identity_.size(); ++i) {
      const std::string_view text = Trim(named.cells[i]);
      if (!WhyUnavailable(text)) (identity_[i].role->kind == ColumnKind::kName ? model : host) = Printable(text);
    }
    if (model.empty()) continue;
    const std::string& known = first.try_emplace(host, model).first->second;
    if (known != model) return "the rows name several models, " + known + " and " + model;
  }
  return {};
}

// Delivers the batch. The first batch decides whether the table is sorted, and is 64 times as large as the later
// ones.
void ColumnRows::Flush() {
  const std::span<const Sample> samples(batch_.data(), used_);
  // The first rows decide for the whole table.
  if (rows_ == 0) {
    // MIG instances repeat their board's readings; the sorter takes each once.
    const bool mig = std::any_of(identity_.begin(), identity_.end(),
                                 [](const BoundColumn& column) { return column.role->kind == ColumnKind::kMig; });
    const bool in_order = !mig && IsInOrder(samples);
    if (!SaysWhich() && said_gpus_ != 1) {
      several_ = said_gpus_ ? "--gpus works only for logs of nvidia-smi" : WhyNotOneGpu(samples, in_order);
    }
    if (!in_order) sorter_ = std::make_unique<TimeSorter>(out_.devices, out_.quality);
    limit_ = kBatchSamples;
  }
  for (const Sample& sample : samples) SeeOnHost(sample.device, sample.time);
  rows_ += static_cast<std::int64_t>(used_);
  used_ = 0;
  (sorter_ ? *sorter_ : out_.sink).OnSamples(samples);
}

// The fast path of Parquet. The first rows take the slow path, because Flush judges samples.
void ColumnRows::Add(const SampleColumns& columns, std::int64_t line) {
  if (rows_ == 0) {  // the first rows decide about order
    for (std::size_t row = 0; row < columns.rows; ++row) {
      columns.Get(row, Begin(columns.times[row], columns.devices[row], line + static_cast<std::int64_t>(row)));
    }
    return;
  }
  if (used_ > 0) Flush();
  for (std::size_t row = 0; row < columns.rows && follows(); ++row) {
    Follow(columns.times[row], columns.devices[row], line + static_cast<std::int64_t>(row));
  }
  for (std::size_t row = 0; row < columns.rows && !stays_.empty(); ++row) {
    SeeOnHost(columns.devices[row], columns.times[row]);
  }
  rows_ += static_cast<std::int64_t>(columns.rows);
  (sorter_ ? *sorter_ : out_.sink).OnColumns(columns);
}

Result<void> ColumnRows::Finish() {
  if (used_ > 0) Flush();
  if (several_.empty() && !SaysWhich() && !said_gpus_) several_ = SeveralModels();
  if (!several_.empty()) {
    return Fail(file_ + ": no column names the GPU of a row, and " + several_ +
                "; name the column with --columns gpu=NAME, or pass `--gpus 1` if all rows come from one GPU");
  }
  if (line_back_ > 0) {
    return Fail(
        file_ + ":" + std::to_string(line_back_) +
        ": rows are not in order of time: this row is older than an earlier row of its GPU; sort the table by time");
  }
  owners_.Deliver(out_.owners, out_.quality);
  if (sorter_) TRY(sorter_->Deliver(out_.sink));
  if (rows_ > 0) return {};
  const DataQuality::Row& bad = out_.quality.Get(QualityId::kBadRow);
  const std::string first = bad.first_place.empty() ? "" : " (first unreadable row: " + bad.first_place + ")";
  return Fail(file_ + ": no row has a time and a GPU in the chosen columns" + first +
              "; check --columns (write a time as an epoch or like 2026-07-03T22:22:01)");
}

}  // namespace idleburn
