#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "telemetry/data_quality.h"

namespace idleburn {

// The parts that a recording and its journal share. docs/recording.md describes every byte.

inline constexpr std::string_view kRecordingMagic{"\x89IDLEB\r\n", 8};
inline constexpr std::string_view kJournalMagic{"\x89IDLEJ\r\n", 8};
inline constexpr std::uint16_t kRecordingVersion = 1;
inline constexpr std::string_view kRecordingSuffix = ".idleburn";
inline constexpr std::string_view kJournalSuffix = ".journal";  // after the recording's whole name

enum class FrameType : std::uint8_t {
  kChunk = 1,   // of a recording: sealed records
  kSecond = 2,  // of a journal: records of a chunk that is not sealed yet
  kEnd = 3,     // of a recording: it was closed in order, and how much it holds
  kHeld = 4,    // of a journal: samples that would have come in a later second
};

inline constexpr std::size_t kFrameHeadSize = 12;
inline constexpr std::size_t kMostPayload = std::size_t{64} << 20;
inline constexpr std::size_t kMostRecords = std::size_t{1} << 17;  // of a frame
inline constexpr unsigned kMarkUnits = 4;  // that a mark of work may tell: the first of WorkUnit, in its order

struct FrameHead {
  std::uint32_t size = 0;  // of the payload
  FrameType type = FrameType::kChunk;
  std::uint32_t checksum = 0;
};
// A whole frame: head and payload.
std::string EncodeFrame(FrameType type, std::string_view payload);
// Of the first kFrameHeadSize bytes; absent if they cannot start a frame.
std::optional<FrameHead> DecodeFrameHead(std::string_view bytes);
bool IsIntact(const FrameHead& head, std::string_view payload);

// What a file begins with. The names of everything that is stored by number are in it, so that a number means the same
// to every version of the program.
struct RecordingHeader {
  std::string id;  // 16 bytes; the same in a recording and its journal
  Instant start;
};
inline constexpr std::size_t kHeaderHeadSize = 40;  // up to the names
inline constexpr std::size_t kMostNames = std::size_t{1} << 16;

std::string EncodeHeader(std::string_view magic, const RecordingHeader& header);

// Names by number, of the file, as numbers of this program; absent for what it does not know.
struct RecordingNames {
  using Numbers = std::vector<std::optional<std::uint8_t>>;
  Numbers signals;
  Numbers reasons;
  Numbers host_signals;
  Numbers host_scopes;
  Numbers note_kinds;
  std::vector<std::string> unknown;  // names that this program does not know
};

struct DecodedHeader {
  RecordingHeader header;
  RecordingNames names;
};
// How many bytes of names and checksum follow the first kHeaderHeadSize bytes. Fails on another magic or a version that
// is newer; `file` starts the message.
Result<std::size_t> HeaderRest(std::string_view magic, std::string_view head, const std::string& file);
// Of all bytes of the header. Fails if they are damaged.
Result<DecodedHeader> DecodeHeader(std::string_view bytes, const std::string& file);

}  // namespace idleburn
