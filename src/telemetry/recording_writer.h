// Writes a recording so that a kill, a full disk or a power cut loses as little as possible.

#pragma once

#include <deque>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "os/folder.h"
#include "os/output_file.h"
#include "telemetry/chunk_codec.h"
#include "telemetry/device.h"
#include "telemetry/live_sink.h"

namespace idleburn {

// How a recording is written.
struct RecordingOptions {
  // The start on the time line of the samples.
  Instant start;
  // Called with one line when the file can no longer be written, and again when it can. It is called from
  // within the functions below.
  std::function<void(const std::string&)> tell = [](const std::string&) {};
  // Waits for the disk at each seal, in the background. Then a power cut loses the open chunk at most.
  bool sync = true;
  // The flag with which the user names another file, for messages.
  std::string flag = "-o";
  // Permissions of both files, before the umask.
  mode_t mode = kNamedFile;
};

// Writes a live stream to a recording (docs/recording.md). Records of 0.6 s go to the journal with one write call,
// together with samples held for later. A chunk is full after a minute. A separate thread then encodes and appends
// it, while calls continue. A kill loses less than a second: what arrived since the last write.
//
// If writing fails, records stay in memory for some hours and are written when there is room. Losing a recording must
// never end the run that is recorded.
class RecordingWriter final : public LiveSink {
 public:
  // The file must not exist, or be empty. It is locked until the writer is destroyed, and removed if the
  // recording cannot begin. `devices` outlives the writer and changes only between calls.
  static Result<std::unique_ptr<RecordingWriter>> Create(const std::string& path, const DeviceTable& devices,
                                                         RecordingOptions options);
  ~RecordingWriter() override;

  void OnSamples(std::span<const Sample> samples) override;
  void OnHeld(std::span<const Sample> samples) override;
  void OnHost(std::span<const HostSample> samples) override;
  void OnWork(const WorkMark& mark) override;
  void OnNote(const Note& note) override;
  void OnFact(const RunFact& fact) override;

  // Writes what arrived since the last write. Happens automatically when a record is 0.6 s younger than the
  // first unwritten one. Call it about every second where records may stop arriving.
  void Flush();
  // Seals, writes the end and removes the journal. Fails, and keeps the journal, if not everything could be
  // written. Nothing may be pushed afterwards.
  Result<void> Close();

 private:
  // An encoded chunk.
  struct Sealed {
    std::string frame;
    std::uint64_t records = 0;
    bool appended = false;
    Result<void> written;  // and synced
  };

  RecordingWriter(std::string path, const DeviceTable& devices, RecordingOptions options);
  // Writes the headers of both files.
  Result<void> Begin();
  template <typename Record>
  void Put(const Record& record, Instant time);
  // Starts the encoding of the open chunk. Collect takes its result, and waits for it if asked to.
  void Seal();
  void Collect(bool wait);
  // Write the chunks that failed before, what the journal lacks, and a new journal without sealed chunks.
  Result<void> WriteUnsealed();
  Result<void> WriteJournal();
  Result<void> ReplaceJournal();
  std::string EncodeHeld();
  Result<void> Append(Sealed& sealed);
  // Tells the user about a failure once, and about its end.
  void Report(const Result<void>& written);

  std::string path_;
  const DeviceTable& devices_;
  RecordingOptions options_;
  std::string id_;
  std::unique_ptr<AppendFile> file_;  // belongs to the sealing thread while it runs
  std::unique_ptr<AppendFile> journal_;

  RecordBatch second_;  // not written yet
  Instant second_start_;
  RecordBatch chunk_;  // written to the journal
  Instant chunk_start_;
  Instant latest_;
  std::uint64_t number_ = 0;  // of the open chunk
  ChunkEncoder quick_;
  std::string frames_;           // the open chunk's seconds, as in the journal
  std::size_t in_journal_ = 0;   // bytes of frames_ in the journal
  std::vector<Sample> held_;     // as reported last
  std::string held_in_journal_;  // their frame, after all others
  std::vector<Instant> newest_;  // newest sample of each device in second_ and before
  std::string known_devices_;    // as of the last frame
  bool journal_is_old_ = false;  // it still holds sealed chunks

  ChunkEncoder smallest_;  // belongs to the sealing thread while it runs
  std::future<Sealed> sealing_;
  std::deque<Sealed> unsealed_;  // encoded but not written
  std::size_t unsealed_bytes_ = 0;
  std::uint64_t records_ = 0;  // sealed and written
  std::uint64_t lost_ = 0;
  Result<void> sealed_;  // result of the last seal
  bool failing_ = false;
  bool closed_ = false;
};

}  // namespace idleburn
