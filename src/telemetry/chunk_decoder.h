#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "telemetry/column_codec.h"
#include "telemetry/device.h"
#include "telemetry/live_sink.h"
#include "telemetry/recording_format.h"

namespace idleburn {

// Turns payloads of frames back into records.
class ChunkDecoder {
 public:
  // `names`: of the file's header. Devices are entered in `devices`; samples come with their numbers there. All
  // references outlive the decoder.
  ChunkDecoder(const RecordingNames& names, DeviceTable& devices, LiveSink& sink);

  // The number of the chunk that a payload belongs to; absent if there is none.
  static std::optional<std::uint64_t> NumberOf(std::string_view payload);
  // Delivers all records of a payload in their order; false, with nothing delivered, if it is damaged. Records of a
  // kind that this program does not know are left out.
  bool Decode(std::string_view payload);

  // Records read so far, known or not.
  [[nodiscard]] std::uint64_t records() const { return records_; }

 private:
  static constexpr std::size_t kMostSignals = 32;

  // One device's or host scope's rows in the columns of its kind.
  struct Stream {
    bool host = false;
    std::optional<std::uint32_t> id;  // ours; absent: this program does not know the scope
    std::size_t rows = 0;
    std::size_t next = 0;                                   // the row of the columns that is delivered next
    std::array<const std::int64_t*, kMostSignals> value{};  // the next value of each signal
  };
  // Columns of all samples, or of all host samples.
  struct Rows {
    std::vector<std::int64_t> time;
    std::vector<std::int64_t> present;
    std::vector<std::int64_t> unavailable;
    std::vector<std::int64_t> reason;
    std::array<std::vector<std::int64_t>, kMostSignals> values;
    // Of samples: signals that every row has stand in the row's own place.
    struct Whole {
      std::uint8_t signal = 0;  // ours
      const std::int64_t* value = nullptr;
    };
    std::vector<Whole> whole;
    std::uint32_t whole_mask = 0;  // by the file's numbers
  };

  bool TakeMeta(ByteCursor in);
  bool TakeDevices(ByteCursor& in);
  bool TakeStreams(ByteCursor& in);
  bool TakeOrder(ByteCursor& in, std::size_t* others);
  bool TakeMarks(ByteCursor& in, std::size_t count);
  bool TakeNotes(ByteCursor& in, std::size_t count);
  bool TakeFacts(ByteCursor& in, std::size_t count);
  bool TakeRows(ByteCursor& in, bool host, Rows& rows);
  bool TakeTimes(ByteCursor& in, bool host, Rows& rows);
  void Point(bool host, Rows& rows, std::uint32_t signal, bool all);
  void Deliver();
  void DeliverSample(Stream& stream);
  void DeliverHost(Stream& stream);
  void Flush();

  const RecordingNames& names_;
  DeviceTable& devices_;
  LiveSink& sink_;
  bool ours_;  // the file numbers signals as this program does
  ColumnDecoder columns_;
  std::vector<DeviceId> device_;  // ours, by the file's
  std::vector<Stream> streams_;
  std::vector<std::uint32_t> order_;  // streams, then marks, notes, facts
  std::vector<WorkMark> marks_;
  std::vector<std::optional<Note>> notes_;  // absent: of a kind that this program does not know
  std::vector<RunFact> facts_;
  Rows samples_;
  Rows hosts_;
  std::vector<Sample> batch_;
  std::vector<std::size_t> batch_row_;  // of each in the columns
  std::size_t batched_ = 0;
  std::uint64_t records_ = 0;
};

}  // namespace idleburn
