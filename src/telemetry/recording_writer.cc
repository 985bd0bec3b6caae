#include "telemetry/recording_writer.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <utility>

#include "os/digest.h"
#include "telemetry/byte_coding.h"
#include "telemetry/recording.h"

namespace idleburn {
namespace {

constexpr Nanos kUnwritten{600'000'000};         // a tick may come before and after, so a kill costs less than a second
constexpr Nanos kMostHeld{2 * kNanosPerSecond};  // an older stamp was not held: someone set the clock
constexpr Nanos kChunk{60 * kNanosPerSecond};
constexpr std::size_t kMostOfSecond = 4096;                  // records; more are written before the second ends
constexpr std::size_t kMostOfChunk = 16384;                  // limits memory at high rates
constexpr std::size_t kMostUnsealed = std::size_t{8} << 20;  // bytes: five hours of eight GPUs at 10 Hz

// Whether two times differ by at least `span`, in either direction.
bool IsApart(Instant a, Instant b, Nanos span) {
  const auto distance = static_cast<std::uint64_t>(a.nanos()) - static_cast<std::uint64_t>(b.nanos());
  const auto backwards = std::uint64_t{0} - distance;
  return std::min(distance, backwards) >= static_cast<std::uint64_t>(span.count());
}

}  // namespace

RecordingWriter::RecordingWriter(std::string path, const DeviceTable& devices, RecordingOptions options)
    : path_(std::move(path)),
      devices_(devices),
      options_(std::move(options)),
      id_(RandomId()),
      latest_(options_.start) {}

Result<std::unique_ptr<RecordingWriter>> RecordingWriter::Create(const std::string& path, const DeviceTable& devices,
                                                                 RecordingOptions options) {
  std::error_code error;
  const std::string whole = std::filesystem::absolute(path, error).string();  // the program may change its folder
  std::unique_ptr<RecordingWriter> writer(new RecordingWriter(error ? path : whole, devices, std::move(options)));
  writer->file_ = TRY(AppendFile::CreateLocked(path, writer->options_.flag, writer->options_.mode));
  TRY(writer->Begin());
  return writer;
}

Result<void> RecordingWriter::Begin() {
  Result<void> begun = file_->Append(EncodeHeader(kRecordingMagic, {id_, options_.start}));
  if (begun) begun = ReplaceJournal();
  if (begun) return {};
  closed_ = true;
  static_cast<void>(RemoveFile(path_));  // it would block the next attempt; the caller reports the failure
  return begun;
}

RecordingWriter::~RecordingWriter() {
  if (closed_ || file_ == nullptr) return;
  try {
    Report(Close());
  } catch (const std::exception&) {  // no memory: what is in the journal stays
  }
}

template <typename Record>
void RecordingWriter::Put(const Record& record, Instant time) {
  // A held sample arrives with an older stamp than later reads. It must not turn time back.
  if (time > latest_ || IsApart(time, latest_, kMostHeld)) latest_ = time;
  if (!second_.empty() && (IsApart(latest_, second_start_, kUnwritten) || second_.size() >= kMostOfSecond)) Flush();
  const bool full = chunk_.size() + second_.size() >= kMostOfChunk;
  if ((!chunk_.empty() || !second_.empty()) && (full || IsApart(time, chunk_start_, kChunk))) {
    Flush();
    Seal();
  }
  if (second_.empty()) second_start_ = latest_;
  if (second_.empty() && chunk_.empty()) chunk_start_ = time;
  second_.Add(record);
}

void RecordingWriter::OnSamples(std::span<const Sample> samples) {
  for (const Sample& sample : samples) {
    Put(sample, sample.time);
    if (sample.device >= newest_.size()) newest_.resize(sample.device + 1, Instant::FromNanos(INT64_MIN));
    newest_[sample.device] = sample.time;
  }
}

void RecordingWriter::OnHeld(std::span<const Sample> samples) { held_.assign(samples.begin(), samples.end()); }

void RecordingWriter::OnHost(std::span<const HostSample> samples) {
  for (const HostSample& sample : samples) Put(sample, sample.time);
}

// Only measured stamps move the clock. A stamp that a workload invents must not seal chunks.
void RecordingWriter::OnWork(const WorkMark& mark) { Put(mark, latest_); }
void RecordingWriter::OnNote(const Note& note) { Put(note, latest_); }
void RecordingWriter::OnFact(const RunFact& fact) { Put(fact, latest_); }

void RecordingWriter::Flush() {
  Collect(false);
  if (!second_.empty()) {
    std::string devices = EncodeDevices(devices_);
    const bool changed = devices != known_devices_;
    const std::string payload =
        quick_.Encode(number_, second_, changed ? std::string_view(devices) : "", CodingEffort::kQuick);
    frames_ += EncodeFrame(FrameType::kSecond, payload);
    if (changed) known_devices_ = std::move(devices);
    chunk_.Append(second_);
    second_.Clear();
  }
  Result<void> written = WriteUnsealed();
  journal_is_old_ = journal_is_old_ || journal_->IsDeleted();
  // The old journal is replaced only when every sealed chunk is in the file. Otherwise a kill could lose one.
  if (written && journal_is_old_ && unsealed_.empty() && !sealing_.valid()) written = ReplaceJournal();
  const Result<void> journalled = WriteJournal();
  Report(written ? journalled : written);
}

// Appends what the journal lacks, followed by the held samples.
Result<void> RecordingWriter::WriteJournal() {
  std::string held = EncodeHeld();
  if (in_journal_ == frames_.size() && held == held_in_journal_) return {};
  TRY(journal_->Append(frames_.substr(in_journal_) + held));
  in_journal_ = frames_.size();
  held_in_journal_ = std::move(held);
  return {};
}

// A frame of the held samples that have not arrived since; empty if there are none.
std::string RecordingWriter::EncodeHeld() {
  RecordBatch held;
  for (const Sample& sample : held_) {
    if (sample.device >= newest_.size() || sample.time > newest_[sample.device]) held.Add(sample);
  }
  if (held.empty()) return {};
  return EncodeFrame(FrameType::kHeld, quick_.Encode(number_, held, EncodeDevices(devices_), CodingEffort::kQuick));
}

// Replaces the journal by one with only the open chunk. Readers that have the old one open keep it whole.
Result<void> RecordingWriter::ReplaceJournal() {
  const std::string part = path_ + std::string(kJournalSuffix) + ".part";
  std::unique_ptr<AppendFile> journal = TRY(AppendFile::Create(part, options_.mode));
  Result<void> replaced = journal->Append(EncodeHeader(kJournalMagic, {id_, options_.start}) + frames_);
  if (replaced) replaced = journal->Rename(path_ + std::string(kJournalSuffix));
  if (!replaced) {
    static_cast<void>(RemoveFile(part));
    return replaced;
  }
  journal_ = std::move(journal);
  in_journal_ = frames_.size();
  held_in_journal_.clear();
  journal_is_old_ = false;
  return {};
}

// Hands the open chunk to the sealing thread. The journal has it already.
void RecordingWriter::Seal() {
  Collect(true);
  if (chunk_.empty()) return;
  const bool may_write = unsealed_.empty();  // otherwise earlier chunks come first
  // If no thread is available, the work happens when its result is requested.
  sealing_ =
      std::async(std::launch::async | std::launch::deferred,
                 [this, may_write, number = number_, batch = std::move(chunk_), devices = EncodeDevices(devices_)] {
                   Sealed sealed;
                   const std::string payload = smallest_.Encode(number, batch, devices, CodingEffort::kSmallest);
                   sealed.frame = EncodeFrame(FrameType::kChunk, payload);
                   sealed.records = batch.size();
                   if (may_write) sealed.written = Append(sealed);
                   return sealed;
                 });
  chunk_ = RecordBatch();
  ++number_;
  frames_.clear();
  in_journal_ = 0;
  known_devices_.clear();  // so the first frame of each chunk has them, and a journal can begin with any chunk
  static_cast<void>(WriteJournal());  // held samples belong to the new chunk; the next flush reports a failure
}

// Takes over the result of the sealing thread. A chunk that could not be appended waits in memory.
void RecordingWriter::Collect(bool wait) {
  if (!sealing_.valid()) return;
  if (!wait && sealing_.wait_for(std::chrono::seconds(0)) == std::future_status::timeout) return;
  Sealed sealed = sealing_.get();
  sealed_ = sealed.written;
  journal_is_old_ = true;
  if (sealed.appended) {
    records_ += sealed.records;
    return;
  }
  unsealed_bytes_ += sealed.frame.size();
  unsealed_.push_back(std::move(sealed));
  // Without room on the disk for hours, the oldest records are dropped and counted.
  for (; unsealed_bytes_ > kMostUnsealed; unsealed_.pop_front()) {
    unsealed_bytes_ -= unsealed_.front().frame.size();
    lost_ += unsealed_.front().records;
  }
}

Result<void> RecordingWriter::Append(Sealed& sealed) {
  TRY(file_->Append(sealed.frame));
  sealed.appended = true;
  return options_.sync ? file_->Sync() : Result<void>();
}

// Writes the chunks that could not be appended when they were sealed.
Result<void> RecordingWriter::WriteUnsealed() {
  if (sealing_.valid()) return {};
  Result<void> written = std::exchange(sealed_, {});
  while (!unsealed_.empty()) {
    Sealed& sealed = unsealed_.front();
    written = Append(sealed);
    if (!sealed.appended) break;
    unsealed_bytes_ -= sealed.frame.size();
    records_ += sealed.records;
    unsealed_.pop_front();
  }
  return written;
}

// Reports once that writing fails, and once that it works again.
void RecordingWriter::Report(const Result<void>& written) {
  if (!written && !failing_) {
    failing_ = true;
    const bool hopeless = file_->IsDeleted();
    options_.tell(written.error().message +
                  (hopeless ? "; this run will have no recording"
                            : "; idleburn records in memory and writes the file when it can again"));
  } else if (written && failing_ && unsealed_.empty()) {
    failing_ = false;
    const std::string lost = lost_ > 0 ? std::to_string(lost_) + " records were lost" : "nothing was lost";
    options_.tell(path_ + ": idleburn writes it again; " + lost);
    if (lost_ > 0) OnNote({latest_, NoteKind::kFailure, path_ + ": could not be written; " + lost});
    lost_ = 0;
  }
}

// Flushes and seals twice: the first round may add a note about the file itself.
Result<void> RecordingWriter::Close() {
  if (closed_) return {};
  closed_ = true;
  Flush();
  Seal();
  Collect(true);
  Flush();  // with what had to be said about the file itself
  Seal();
  Collect(true);
  TRY(WriteUnsealed());
  std::string totals;
  PutVarint(totals, number_);
  PutVarint(totals, records_);
  TRY(file_->Append(EncodeFrame(FrameType::kEnd, totals)));
  if (options_.sync) TRY(file_->Sync());
  return RemoveFile(path_ + std::string(kJournalSuffix));
}

}  // namespace idleburn
