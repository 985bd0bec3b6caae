// How a batch of records becomes the payload of a frame, and back. Encoder and decoder share this header
// because they must agree on every byte; docs/recording-format.md describes the format.

#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "telemetry/byte_coding.h"
#include "telemetry/device.h"
#include "telemetry/live_sink.h"
#include "telemetry/recording.h"

namespace idleburn {

// The kinds of records, one for each function of LiveSink that a recording keeps.
enum class RecordKind : std::uint8_t { kSample, kHost, kWork, kNote, kFact };

// Records of a live stream in the order of their arrival. `order` says which vector the next record is in.
// RecordingWriter collects a second or a minute of them before they are encoded.
struct RecordBatch {
  std::vector<RecordKind> order;
  std::vector<Sample> samples;
  std::vector<HostSample> hosts;
  std::vector<WorkMark> marks;
  std::vector<Note> notes;
  std::vector<RunFact> facts;

  void Add(const Sample& sample) {
    samples.push_back(sample);
    order.push_back(RecordKind::kSample);
  }
  void Add(const HostSample& sample) {
    hosts.push_back(sample);
    order.push_back(RecordKind::kHost);
  }
  void Add(const WorkMark& mark) {
    marks.push_back(mark);
    order.push_back(RecordKind::kWork);
  }
  void Add(const Note& note) {
    notes.push_back(note);
    order.push_back(RecordKind::kNote);
  }
  void Add(const RunFact& fact) {
    facts.push_back(fact);
    order.push_back(RecordKind::kFact);
  }
  void Append(const RecordBatch& later) {
    order.insert(order.end(), later.order.begin(), later.order.end());
    samples.insert(samples.end(), later.samples.begin(), later.samples.end());
    hosts.insert(hosts.end(), later.hosts.begin(), later.hosts.end());
    marks.insert(marks.end(), later.marks.begin(), later.marks.end());
    notes.insert(notes.end(), later.notes.begin(), later.notes.end());
    facts.insert(facts.end(), later.facts.begin(), later.facts.end());
  }
  void Clear() {
    order.clear();
    samples.clear();
    hosts.clear();
    marks.clear();
    notes.clear();
    facts.clear();
  }
  [[nodiscard]] bool empty() const { return order.empty(); }
  [[nodiscard]] std::size_t size() const { return order.size(); }
};

// Every field of every device of a table, for ChunkEncoder. The table has at most kMostDevices devices.
std::string EncodeDevices(const DeviceTable& devices);
inline constexpr std::size_t kMostDevices = 16384;

// Turns records into the payload of a frame: one column for each quantity, with the devices of a node side by
// side.
class ChunkEncoder {
 public:
  // `devices` is the result of EncodeDevices, or empty if unchanged since the previous frame. The batch has at
  // most kMostRecords records.
  std::string Encode(std::uint64_t number, const RecordBatch& batch, std::string_view devices, CodingEffort effort);

 private:
  // The rows of one device or one host scope, as positions in the batch.
  struct Stream {
    std::uint32_t id = 0;
    std::vector<std::uint32_t> rows;
  };
  template <typename Row>
  void PutRows(const std::vector<Row>& rows, const std::vector<Stream>& streams, std::string& out);
  template <typename Row>
  void PutTimes(const std::vector<Row>& rows, const std::vector<Stream>& streams, std::string& out);
  template <typename Row, typename Read>
  void PutColumn(const std::vector<Row>& rows, const std::vector<Stream>& streams, std::uint32_t signal, Read read,
                 std::string& out);

  ColumnEncoder columns_;
  CodingEffort effort_ = CodingEffort::kSmallest;
  std::vector<std::int64_t> column_;
};

// Turns payloads of frames back into records. It trusts no size in a payload before it checked it against a limit of
// the format, because a payload may be damaged or made up.
class ChunkDecoder {
 public:
  // `names` come from the file's header. Devices are entered in `devices`, and samples carry their numbers
  // there. All references outlive the decoder.
  ChunkDecoder(const RecordingNames& names, DeviceTable& devices, LiveSink& sink);

  // The number of the chunk that a payload belongs to; absent if the payload is damaged.
  static std::optional<std::uint64_t> NumberOf(std::string_view payload);
  // Delivers all records of a payload in order. Returns false, and delivers nothing, if the payload is damaged.
  // Skips records of kinds that this program does not know.
  bool Decode(std::string_view payload);

  // Records read so far, known or unknown.
  [[nodiscard]] std::uint64_t records() const { return records_; }

 private:
  static constexpr std::size_t kMostSignals = 32;

  // The rows of one device or host scope, within the columns of its kind.
  struct Stream {
    bool host = false;
    // Our number; absent for a scope that this program does not know.
    std::optional<std::uint32_t> id;
    std::size_t rows = 0;
    std::size_t next = 0;                                   // the next row to deliver
    std::array<const std::int64_t*, kMostSignals> value{};  // the next value of each signal
  };
  // The columns of all samples, or of all host samples.
  struct Rows {
    std::vector<std::int64_t> time;
    std::vector<std::int64_t> present;
    std::vector<std::int64_t> unavailable;
    std::vector<std::int64_t> reason;
    std::array<std::vector<std::int64_t>, kMostSignals> values;
    // Signals of samples that every row has. Their values are at the row's own index.
    struct Whole {
      std::uint8_t signal = 0;  // our number
      const std::int64_t* value = nullptr;
    };
    std::vector<Whole> whole;
    std::uint32_t whole_mask = 0;  // by the file's numbers
  };

  // Each reads one part of a payload, and returns false if it is damaged.
  bool TakeMeta(ByteCursor in);
  bool TakeDevices(ByteCursor& in);
  bool TakeStreams(ByteCursor& in);
  bool TakeOrder(ByteCursor& in, std::size_t* others);
  bool TakeMarks(ByteCursor& in, std::size_t count);
  bool TakeNotes(ByteCursor& in, std::size_t count);
  bool TakeFacts(ByteCursor& in, std::size_t count);
  bool TakeRows(ByteCursor& in, bool host, Rows& rows);
  bool TakeTimes(ByteCursor& in, bool host, Rows& rows);
  // Points the streams at their parts of a signal's column. The column has a value for some rows or for all.
  void Point(bool host, Rows& rows, std::uint32_t signal, bool all);
  void Deliver();
  void DeliverSample(Stream& stream);
  void DeliverHost(Stream& stream);
  void Flush();

  const RecordingNames& names_;
  DeviceTable& devices_;
  LiveSink& sink_;
  bool ours_;  // the file numbers signals like this program
  ColumnDecoder columns_;
  std::vector<DeviceId> device_;  // our numbers, by the file's numbers
  std::vector<Stream> streams_;
  std::vector<std::uint32_t> order_;  // streams, then marks, notes, facts
  std::vector<WorkMark> marks_;
  std::vector<std::optional<Note>> notes_;  // absent: a kind that this program does not know
  std::vector<RunFact> facts_;
  Rows samples_;
  Rows hosts_;
  std::vector<Sample> batch_;
  std::vector<std::size_t> batch_row_;  // the row of each in the columns
  std::size_t batched_ = 0;
  std::uint64_t records_ = 0;
};

}  // namespace idleburn
