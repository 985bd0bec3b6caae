#include <array>
#include <map>
#include <optional>
#include <type_traits>

#include "base/check.h"
#include "telemetry/byte_coding.h"
#include "telemetry/chunk_codec.h"
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

}  // namespace idleburn
