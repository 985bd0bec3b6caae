#include "telemetry/recording_format.h"

#include <algorithm>

#include "os/digest.h"
#include "telemetry/byte_coding.h"
#include "telemetry/live_sink.h"

namespace idleburn {
namespace {

constexpr std::size_t kIdSize = 16;
constexpr std::size_t kChecksumSize = 4;
constexpr std::size_t kMostNumbers = 32;  // signals are bits of 32

using NameList = std::vector<std::string_view>;

template <typename Table>
NameList NamesOf(const Table& infos) {
  NameList names;
  for (const auto& info : infos) names.push_back(info.name);
  return names;
}

template <typename Table>
NameList ListOf(const Table& names) {
  return {names.begin(), names.end()};
}

void PutNames(std::string& out, const NameList& names) {
  PutVarint(out, names.size());
  for (const std::string_view name : names) PutText(out, name);
}

RecordingNames::Numbers TakeNumbers(ByteCursor& in, const NameList& ours, std::vector<std::string>& unknown) {
  RecordingNames::Numbers numbers(in.Count(kMostNumbers));
  for (std::optional<std::uint8_t>& number : numbers) {
    const std::string_view name = in.Text();
    const auto found = std::find(ours.begin(), ours.end(), name);
    if (found != ours.end()) {
      number = static_cast<std::uint8_t>(found - ours.begin());
    } else {
      unknown.emplace_back(name);
    }
  }
  return numbers;
}

}  // namespace

std::string EncodeFrame(FrameType type, std::string_view payload) {
  std::string frame;
  frame.reserve(kFrameHeadSize + payload.size());
  PutFixed(frame, static_cast<std::uint32_t>(payload.size()));
  PutFixed(frame, static_cast<std::uint32_t>(type));
  PutFixed(frame, Crc32(payload, Crc32(frame)));
  frame += payload;
  return frame;
}

std::optional<FrameHead> DecodeFrameHead(std::string_view bytes) {
  ByteCursor cursor(bytes);
  FrameHead head;
  head.size = cursor.Fixed<std::uint32_t>();
  const auto type = cursor.Fixed<std::uint32_t>();
  head.checksum = cursor.Fixed<std::uint32_t>();
  if (!cursor.good() || head.size == 0 || head.size > kMostPayload || type == 0 || type > UINT8_MAX) return {};
  head.type = static_cast<FrameType>(type);
  return head;
}

bool IsIntact(const FrameHead& head, std::string_view payload) {
  std::string start;
  PutFixed(start, head.size);
  PutFixed(start, static_cast<std::uint32_t>(head.type));
  return payload.size() == head.size && Crc32(payload, Crc32(start)) == head.checksum;
}

std::string EncodeHeader(std::string_view magic, const RecordingHeader& header) {
  std::string names;
  PutNames(names, NamesOf(kSignals));
  PutNames(names, ListOf(kUnobservedNames));
  PutNames(names, NamesOf(kHostSignals));
  PutNames(names, ListOf(kHostScopeNames));
  PutNames(names, ListOf(kNoteKindNames));
  std::string out(magic);
  PutFixed(out, kRecordingVersion);
  PutFixed(out, std::uint16_t{0});
  out += header.id;
  PutFixed(out, header.start.nanos());
  PutFixed(out, static_cast<std::uint32_t>(names.size()));
  out += names;
  PutFixed(out, Crc32(out));
  return out;
}

Result<std::size_t> HeaderRest(std::string_view magic, std::string_view head, const std::string& file) {
  ByteCursor cursor(head);
  if (magic == kRecordingMagic && head.substr(0, kJournalMagic.size()) == kJournalMagic) {
    return Fail(file + ": is the journal of a recording; name the recording beside it, without " +
                std::string(kJournalSuffix));
  }
  if (cursor.Bytes(magic.size()) != magic) return Fail(file + ": is no recording of idleburn");
  const auto version = cursor.Fixed<std::uint16_t>();
  if (!cursor.good() || head.size() < kHeaderHeadSize) {
    return Fail(file + ": was cut off in its first bytes; nothing of the recording is left");
  }
  if (version == 0 || version > kRecordingVersion) {
    return Fail(file + ": is a recording of format " + std::to_string(version) + ", and this idleburn reads up to " +
                std::to_string(kRecordingVersion) + "; read it with a newer idleburn");
  }
  ByteCursor size(head.substr(kHeaderHeadSize - 4));
  const auto names = size.Fixed<std::uint32_t>();
  if (names > kMostNames) return Fail(file + ": its first bytes are damaged; restore it from a copy");
  return names + kChecksumSize;
}

Result<DecodedHeader> DecodeHeader(std::string_view bytes, const std::string& file) {
  DecodedHeader decoded;
  ByteCursor cursor(bytes);
  cursor.Bytes(kRecordingMagic.size() + 4);
  decoded.header.id = cursor.Bytes(kIdSize);
  decoded.header.start = Instant::FromNanos(cursor.Fixed<std::int64_t>());
  ByteCursor names(cursor.Bytes(cursor.Fixed<std::uint32_t>()));
  const auto checksum = cursor.Fixed<std::uint32_t>();
  RecordingNames& known = decoded.names;
  known.signals = TakeNumbers(names, NamesOf(kSignals), known.unknown);
  known.reasons = TakeNumbers(names, ListOf(kUnobservedNames), known.unknown);
  known.host_signals = TakeNumbers(names, NamesOf(kHostSignals), known.unknown);
  known.host_scopes = TakeNumbers(names, ListOf(kHostScopeNames), known.unknown);
  known.note_kinds = TakeNumbers(names, ListOf(kNoteKindNames), known.unknown);
  const bool intact = cursor.good() && names.good() && Crc32(bytes.substr(0, bytes.size() - kChecksumSize)) == checksum;
  if (intact) return decoded;
  return Fail(file + ": its first bytes are damaged or cut off; restore it from a copy");
}

}  // namespace idleburn
