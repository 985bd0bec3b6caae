#include "telemetry/recording_reader.h"

#include <algorithm>
#include <optional>
#include <string>

#include "os/output_file.h"
#include "telemetry/byte_coding.h"
#include "telemetry/chunk_decoder.h"
#include "text/line_reader.h"

namespace idleburn {
namespace {

constexpr std::size_t kBlock = std::size_t{1} << 18;
constexpr std::size_t kMostJournal = std::size_t{256} << 20;

// Takes stretches of bytes off a source.
class Stretches {
 public:
  explicit Stretches(ByteSource& in) : in_(in) {}

  // Exactly `size` bytes, fewer at the end of the source; valid until the next call.
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
  // Absent at the end, be it torn or not. Damaged frames are counted and passed over.
  Result<std::optional<Frame>> Next() {
    while (true) {
      const std::string_view start = TRY(bytes_.Take(kFrameHeadSize));
      if (start.empty()) return std::optional<Frame>();
      const std::optional<FrameHead> head = DecodeFrameHead(start);
      torn_ = !head.has_value();
      if (torn_) return std::optional<Frame>();
      const std::string_view payload = TRY(bytes_.Take(head->size));
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
  // After the end: the last bytes are no whole frame.
  [[nodiscard]] bool torn() const { return torn_; }

 private:
  ByteSource& in_;
  Stretches bytes_;
  DataQuality& quality_;
  std::uint64_t bad_ = 0;
  bool torn_ = false;
};

class Reading {
 public:
  Reading(ByteSource& in, DeviceTable& devices, DataQuality& quality, LiveSink& sink)
      : in_(in), devices_(devices), quality_(quality), sink_(sink) {}

  Result<RecordingSummary> Run() {
    // Before the file itself: a chunk that is sealed in between is then in both, and taken from the file.
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

  [[nodiscard]] bool IsNext(std::string_view payload) const {
    const std::optional<std::uint64_t> number = ChunkDecoder::NumberOf(payload);
    return number && *number >= next_ && *number < UINT64_MAX;
  }

  // Chunks before `number` that nobody delivered, less those that are counted as damaged frames.
  void CountMissing(std::uint64_t number) {
    if (number <= next_) return;
    const std::uint64_t gap = number - next_;
    const std::uint64_t known = std::min(gap, damaged_ - damaged_told_);
    damaged_told_ = damaged_;
    summary_.start_missing = summary_.start_missing || next_ == 0;
    incomplete_ = true;
    const auto missing = static_cast<std::int64_t>(std::min<std::uint64_t>(gap - known, INT32_MAX));
    quality_.Count(QualityId::kMissingChunk, {&in_.name(), 0}, missing);
  }

  void CheckTotals(Frames& frames, std::string_view payload) {
    ByteCursor cursor(payload);
    const std::uint64_t numbered = cursor.Varint();
    const std::uint64_t records = cursor.Varint();
    summary_.closed = true;
    damaged_ = frames.bad();
    if (cursor.good()) CountMissing(numbered);
    if (!cursor.good() || (records != summary_.records && !incomplete_)) frames.CountBad();
  }

  // The seconds of chunks that are not sealed. False if the journal is not this recording's.
  bool ReadJournal(ByteSource& source) {
    Frames frames(source, quality_);
    const Result<DecodedHeader> header = frames.Header(kJournalMagic);
    if (!header || header->header.id != summary_.header.id) {
      frames.CountBad();
      return false;
    }
    ChunkDecoder decoder(header->names, devices_, sink_);
    std::string held;  // a later second has them in their place
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

  // Of the chunk that is next, or still of the one before: a journal has all seconds of a chunk or none.
  bool TakeSecond(ChunkDecoder& decoder, std::string_view payload) {
    if (!decoder.Decode(payload)) return false;
    const std::uint64_t number = *ChunkDecoder::NumberOf(payload);
    if (open_ && number > *open_) next_ = *open_ + 1;  // one that was still being sealed has its seconds here too
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
  std::uint64_t next_ = 0;             // the least number of a chunk that has not been read
  std::optional<std::uint64_t> open_;  // the chunk of the seconds that were read last
  std::uint64_t damaged_ = 0;          // frames of the recording that are
  std::uint64_t damaged_told_ = 0;     // those that have explained a gap
  bool incomplete_ = false;            // chunks are missing or damaged
};

}  // namespace

bool IsRecording(std::string_view head) { return head.substr(0, kRecordingMagic.size()) == kRecordingMagic; }

Result<RecordingSummary> ReadRecording(ByteSource& in, DeviceTable& devices, DataQuality& quality, LiveSink& sink) {
  return Reading(in, devices, quality, sink).Run();
}

}  // namespace idleburn
