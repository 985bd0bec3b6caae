#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "audit/live_watch.h"
#include "audit/run_inputs.h"
#include "base/result.h"
#include "measure/system_facts.h"
#include "telemetry/recording_writer.h"

namespace idleburn {
// Receives a live run and passes it on at once: to the classifier, so that the audit is ready when the run ends; to a
// summary of host and work; and to a recording.
class LiveRecord final : public LiveSink {
 public:
  // `thresholds` must outlive the record.
  explicit LiveRecord(const Thresholds& thresholds);

  // Keeps a recording too. Call it before anything is pushed. The file must not exist yet; its folder is created.
  // `named` means that the user chose the file. Otherwise only the user may read it. `flag` is the flag that names
  // another file, for messages.
  //
  // Fails if the recording cannot be begun, and counts that as a doubt. Later failures to write are said on standard
  // error. What was written stays, and the run goes on.
  Result<void> RecordTo(const std::string& path, Instant start, const std::string& flag, bool named);
  [[nodiscard]] const std::string& path() const { return path_; }  // of the recording; empty without one
  // Shows all further samples to `watch`, which must outlive the record. Its alerts become notes of the run.
  void WatchBy(LiveWatch* watch) { watch_ = watch; }
  // Pushes the facts that identify this machine: host name, boot, and the version of idleburn.
  void TellMachine();
  // Deletes the recording. For a run that never began.
  void Discard();

  void OnSamples(std::span<const Sample> samples) override;
  void OnHeld(std::span<const Sample> samples) override;
  void OnHost(std::span<const HostSample> samples) override;
  void OnWork(const WorkMark& mark) override;
  void OnNote(const Note& note) override;
  void OnFact(const RunFact& fact) override;

  // Ends the recording; nothing may be pushed afterwards. Fails if a part of it could not be written, and counts that
  // as a doubt.
  Result<void> Close();

  // The result of the live Read step: the run as recorded, ready to be audited.
  [[nodiscard]] std::shared_ptr<RunInputs> Recorded() const { return inputs_; }
  [[nodiscard]] RunInputs& inputs() { return *inputs_; }
  [[nodiscard]] const RunSummary& summary() const { return inputs_->summary; }

 private:
  std::shared_ptr<RunInputs> inputs_;
  std::string path_;
  std::unique_ptr<RecordingWriter> writer_;
  LiveWatch* watch_ = nullptr;
};

// The path of a recording that begins now: FOLDER/20261121-201500-PID.idleburn. The pid keeps apart two runs that start
// in the same second. Empty if there is no folder.
std::string UsualRecordingPath(const std::string& folder, Instant now);

// A running process that `record --pid` measures, with everything that it starts.
class RecordedProcess {
 public:
  // Reads --pid. Absent if the flag was not given. Fails if no such process runs.
  static Result<std::optional<RecordedProcess>> Named(const std::string& text);

  [[nodiscard]] pid_t pid() const { return pid_; }
  // Whether the process still runs. The start time tells it from another process that got its pid.
  [[nodiscard]] bool Runs() const;
  // Looks up variables in the environment that the process was started with. For our parent it uses our own
  // environment: that one also holds what a shell exported later, which /proc does not show.
  [[nodiscard]] VariableLookup Variables() const;

 private:
  RecordedProcess(pid_t pid, std::int64_t start_ticks) : pid_(pid), start_ticks_(start_ticks) {}

  pid_t pid_;
  std::int64_t start_ticks_;
};

}  // namespace idleburn
