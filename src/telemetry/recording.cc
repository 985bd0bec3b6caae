#include "telemetry/recording.h"

#include <algorithm>

#include "os/digest.h"
#include "os/output_file.h"
#include "telemetry/byte_coding.h"
#include "telemetry/chunk_codec.h"
#include "text/line_reader.h"

namespace idleburn {
namespace {

// Sizes of the format in bytes, and the most names of a list.
constexpr std::size_t kIdSize = 16;
constexpr std::size_t kChecksumSize = 4;
constexpr std::size_t kMostNumbers = 32;  // signals are bits of a 32-bit mask

using NameList = std::vector<std::string_view>;

// The names of a table of rows, in the order of their numbers.
template <typename Table>
NameList RowNames(const Table& infos) {
  NameList names;
  for (const auto& info : infos) names.push_back(info.name);
  return names;
}

// The names of a plain list, in the order of their numbers.
template <typename Table>
NameList PlainNames(const Table& names) {
  return {names.begin(), names.end()};
}

// Appends a list of names. TakeNumbers reads it.
void PutNames(std::string& out, const NameList& names) {
  PutVarint(out, names.size());
  for (const std::string_view name : names) PutText(out, name);
}

// Reads a list of names and translates its numbers to ours.
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
  // The checksum covers size and type too, so a damaged size is detected.
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
  PutNames(names, RowNames(kSignals));
  PutNames(names, PlainNames(kUnobservedNames));
  PutNames(names, RowNames(kHostSignals));
  PutNames(names, PlainNames(kHostScopeNames));
  PutNames(names, PlainNames(kNoteKindNames));
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
  // People easily pass the journal instead of the recording, so that mistake has its own message.
  if (magic == kRecordingMagic && head.substr(0, kJournalMagic.size()) == kJournalMagic) {
    return Fail(file + ": is the journal of a recording; give the recording itself, without " +
                std::string(kJournalSuffix));
  }
  if (cursor.Bytes(magic.size()) != magic) return Fail(file + ": not a recording of idleburn");
  const auto version = cursor.Fixed<std::uint16_t>();
  if (!cursor.good() || head.size() < kHeaderHeadSize) {
    return Fail(file + ": was cut off in its first bytes; the recording is lost");
  }
  if (version == 0 || version > kRecordingVersion) {
    return Fail(file + ": is a recording of format " + std::to_string(version) +
                ", but this idleburn reads only up to " + std::to_string(kRecordingVersion) +
                "; read it with a newer idleburn");
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
  known.signals = TakeNumbers(names, RowNames(kSignals), known.unknown);
  known.reasons = TakeNumbers(names, PlainNames(kUnobservedNames), known.unknown);
  known.host_signals = TakeNumbers(names, RowNames(kHostSignals), known.unknown);
  known.host_scopes = TakeNumbers(names, PlainNames(kHostScopeNames), known.unknown);
  known.note_kinds = TakeNumbers(names, PlainNames(kNoteKindNames), known.unknown);
  // A truncated header fails the checksum as well.
  const bool intact = cursor.good() && names.good() && Crc32(bytes.substr(0, bytes.size() - kChecksumSize)) == checksum;
  if (intact) return decoded;
  return Fail(file + ": its first bytes are damaged or cut off; restore it from a copy");
}

namespace {

// Bytes that are read at once, and the most of a journal. A journal of a minute is far smaller.
constexpr std::size_t kBlock = std::size_t{1} << 18;
constexpr std::size_t kMostJournal = std::size_t{256} << 20;

// Takes runs of bytes off a source, so that a frame is contiguous in memory however the source delivers it.
class Stretches {
 public:
  explicit Stretches(ByteSource& in) : in_(in) {}

  // Exactly `size` bytes, or fewer at the end of the source. Valid until the next call.
  Result<std::string_view> Take(std::size_t size) {
    buffer_.erase(0, taken_);
    taken_ = 0;
    while (buffer_.size() < size) {
      const std::size_t had = buffer_.size();
      buffer_.resize(had + std::min(kBlock, std::max(size - had, std::size_t{4096})));
      const Result<std::size_t> got = in_.Read(std::span(buffer_).subspan(had));
      buffer_.resize(had + got.value_or(0));
      if (!got) return tl::unexpected<Error>(got.error());
      if (*got == 0) break;
    }
    taken_ = std::min(size, buffer_.size());
    return std::string_view(buffer_).substr(0, taken_);
  }

 private:
  ByteSource& in_;
  std::string buffer_;
  std::size_t taken_ = 0;
};

// The header and the frames of one file.
class Frames {
 public:
  Frames(ByteSource& in, DataQuality& quality) : in_(in), bytes_(in), quality_(quality) {}

  Result<DecodedHeader> Header(std::string_view magic) {
    const std::string_view head = TRY(bytes_.Take(kHeaderHeadSize));
    std::string header(head);
    const std::size_t rest = TRY(HeaderRest(magic, header, in_.name()));
    const std::string_view names = TRY(bytes_.Take(rest));
    header += names;
    return DecodeHeader(header, in_.name());
  }

  struct Frame {
    FrameType type = FrameType::kEnd;
    std::string_view payload;  // valid until the next call
  };
  // The next intact frame; absent at the end, even if the end is torn. Counts and skips damaged frames.
  Result<std::optional<Frame>> Next() {
    while (true) {
      const std::string_view start = TRY(bytes_.Take(kFrameHeadSize));
      // An empty rest is the end of a file that was closed or killed between frames.
      if (start.empty()) return std::optional<Frame>();
      const std::optional<FrameHead> head = DecodeFrameHead(start);
      torn_ = !head.has_value();
      if (torn_) return std::optional<Frame>();
      const std::string_view payload = TRY(bytes_.Take(head->size));
      // A frame that ends early was being written when the process died.
      torn_ = payload.size() < head->size;
      if (torn_) return std::optional<Frame>();
      if (IsIntact(*head, payload)) return std::optional(Frame{head->type, payload});
      CountBad();
    }
  }

  void CountBad() {
    quality_.Count(QualityId::kBadRow, {&in_.name(), 0});
    ++bad_;
  }
  [[nodiscard]] std::uint64_t bad() const { return bad_; }
  // After the end: whether the last bytes are no whole frame.
  [[nodiscard]] bool torn() const { return torn_; }

 private:
  ByteSource& in_;
  Stretches bytes_;
  DataQuality& quality_;
  std::uint64_t bad_ = 0;
  bool torn_ = false;
};

// One call of ReadRecording. It reads the file, and if that was not closed, the journal for the rest.
class Reading {
 public:
  Reading(ByteSource& in, DeviceTable& devices, DataQuality& quality, LiveSink& sink)
      : in_(in), devices_(devices), quality_(quality), sink_(sink) {}

  Result<RecordingSummary> Run() {
    // The journal is read before the file. A chunk that is sealed in between is then in both, and the file's
    // copy is used.
    Result<std::optional<std::string>> journal =
        ReadFileIfThere(in_.name() + std::string(kJournalSuffix), kMostJournal);
    Frames frames(in_, quality_);
    const DecodedHeader header = TRY(frames.Header(kRecordingMagic));
    summary_.header = header.header;
    CountUnknown(header.names);
    TRY(ReadChunks(frames, header.names));
    if (summary_.closed) return summary_;
    damaged_ = frames.bad();
    summary_.being_written = IsBeingAppended(in_.name());
    if (!journal) return tl::unexpected<Error>(journal.error());
    bool whole = journal->has_value();
    if (whole) {
      StringSource source(std::move(**journal), in_.name() + std::string(kJournalSuffix));
      whole = ReadJournal(source);
    }
    if (!whole && frames.torn()) quality_.Count(QualityId::kTornRow, {&in_.name(), 0});
    if (!whole && !frames.torn()) quality_.Count(QualityId::kTruncatedInput, {&in_.name(), 0});
    if (!summary_.being_written) quality_.Count(QualityId::kUnclosedRecording, {&in_.name(), 0});
    return summary_;
  }

 private:
  void CountUnknown(const RecordingNames& names) {
    for (const std::string& name : names.unknown) {
      quality_.CountNamed(QualityId::kUnknownMetric, name, {&in_.name(), 0});
    }
  }

  Result<void> ReadChunks(Frames& frames, const RecordingNames& names) {
    ChunkDecoder decoder(names, devices_, sink_);
    while (true) {
      const std::optional<Frames::Frame> frame = TRY(frames.Next());
      if (!frame || summary_.closed) break;
      const std::string_view payload = frame->payload;
      if (frame->type == FrameType::kEnd) {
        CheckTotals(frames, payload);
        // Chunk numbers only rise. A repeated or older chunk would deliver records twice.
      } else if (frame->type != FrameType::kChunk || !IsNext(payload) || !decoder.Decode(payload)) {
        frames.CountBad();
      } else {
        const std::uint64_t number = *ChunkDecoder::NumberOf(payload);
        damaged_ = frames.bad();
        CountMissing(number);
        next_ = number + 1;
        ++summary_.chunks;
        summary_.records = decoder.records();
      }
    }
    return {};
  }

  // Whether a payload is of a chunk that was not delivered yet.
  [[nodiscard]] bool IsNext(std::string_view payload) const {
    const std::optional<std::uint64_t> number = ChunkDecoder::NumberOf(payload);
    return number && *number >= next_ && *number < UINT64_MAX;
  }

  // Counts the chunks before `number` that were not read. A damaged frame was a chunk too, so it is not counted
  // twice.
  void CountMissing(std::uint64_t number) {
    if (number <= next_) return;
    const std::uint64_t gap = number - next_;
    // A damaged frame explains one missing chunk.
    const std::uint64_t known = std::min(gap, damaged_ - damaged_told_);
    damaged_told_ = damaged_;
    summary_.start_missing = summary_.start_missing || next_ == 0;
    incomplete_ = true;
    const auto missing = static_cast<std::int64_t>(std::min<std::uint64_t>(gap - known, INT32_MAX));
    quality_.Count(QualityId::kMissingChunk, {&in_.name(), 0}, missing);
  }

  // Compares what was read with what the end of the file says was written.
  void CheckTotals(Frames& frames, std::string_view payload) {
    ByteCursor cursor(payload);
    const std::uint64_t numbered = cursor.Varint();
    const std::uint64_t records = cursor.Varint();
    summary_.closed = true;
    damaged_ = frames.bad();
    if (cursor.good()) CountMissing(numbered);
    if (!cursor.good() || (records != summary_.records && !incomplete_)) frames.CountBad();
  }

  // Reads the records that are not sealed. Returns false if the journal belongs to another recording.
  bool ReadJournal(ByteSource& source) {
    Frames frames(source, quality_);
    const Result<DecodedHeader> header = frames.Header(kJournalMagic);
    if (!header || header->header.id != summary_.header.id) {
      frames.CountBad();
      return false;
    }
    ChunkDecoder decoder(header->names, devices_, sink_);
    std::string held;  // a later second contains them in order
    while (true) {
      const Result<std::optional<Frames::Frame>> frame = frames.Next();
      if (!frame || !*frame) break;
      const std::string_view payload = (*frame)->payload;
      held = (*frame)->type == FrameType::kHeld ? payload : "";
      if (!held.empty()) continue;
      if ((*frame)->type == FrameType::kSecond && ChunkDecoder::NumberOf(payload) && !IsNext(payload)) continue;
      if ((*frame)->type != FrameType::kSecond || !TakeSecond(decoder, payload)) frames.CountBad();
    }
    if (!held.empty() && IsNext(held) && !TakeSecond(decoder, held)) frames.CountBad();
    summary_.records += decoder.records();
    if (frames.torn()) quality_.Count(QualityId::kTornRow, {&source.name(), 0});
    return true;
  }

  // Takes a second of the next chunk, or of the previous one. A journal has all seconds of a chunk or none.
  bool TakeSecond(ChunkDecoder& decoder, std::string_view payload) {
    if (!decoder.Decode(payload)) return false;
    const std::uint64_t number = *ChunkDecoder::NumberOf(payload);
    if (open_ && number > *open_) next_ = *open_ + 1;  // a chunk that was being sealed has its seconds here too
    CountMissing(number);
    next_ = std::max(next_, number);
    open_ = number;
    return true;
  }

  ByteSource& in_;
  DeviceTable& devices_;
  DataQuality& quality_;
  LiveSink& sink_;
  RecordingSummary summary_;
  std::uint64_t next_ = 0;             // the least chunk number not read yet
  std::optional<std::uint64_t> open_;  // the chunk of the latest seconds
  std::uint64_t damaged_ = 0;          // damaged frames of the recording
  std::uint64_t damaged_told_ = 0;     // those that already explain a gap
  bool incomplete_ = false;            // some chunks are missing or damaged
};

}  // namespace

bool IsRecording(std::string_view head) { return head.substr(0, kRecordingMagic.size()) == kRecordingMagic; }

Result<RecordingSummary> ReadRecording(ByteSource& in, DeviceTable& devices, DataQuality& quality, LiveSink& sink) {
  return Reading(in, devices, quality, sink).Run();
}

}  // namespace idleburn
