// The file format of a recording: header, frames and names, and how to read it back. Appending frames to a file
// and its journal is in telemetry/recording_writer.h.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/byte_source.h"
#include "base/result.h"
#include "base/time.h"
#include "telemetry/data_quality.h"
#include "telemetry/device.h"
#include "telemetry/live_sink.h"

namespace idleburn {

// A recording and its journal have the same parts. docs/recording-format.md describes every byte.

// How the two begin, and how they are named. The journal holds the last, open minute, so that a kill loses less than
// a second. A transfer as text damages the magic and shows: its first byte is not ASCII, and it ends in two bytes of
// a line end.
inline constexpr std::string_view kRecordingMagic{"\x89IDLEB\r\n", 8};
inline constexpr std::string_view kJournalMagic{"\x89IDLEJ\r\n", 8};
inline constexpr std::uint16_t kRecordingVersion = 1;
inline constexpr std::string_view kRecordingSuffix = ".idleburn";
inline constexpr std::string_view kJournalSuffix = ".journal";  // appended to the recording's full name

// What a frame contains.
enum class FrameType : std::uint8_t {
  kChunk = 1,   // in a recording: sealed records
  kSecond = 2,  // in a journal: records of the open chunk
  kEnd = 3,     // in a recording: it was closed properly, with its totals
  kHeld = 4,    // in a journal: samples that would have come in a later second
};

// Limits of the format. A reader rejects anything above them, so damaged sizes cannot exhaust memory.
inline constexpr std::size_t kFrameHeadSize = 12;
inline constexpr std::size_t kMostPayload = std::size_t{64} << 20;
inline constexpr std::size_t kMostRecords = std::size_t{1} << 17;  // in one frame
inline constexpr unsigned kMarkUnits = 4;                          // units of a work mark: the first ones of WorkUnit

// The head of a frame. The checksum covers the payload and the head.
struct FrameHead {
  std::uint32_t size = 0;  // of the payload
  FrameType type = FrameType::kChunk;
  std::uint32_t checksum = 0;
};
// A whole frame: head and payload.
std::string EncodeFrame(FrameType type, std::string_view payload);
// Decodes the first kFrameHeadSize bytes; absent if no frame can start with them.
std::optional<FrameHead> DecodeFrameHead(std::string_view bytes);
// Whether the payload has the size and checksum of its head.
bool IsIntact(const FrameHead& head, std::string_view payload);

// The start of a file. It names everything that is stored by number, so that a number means the same to every
// version of the program.
struct RecordingHeader {
  // 16 bytes, shared by a recording and its journal.
  std::string id;
  Instant start;
};
// Limits of a header.
inline constexpr std::size_t kHeaderHeadSize = 40;  // size up to the names
inline constexpr std::size_t kMostNames = std::size_t{1} << 16;

// A whole header with names and checksum.
std::string EncodeHeader(std::string_view magic, const RecordingHeader& header);

// The file's numbers, translated to those of this program; absent where this program does not know the name.
struct RecordingNames {
  using Numbers = std::vector<std::optional<std::uint8_t>>;
  Numbers signals;
  Numbers reasons;
  Numbers host_signals;
  Numbers host_scopes;
  Numbers note_kinds;
  // Names that this program does not know.
  std::vector<std::string> unknown;
};

// A header and its names.
struct DecodedHeader {
  RecordingHeader header;
  RecordingNames names;
};
// The number of bytes that follow the first kHeaderHeadSize bytes. Fails on another magic or a newer version.
// Messages start with `file`.
Result<std::size_t> HeaderRest(std::string_view magic, std::string_view head, const std::string& file);
// Decodes a whole header. Fails if it is damaged.
Result<DecodedHeader> DecodeHeader(std::string_view bytes, const std::string& file);

// What ReadRecording found.
struct RecordingSummary {
  RecordingHeader header;
  // Closed properly; otherwise the recorder still runs or was killed.
  bool closed = false;
  // Not closed, and the recorder is alive.
  bool being_written = false;
  // The first chunk is missing: the run began at header.start.
  bool start_missing = false;
  std::uint64_t chunks = 0;   // sealed chunks
  std::uint64_t records = 0;  // of all kinds, including the journal's
};

// Replays a recording: every record, in the order of recording. Devices are entered in `devices`, and samples
// carry their numbers there. Needs the memory of one chunk. Fails if the file is not a recording or has a newer
// version.
//
// A recording that was not closed takes its open chunk from the journal beside it, in.name() + ".journal". It
// may be read while it is written. Damaged and truncated parts are skipped and counted, as are missing chunks
// and a missing end. A copy of a recording that is being written looks like one whose recorder died.
Result<RecordingSummary> ReadRecording(ByteSource& in, DeviceTable& devices, DataQuality& quality, LiveSink& sink);

// Whether the first bytes of an input are those of a recording.
bool IsRecording(std::string_view head);

}  // namespace idleburn
