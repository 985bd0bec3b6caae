#include "telemetry/chunk_codec.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <type_traits>

#include "base/result.h"
#include "telemetry/byte_coding.h"
#include "telemetry/recording.h"

namespace idleburn {
namespace {

// Instead of a signal: a column that every row has.
constexpr std::uint32_t kAllRows = ~std::uint32_t{0};

// Writes which stream each record belongs to. Devices are read in turns, so it stores only exceptions from the rule
// that each stream is followed by the same stream as the last time. A steady recording then costs a few bytes for its
// order.
class OrderWriter {
 public:
  OrderWriter(std::size_t streams, std::string& out) : followed_by_(streams), out_(out) {
    for (std::size_t i = 0; i < streams; ++i) followed_by_[i] = static_cast<std::uint32_t>((i + 1) % streams);
    before_ = static_cast<std::uint32_t>(streams - 1);
  }
  void Put(std::uint32_t stream) {
    if (followed_by_[before_] == stream) {
      ++hits_;
    } else {
      PutVarint(out_, hits_);
      PutVarint(out_, stream);
      hits_ = 0;
      followed_by_[before_] = stream;
    }
    before_ = stream;
  }
  void Finish() { PutVarint(out_, hits_); }

 private:
  std::vector<std::uint32_t> followed_by_;
  std::string& out_;
  std::uint32_t before_ = 0;
  std::uint64_t hits_ = 0;
};

// Marks, notes and facts are rare, so they are stored row by row.
void PutMarks(const std::vector<WorkMark>& marks, std::string& out) {
  PutVarint(out, marks.size());
  for (const WorkMark& mark : marks) {
    PutSigned(out, mark.time.nanos());
    PutSigned(out, mark.rank);
    std::uint64_t present = 0;
    for (unsigned u = 0; u < kMarkUnits; ++u) present |= std::uint64_t{mark.done.of[u].has_value()} << u;
    PutVarint(out, present);
    for (unsigned u = 0; u < kMarkUnits; ++u) {
      if (mark.done.of[u]) PutSigned(out, *mark.done.of[u]);
    }
  }
}

void PutNotes(const std::vector<Note>& notes, std::string& out) {
  PutVarint(out, notes.size());
  for (const Note& note : notes) {
    PutSigned(out, note.time.nanos());
    PutVarint(out, static_cast<std::uint64_t>(note.kind));
    PutText(out, note.text);
  }
}

void PutFacts(const std::vector<RunFact>& facts, std::string& out) {
  PutVarint(out, facts.size());
  for (const RunFact& fact : facts) {
    PutText(out, fact.key);
    PutText(out, fact.value);
  }
}

// The stream that a row belongs to within its kind.
std::uint32_t StreamId(const Sample& sample) { return sample.device; }
std::uint32_t StreamId(const HostSample& sample) { return static_cast<std::uint32_t>(sample.scope); }

}  // namespace

std::string EncodeDevices(const DeviceTable& devices) {
  CHECK(devices.size() <= kMostDevices);
  std::string out;
  PutVarint(out, devices.size());
  for (DeviceId id = 0; id < devices.size(); ++id) {
    const Device& device = devices[id];
    PutText(out, device.uuid);
    PutText(out, device.bus_id);
    PutVarint(out, device.index ? 1 : 0);
    if (device.index) PutSigned(out, *device.index);
    PutText(out, device.host);
    PutText(out, device.name);
    PutVarint(out, device.mig ? 1 : 0);
    if (device.mig) {
      PutText(out, device.mig->id);
      PutText(out, device.mig->profile);
      PutSigned(out, device.mig->slices);
    }
    // Only named counters are stored: most devices have a dozen of them.
    std::uint64_t named = 0;
    for (const std::string& counter : device.counter) named += std::uint64_t{!counter.empty()};
    PutVarint(out, named);
    for (std::size_t i = 0; i < kSignalCount; ++i) {
      if (device.counter[i].empty()) continue;
      PutVarint(out, i);
      PutText(out, device.counter[i]);
    }
  }
  return out;
}

// Appends a column of what `read` returns, for the rows that have `signal` or for all rows.
template <typename Row, typename Read>
void ChunkEncoder::PutColumn(const std::vector<Row>& rows, const std::vector<Stream>& streams, std::uint32_t signal,
                             Read read, std::string& out) {
  column_.clear();
  for (const Stream& stream : streams) {
    for (const std::uint32_t at : stream.rows) {
      const Row& row = rows[at];
      if (signal == kAllRows || (row.present >> signal & 1) != 0) column_.push_back(read(row));
    }
  }
  columns_.Encode(column_, effort_, out);
}

// Appends the times, either as they are or as distances to the previous device's row. Devices are usually read
// at the same ticks, so the distances are mostly equal.
template <typename Row>
void ChunkEncoder::PutTimes(const std::vector<Row>& rows, const std::vector<Stream>& streams, std::string& out) {
  std::string apart(1, '\0');
  PutColumn(
      rows, streams, kAllRows, [](const Row& row) { return row.time.nanos(); }, apart);
  std::string beside(1, '\1');
  const std::vector<std::int64_t> times = column_;
  std::size_t before = 0;
  std::size_t from = 0;
  for (const Stream& stream : streams) {
    for (std::size_t i = 0; from > 0 && before == stream.rows.size() && i < before; ++i) {
      const auto distance =
          static_cast<std::uint64_t>(times[from + i]) - static_cast<std::uint64_t>(times[from + i - before]);
      column_[from + i] = static_cast<std::int64_t>(distance);
    }
    before = stream.rows.size();
    from += before;
  }
  columns_.Encode(column_, effort_, beside);
  out += beside.size() < apart.size() ? beside : apart;
}

template <typename Row>
void ChunkEncoder::PutRows(const std::vector<Row>& rows, const std::vector<Stream>& streams, std::string& out) {
  if (rows.empty()) return;
  PutTimes(rows, streams, out);
  PutColumn(
      rows, streams, kAllRows, [](const Row& row) { return std::int64_t{row.present}; }, out);
  PutColumn(
      rows, streams, kAllRows, [](const Row& row) { return std::int64_t{row.unavailable}; }, out);
  if constexpr (std::is_same_v<Row, Sample>) {
    const auto reason = [](const Sample& row) { return static_cast<std::int64_t>(row.reason); };
    PutColumn(rows, streams, kAllRows, reason, out);
  }
  std::uint32_t present = 0;
  for (const Row& row : rows) present |= row.present;
  for (std::uint32_t s = 0; s < std::tuple_size_v<decltype(Row::value)>; ++s) {
    if ((present >> s & 1) == 0) continue;
    PutColumn(
        rows, streams, s, [s](const Row& row) { return row.value[s]; }, out);
  }
}

// A payload is the chunk's number, the metadata (devices, streams, order, rare records), then the columns of
// the samples and of the host samples.
std::string ChunkEncoder::Encode(std::uint64_t number, const RecordBatch& batch, std::string_view devices,
                                 CodingEffort effort) {
  CHECK(batch.size() <= kMostRecords);
  effort_ = effort;
  // Sorted by number, so that the same records always give the same bytes.
  std::map<std::uint32_t, Stream> by_device;
  std::map<std::uint32_t, Stream> by_scope;
  const auto divide = [](const auto& rows, std::map<std::uint32_t, Stream>& streams) {
    for (std::uint32_t i = 0; i < rows.size(); ++i) streams[StreamId(rows[i])].rows.push_back(i);
  };
  divide(batch.samples, by_device);
  divide(batch.hosts, by_scope);

  std::string meta;
  PutVarint(meta, devices.empty() ? 0 : 1);
  meta += devices;
  std::vector<Stream> samples;
  std::vector<Stream> hosts;
  PutVarint(meta, by_device.size() + by_scope.size());
  std::map<std::pair<bool, std::uint32_t>, std::uint32_t> place;
  const auto list = [&](std::map<std::uint32_t, Stream>& streams, bool host, std::vector<Stream>& listed) {
    for (auto& [id, stream] : streams) {
      place.emplace(std::pair(host, id), static_cast<std::uint32_t>(place.size()));
      PutVarint(meta, std::uint64_t{id} * 2 + (host ? 1 : 0));
      PutVarint(meta, stream.rows.size());
      listed.push_back(std::move(stream));
    }
  };
  list(by_device, false, samples);
  list(by_scope, true, hosts);

  const auto streams = static_cast<std::uint32_t>(place.size());
  PutVarint(meta, batch.size());
  // The three extra streams are marks, notes and facts.
  OrderWriter order(streams + 3, meta);
  std::size_t sample = 0;
  std::size_t host = 0;
  for (const RecordKind kind : batch.order) {
    switch (kind) {
      case RecordKind::kSample:
        order.Put(place.at({false, batch.samples[sample++].device}));
        break;
      case RecordKind::kHost:
        order.Put(place.at({true, StreamId(batch.hosts[host++])}));
        break;
      case RecordKind::kWork:
        order.Put(streams);
        break;
      case RecordKind::kNote:
        order.Put(streams + 1);
        break;
      case RecordKind::kFact:
        order.Put(streams + 2);
        break;
    }
  }
  order.Finish();
  PutMarks(batch.marks, meta);
  PutNotes(batch.notes, meta);
  PutFacts(batch.facts, meta);

  std::string out;
  PutVarint(out, number);
  columns_.EncodeBytes(meta, effort, out);
  PutRows(batch.samples, samples, out);
  PutRows(batch.hosts, hosts, out);
  return out;
}

namespace {

// How many samples are delivered in one call at most.
constexpr std::size_t kBatch = 128;
constexpr std::size_t kOtherKinds = 3;  // marks, notes and facts, which have no columns

// Translates the file's signal bits to ours, without those that this program does not know.
std::uint32_t Known(std::uint32_t mask, const RecordingNames::Numbers& numbers) {
  std::uint32_t known = 0;
  for (; mask != 0; mask &= mask - 1) {
    const std::optional<std::uint8_t> number = numbers[static_cast<std::size_t>(__builtin_ctz(mask))];
    if (number) known |= std::uint32_t{1} << *number;
  }
  return known;
}

// The bits that some masks of a column have, and those that all have.
struct Bits {
  std::int64_t some = 0;
  std::int64_t all = -1;
};

Bits CombineMasks(const std::vector<std::int64_t>& column) {
  Bits bits;
  for (const std::int64_t mask : column) {
    bits.some |= mask;
    bits.all &= mask;
  }
  return bits;
}

// Whether all bits of `mask` have a name.
bool AreNamed(std::int64_t mask, const RecordingNames::Numbers& numbers) { return mask >> numbers.size() == 0; }

// Whether the file numbers its names like this program. Masks then need no translation.
bool AreOurs(const RecordingNames::Numbers& numbers) {
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (numbers[i] != i) return false;
  }
  return true;
}

}  // namespace

ChunkDecoder::ChunkDecoder(const RecordingNames& names, DeviceTable& devices, LiveSink& sink)
    : names_(names),
      devices_(devices),
      sink_(sink),
      ours_(AreOurs(names.signals)),
      batch_(kBatch),
      batch_row_(kBatch) {}

std::optional<std::uint64_t> ChunkDecoder::NumberOf(std::string_view payload) {
  ByteCursor cursor(payload);
  const std::uint64_t number = cursor.Varint();
  return cursor.good() ? std::optional(number) : std::nullopt;
}

// Takes the whole payload first, and delivers only if all of it is intact. A sink cannot give back half a payload.
bool ChunkDecoder::Decode(std::string_view payload) {
  ByteCursor cursor(payload);
  cursor.Varint();
  std::string_view meta;
  if (!columns_.DecodeBytes(cursor, kMostPayload, &meta)) return false;
  // The columns are unpacked into the same memory, so the metadata is consumed first.
  if (!TakeMeta(ByteCursor(meta))) return false;
  if (!TakeRows(cursor, false, samples_) || !TakeRows(cursor, true, hosts_) || !cursor.empty()) return false;
  Deliver();
  records_ += order_.size();
  return true;
}

// Devices, streams, order and rare records, in the order in which ChunkEncoder writes them.
bool ChunkDecoder::TakeMeta(ByteCursor in) {
  const std::uint64_t with_devices = in.Count(1);
  if (!in.good() || (with_devices == 1 && !TakeDevices(in))) return false;
  std::size_t others[kOtherKinds] = {};
  return TakeStreams(in) && TakeOrder(in, others) && TakeMarks(in, others[0]) && TakeNotes(in, others[1]) &&
         TakeFacts(in, others[2]) && in.good() && in.empty();
}

// Enters every device of the file in our table, which may number them differently.
bool ChunkDecoder::TakeDevices(ByteCursor& in) {
  const std::uint64_t count = in.Count(kMostDevices);
  std::vector<DeviceId> device;
  for (std::uint64_t i = 0; i < count && in.good(); ++i) {
    DeviceKey key;
    key.uuid = in.Text();
    key.bus_id = in.Text();
    if (in.Count(1) == 1) key.index = static_cast<int>(in.Signed());
    key.host = in.Text();
    key.name = in.Text();
    if (in.Count(1) == 1) {
      key.mig.emplace();
      key.mig->id = in.Text();
      key.mig->profile = in.Text();
      key.mig->slices = static_cast<int>(in.Signed());
    }
    std::vector<std::pair<Signal, std::string_view>> counters;
    for (std::uint64_t named = in.Count(kMostSignals); named > 0; --named) {
      const std::uint64_t signal = in.Varint();
      const std::string_view counter = in.Text();
      // A number without a name means damage. A name that is unknown here is skipped.
      if (signal >= names_.signals.size()) return false;
      if (names_.signals[signal]) counters.emplace_back(static_cast<Signal>(*names_.signals[signal]), counter);
    }
    if (!in.good()) return false;
    device.push_back(devices_.Enter(key));
    for (const auto& [signal, counter] : counters) devices_.NameCounter(device.back(), signal, counter);
  }
  device_ = std::move(device);
  return in.good();
}

// An id is twice the device's or scope's number, plus one for a scope.
bool ChunkDecoder::TakeStreams(ByteCursor& in) {
  streams_.clear();
  std::size_t rows = 0;
  for (std::uint64_t count = in.Count(kMostRecords); count > 0; --count) {
    Stream stream;
    const std::uint64_t id = in.Varint();
    stream.host = id % 2 == 1;
    stream.rows = static_cast<std::size_t>(in.Count(kMostRecords));
    rows += stream.rows;
    const std::size_t ids = stream.host ? names_.host_scopes.size() : device_.size();
    // Checks everything against limits before memory is allocated for it.
    if (!in.good() || id / 2 >= ids || stream.rows == 0 || rows > kMostRecords) return false;
    const auto at = static_cast<std::size_t>(id / 2);
    if (!stream.host) {
      stream.id = device_[at];
    } else if (names_.host_scopes[at]) {
      stream.id = *names_.host_scopes[at];
    }
    streams_.push_back(stream);
  }
  return in.good();
}

// Reverses OrderWriter: a number of hits of the rule, then an exception, until all records are placed. The
// counts must match the rows that each stream announces.
bool ChunkDecoder::TakeOrder(ByteCursor& in, std::size_t* others) {
  const auto count = static_cast<std::size_t>(in.Count(kMostRecords));
  const std::size_t slots = streams_.size() + kOtherKinds;
  std::vector<std::uint32_t> followed_by(slots);
  for (std::size_t i = 0; i < slots; ++i) followed_by[i] = static_cast<std::uint32_t>((i + 1) % slots);
  // Both sides start from the same assumption: streams follow each other in rotation.
  auto slot = static_cast<std::uint32_t>(slots - 1);
  order_.clear();
  order_.reserve(count);
  while (in.good()) {
    for (std::uint64_t hits = in.Count(count - order_.size()); hits > 0; --hits) {
      slot = followed_by[slot];
      order_.push_back(slot);
    }
    if (!in.good() || order_.size() == count) break;
    const auto next = static_cast<std::uint32_t>(in.Count(slots - 1));
    followed_by[slot] = next;
    slot = next;
    order_.push_back(slot);
  }
  std::vector<std::size_t> rows(slots);
  for (const std::uint32_t s : order_) ++rows[s];
  for (std::size_t i = 0; i < streams_.size(); ++i) {
    if (rows[i] != streams_[i].rows) return false;
  }
  std::copy(rows.end() - kOtherKinds, rows.end(), others);
  return in.good();
}

// Reads the rare records, which have no columns. `count` is what the order announced, and the list must agree.
bool ChunkDecoder::TakeMarks(ByteCursor& in, std::size_t count) {
  marks_.clear();
  if (in.Varint() != count) return false;
  for (std::size_t i = 0; i < count && in.good(); ++i) {
    WorkMark& mark = marks_.emplace_back();
    mark.time = Instant::FromNanos(in.Signed());
    mark.rank = static_cast<std::int32_t>(in.Signed());
    const std::uint64_t present = in.Count((1U << kMarkUnits) - 1);
    for (unsigned u = 0; u < kMarkUnits; ++u) {
      if ((present >> u & 1) != 0) mark.done.of[u] = in.Signed();
    }
  }
  return in.good();
}

bool ChunkDecoder::TakeNotes(ByteCursor& in, std::size_t count) {
  notes_.clear();
  if (in.Varint() != count) return false;
  for (std::size_t i = 0; i < count && in.good(); ++i) {
    Note note;
    note.time = Instant::FromNanos(in.Signed());
    const std::uint64_t kind = in.Varint();
    note.text = in.Text();
    if (kind >= names_.note_kinds.size()) return false;
    const std::optional<std::uint8_t> known = names_.note_kinds[static_cast<std::size_t>(kind)];
    notes_.emplace_back();
    if (!known) continue;
    note.kind = static_cast<NoteKind>(*known);
    notes_.back() = std::move(note);
  }
  return in.good();
}

bool ChunkDecoder::TakeFacts(ByteCursor& in, std::size_t count) {
  facts_.clear();
  if (in.Varint() != count) return false;
  for (std::size_t i = 0; i < count && in.good(); ++i) {
    RunFact& fact = facts_.emplace_back();
    fact.key = in.Text();
    fact.value = in.Text();
  }
  return in.good();
}

// Times are stored as they are, or as distances to the previous device's row.
bool ChunkDecoder::TakeTimes(ByteCursor& in, bool host, Rows& rows) {
  const auto beside = in.Fixed<std::uint8_t>();
  if (beside > 1 || !columns_.Decode(in, rows.time)) return false;
  if (beside == 0) return true;
  std::size_t before = 0;
  std::size_t from = 0;
  for (const Stream& stream : streams_) {
    if (stream.host != host) continue;
    for (std::size_t i = 0; from > 0 && before == stream.rows && i < before; ++i) {
      const auto time =
          static_cast<std::uint64_t>(rows.time[from + i]) + static_cast<std::uint64_t>(rows.time[from + i - before]);
      rows.time[from + i] = static_cast<std::int64_t>(time);
    }
    before = stream.rows;
    from += before;
  }
  return true;
}

// The values of a column are those of the first stream, then those of the second, and so on.
void ChunkDecoder::Point(bool host, Rows& rows, std::uint32_t signal, bool all) {
  const std::int64_t* value = rows.values[signal].data();
  for (Stream& stream : streams_) {
    if (stream.host != host) continue;
    stream.value[signal] = value;
    const auto first = rows.present.begin() + static_cast<std::ptrdiff_t>(stream.next);
    const auto last = first + static_cast<std::ptrdiff_t>(stream.rows);
    value +=
        all ? last - first : std::count_if(first, last, [&](std::int64_t mask) { return (mask >> signal & 1) != 0; });
  }
}

// Takes the columns of all samples or host samples. A signal that all samples have is read by row number; any
// other needs a cursor for each stream.
bool ChunkDecoder::TakeRows(ByteCursor& in, bool host, Rows& rows) {
  std::size_t count = 0;
  for (Stream& stream : streams_) {
    if (stream.host != host) continue;
    stream.next = count;
    count += stream.rows;
  }
  rows.whole.clear();
  rows.whole_mask = 0;
  if (count == 0) return true;
  for (std::vector<std::int64_t>* column : {&rows.time, &rows.present, &rows.unavailable}) column->resize(count);
  if (!TakeTimes(in, host, rows) || !columns_.Decode(in, rows.present) || !columns_.Decode(in, rows.unavailable)) {
    return false;
  }
  const RecordingNames::Numbers& names = host ? names_.host_signals : names_.signals;
  const Bits present = CombineMasks(rows.present);
  if (!AreNamed(present.some, names) || !AreNamed(CombineMasks(rows.unavailable).some, names)) return false;
  if (!host) {
    rows.reason.resize(count);
    if (!columns_.Decode(in, rows.reason)) return false;
    const auto reasons = static_cast<std::int64_t>(names_.reasons.size());
    const auto unnamed = [&](std::int64_t reason) { return reason < 0 || reason >= reasons; };
    if (std::any_of(rows.reason.begin(), rows.reason.end(), unnamed)) return false;
  }
  for (std::uint32_t s = 0; s < names.size(); ++s) {
    if ((present.some >> s & 1) == 0) continue;
    const bool all = (present.all >> s & 1) != 0;
    const auto has = [&](std::int64_t mask) { return (mask >> s & 1) != 0; };
    const auto values =
        all ? static_cast<std::ptrdiff_t>(count) : std::count_if(rows.present.begin(), rows.present.end(), has);
    rows.values[s].resize(static_cast<std::size_t>(values));
    if (!columns_.Decode(in, rows.values[s])) return false;
    if (host || !all) {
      Point(host, rows, s, all);
      continue;
    }
    rows.whole_mask |= std::uint32_t{1} << s;
    if (names[s]) rows.whole.push_back({*names[s], rows.values[s].data()});
  }
  return true;
}

// Delivers the records in their original order. Samples are batched, and a batch ends before a record of
// another kind.
void ChunkDecoder::Deliver() {
  std::size_t mark = 0;
  std::size_t note = 0;
  std::size_t fact = 0;
  for (const std::uint32_t slot : order_) {
    if (slot < streams_.size() && !streams_[slot].host) {
      DeliverSample(streams_[slot]);
      continue;
    }
    // Records of other kinds must not overtake the samples before them.
    Flush();
    if (slot < streams_.size()) {
      DeliverHost(streams_[slot]);
    } else if (slot == streams_.size()) {
      sink_.OnWork(marks_[mark++]);
    } else if (slot == streams_.size() + 1) {
      if (notes_[note]) sink_.OnNote(*notes_[note]);
      ++note;
    } else {
      sink_.OnFact(facts_[fact++]);
    }
  }
  Flush();
}

// Adds the stream's next row to the batch. Signals that every row has are filled in by Flush, column by column, which
// is faster.
void ChunkDecoder::DeliverSample(Stream& stream) {
  if (batched_ == batch_.size()) Flush();
  const std::size_t row = stream.next++;
  batch_row_[batched_] = row;
  Sample& sample = batch_[batched_++];
  const auto present = static_cast<std::uint32_t>(samples_.present[row]);
  const auto unavailable = static_cast<std::uint32_t>(samples_.unavailable[row]);
  sample.time = Instant::FromNanos(samples_.time[row]);
  sample.device = *stream.id;
  const std::optional<std::uint8_t> reason = names_.reasons[static_cast<std::size_t>(samples_.reason[row])];
  sample.reason = reason ? static_cast<Unobserved>(*reason) : Unobserved::kSentinel;
  sample.present = ours_ ? present : Known(present, names_.signals);
  sample.unavailable = ours_ ? unavailable : Known(unavailable, names_.signals);
  for (std::uint32_t rest = present & ~samples_.whole_mask; rest != 0; rest &= rest - 1) {
    const auto s = static_cast<std::size_t>(__builtin_ctz(rest));
    const std::int64_t value = *stream.value[s]++;
    if (names_.signals[s]) sample.value[*names_.signals[s]] = value;
  }
}

// Host samples are few, so each is delivered alone. A row of an unknown scope is read, to move on, and dropped.
void ChunkDecoder::DeliverHost(Stream& stream) {
  HostSample sample;
  const std::size_t row = stream.next++;
  sample.time = Instant::FromNanos(hosts_.time[row]);
  for (auto rest = static_cast<std::uint32_t>(hosts_.present[row]); rest != 0; rest &= rest - 1) {
    const auto s = static_cast<std::size_t>(__builtin_ctz(rest));
    const std::int64_t value = *stream.value[s]++;
    if (names_.host_signals[s]) sample.Set(static_cast<HostSignal>(*names_.host_signals[s]), value);
  }
  sample.unavailable = Known(static_cast<std::uint32_t>(hosts_.unavailable[row]), names_.host_signals);
  if (!stream.id) return;
  sample.scope = static_cast<HostScope>(*stream.id);
  sink_.OnHost({&sample, 1});
}

// Fills in the signals that all rows have, one column at a time, and delivers the batch.
void ChunkDecoder::Flush() {
  for (const Rows::Whole& column : samples_.whole) {
    for (std::size_t i = 0; i < batched_; ++i) batch_[i].value[column.signal] = column.value[batch_row_[i]];
  }
  if (batched_ > 0) sink_.OnSamples({batch_.data(), batched_});
  batched_ = 0;
}

}  // namespace idleburn
