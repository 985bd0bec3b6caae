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
#include "telemetry/chunk_encoder.h"
#include "telemetry/device.h"
#include "telemetry/live_sink.h"
#include "telemetry/record_batch.h"

namespace idleburn {

struct RecordingOptions {
  Instant start;  // when the recording begins, on the time line of its samples
  // Called with one line when the file can no longer be written, and again when it can; from within the calls below.
  std::function<void(const std::string&)> tell = [](const std::string&) {};
  // Waits for the disk at each seal, in the background, so that a power cut costs the open chunk at most.
  bool sync = true;
  std::string flag = "-o";   // by which the user names another file, where this one cannot be had
  mode_t mode = kNamedFile;  // permissions of both files, less the umask
};

// Writes a live stream to a recording (docs/recording.md). Records of 0.6 s go to the journal beside the file with
// one write call, and with them what is held for later; when a chunk is full, after a minute, it is encoded and
// appended by a thread of its own while the calls go on. A kill loses what came since the last write: less than a
// second. Where nothing can be written, records are kept in memory, some hours of them, and written when there is room.
class RecordingWriter final : public LiveSink {
 public:
  // The file must not exist, or be empty; it is locked until the writer is gone, and taken away if it cannot be begun.
  // `devices` outlives the writer and changes only between calls.
  static Result<std::unique_ptr<RecordingWriter>> Create(const std::string& path, const DeviceTable& devices,
                                                         RecordingOptions options);
  ~RecordingWriter() override;

  void OnSamples(std::span<const Sample> samples) override;
  void OnHeld(std::span<const Sample> samples) override;
  void OnHost(std::span<const HostSample> samples) override;
  void OnWork(const WorkMark& mark) override;
  void OnNote(const Note& note) override;
  void OnFact(const RunFact& fact) override;

  // Writes what came since the last write. Happens by itself when a record is 0.6 s younger than the first unwritten
  // one; to be called about every second where records may stop coming.
  void Flush();
  // Seals, writes the end and removes the journal. Fails if not everything could be written; the journal stays then.
  // Nothing may be pushed afterwards.
  Result<void> Close();

 private:
  struct Sealed {
    std::string frame;
    std::uint64_t records = 0;
    bool appended = false;
    Result<void> written;  // and kept by the disk
  };

  RecordingWriter(std::string path, const DeviceTable& devices, RecordingOptions options);
  Result<void> Begin();
  template <typename Record>
  void Put(const Record& record, Instant time);
  void Seal();
  void Collect(bool wait);
  Result<void> WriteUnsealed();
  Result<void> WriteJournal();
  Result<void> ReplaceJournal();
  std::string EncodeHeld();
  Result<void> Append(Sealed& sealed);
  void Report(const Result<void>& written);

  std::string path_;
  const DeviceTable& devices_;
  RecordingOptions options_;
  std::string id_;
  std::unique_ptr<AppendFile> file_;  // the sealing thread's while it runs
  std::unique_ptr<AppendFile> journal_;

  RecordBatch second_;  // not written
  Instant second_start_;
  RecordBatch chunk_;  // in the journal
  Instant chunk_start_;
  Instant latest_;
  std::uint64_t number_ = 0;  // of the open chunk
  ChunkEncoder quick_;
  std::string frames_;           // of the open chunk's seconds, as in the journal
  std::size_t in_journal_ = 0;   // bytes of frames_ that are there
  std::vector<Sample> held_;     // as told last
  std::string held_in_journal_;  // its frame, after all others
  std::vector<Instant> newest_;  // of each device, of its samples in second_ and before
  std::string known_devices_;    // as of the last frame
  bool journal_is_old_ = false;  // it holds sealed chunks that a new one would not

  ChunkEncoder smallest_;  // the sealing thread's while it runs
  std::future<Sealed> sealing_;
  std::deque<Sealed> unsealed_;  // encoded but not written
  std::size_t unsealed_bytes_ = 0;
  std::uint64_t records_ = 0;  // sealed and written
  std::uint64_t lost_ = 0;
  Result<void> sealed_;  // how the last seal went
  bool failing_ = false;
  bool closed_ = false;
};

}  // namespace idleburn
