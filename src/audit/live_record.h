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
// Where a live run goes, all at once: to the classifier, so that its audit is ready when it ends; to a summary of the
// host and the work done; and to a recording.
class LiveRecord final : public LiveSink {
 public:
  // `thresholds` outlives the record.
  explicit LiveRecord(const Thresholds& thresholds);

  // Keeps a recording too, in a file that does not exist yet; its folder is made. Before anything is pushed. Trouble
  // while writing is told on standard error; what was written stays, and the run goes on. `flag` names another file.
  // That it cannot be begun is counted as doubtful, too. `named`: the user chose the file; else it is the user's alone.
  Result<void> RecordTo(const std::string& path, Instant start, const std::string& flag, bool named);
  [[nodiscard]] const std::string& path() const { return path_; }  // of the recording; empty without one
  // From here on `watch`, which outlives the record, sees the samples too; its alerts are notes of the run.
  void WatchBy(LiveWatch* watch) { watch_ = watch; }
  // Tells which machine this is.
  void TellMachine();
  // Takes the recording back: the run never began.
  void Discard();

  void OnSamples(std::span<const Sample> samples) override;
  void OnHeld(std::span<const Sample> samples) override;
  void OnHost(std::span<const HostSample> samples) override;
  void OnWork(const WorkMark& mark) override;
  void OnNote(const Note& note) override;
  void OnFact(const RunFact& fact) override;

  // The end: nothing may be pushed afterwards. Fails if not all of the recording could be written, which is counted as
  // doubtful.
  Result<void> Close();

  // The end of the live Read step: the run as it was recorded, to be audited.
  [[nodiscard]] std::shared_ptr<RunInputs> Recorded() const { return inputs_; }
  [[nodiscard]] RunInputs& inputs() { return *inputs_; }
  [[nodiscard]] const RunSummary& summary() const { return inputs_->summary; }

 private:
  std::shared_ptr<RunInputs> inputs_;
  std::string path_;
  std::unique_ptr<RecordingWriter> writer_;
  LiveWatch* watch_ = nullptr;
};

// A file in that folder for the recording of a run that begins now; empty if there is no folder.
std::string UsualRecordingPath(const std::string& folder, Instant now);

// A running process that `record --pid` is about, with all that it starts.
class RecordedProcess {
 public:
  // Absent if nothing is named.
  static Result<std::optional<RecordedProcess>> Named(const std::string& text);

  [[nodiscard]] pid_t pid() const { return pid_; }
  // Whether it has not ended; not another process that got its pid.
  [[nodiscard]] bool Runs() const;
  // Its environment as it was started with. That of our parent, where it started us with its own, as that is now.
  [[nodiscard]] VariableLookup Variables() const;

 private:
  RecordedProcess(pid_t pid, std::int64_t start_ticks) : pid_(pid), start_ticks_(start_ticks) {}

  pid_t pid_;
  std::int64_t start_ticks_;
};

}  // namespace idleburn
