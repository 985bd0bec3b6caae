#include "audit/live_record.h"

#include <unistd.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <string_view>
#include <system_error>

#include "audit/watch_flags.h"
#include "import/host_watch.h"
#include "measure/proc_files.h"
#include "os/folder.h"
#include "os/kept_file.h"
#include "telemetry/recording.h"
#include "telemetry/run_facts.h"
#include "terminal/output.h"
#include "text/number.h"
#include "text/time_zone.h"

// All that a live run tells passes through here, once. The recording receives the same calls as the classifier, in the
// same order. An audit of the recording therefore repeats the audit of the run. A new kind of call must go to both, or
// a replay would differ.
//
// The recording is optional at every point: it may be unwanted, impossible to begin, or fail on a full disk. Measuring
// goes on without it.

namespace idleburn {
namespace {

// Creates the file and its folder. The folder of idleburn's own recordings is private. A folder that the user named
// gets the user's usual permissions.
Result<std::unique_ptr<RecordingWriter>> BeginWriter(const std::string& path, const DeviceTable& devices,
                                                     const RecordingOptions& options) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  TRY(options.mode == kPrivateFile ? MakePrivateFolder(folder) : MakeNamedFolder(folder));
  return RecordingWriter::Create(path, devices, options);
}

}  // namespace

LiveRecord::LiveRecord(const Thresholds& thresholds) : inputs_(std::make_shared<RunInputs>(thresholds)) {}

Result<void> LiveRecord::RecordTo(const std::string& path, Instant start, const std::string& flag, bool named) {
  RecordingOptions options;
  options.start = start;
  options.tell = Say;
  options.flag = flag;
  if (!named) options.mode = kPrivateFile;
  Result<std::unique_ptr<RecordingWriter>> writer = BeginWriter(path, inputs_->devices, options);
  if (!writer) {
    inputs_->quality.Count(QualityId::kUnwrittenRecording, {&path, 0});
    return tl::unexpected<Error>(writer.error());
  }
  writer_ = std::move(*writer);
  path_ = path;
  return {};
}

void LiveRecord::TellMachine() {
  std::array<char, 256> host{};
  if (gethostname(host.data(), host.size() - 1) == 0) OnFact({"host", host.data()});
  if (const std::string boot = FileText("/proc/sys/kernel/random/boot_id"); !boot.empty()) OnFact({kBootFact, boot});
  OnFact({"idleburn", IDLEBURN_VERSION});
}

void LiveRecord::Discard() {
  if (!writer_) return;
  // The result does not matter: the file is deleted next.
  writer_->Close().has_value();
  writer_.reset();
  std::error_code ignored;
  std::filesystem::remove(path_, ignored);
  path_.clear();
}

void LiveRecord::OnSamples(std::span<const Sample> samples) {
  // The watch comes last, because it counts what the classifier has accounted.
  inputs_->classifier.OnSamples(samples);
  if (writer_) writer_->OnSamples(samples);
  if (watch_ == nullptr || samples.empty()) return;
  for (const WatchAlert& alert : watch_->OnSamples(samples, *inputs_)) {
    OnNote({samples.back().time, NoteKind::kAlert, alert.text});
  }
}

// Held samples come again through OnSamples, in order of time. Only the recording takes them now, so that a kill loses
// less than a second.
void LiveRecord::OnHeld(std::span<const Sample> samples) {
  if (writer_) writer_->OnHeld(samples);
}

void LiveRecord::OnHost(std::span<const HostSample> samples) {
  inputs_->summary.OnHost(samples);
  if (writer_) writer_->OnHost(samples);
}

void LiveRecord::OnWork(const WorkMark& mark) {
  inputs_->summary.OnWork(mark);
  if (writer_) writer_->OnWork(mark);
}

void LiveRecord::OnNote(const Note& note) {
  inputs_->summary.OnNote(note);
  if (!writer_) return;
  writer_->OnNote(note);
  // Start and end of the command are written at once, so that a kill cannot lose them.
  if (note.kind == NoteKind::kWorkloadStarted || note.kind == NoteKind::kWorkloadEnded) writer_->Flush();
}

void LiveRecord::OnFact(const RunFact& fact) {
  // A part of idleburn failed, so some time was not measured. The report must show that as a doubt.
  if (fact.key == kMeasuringFailedFact) inputs_->quality.CountNamed(QualityId::kMeasuringFailed, fact.value);
  inputs_->summary.OnFact(fact);
  if (writer_) writer_->OnFact(fact);
}

Result<void> LiveRecord::Close() {
  if (!writer_) return {};
  const Result<void> closed = writer_->Close();
  if (closed) return {};
  inputs_->quality.Count(QualityId::kUnwrittenRecording, {&path_, 0});
  return closed;
}

std::string UsualRecordingPath(const std::string& folder, Instant now) {
  if (folder.empty()) return {};
  const CivilTime t = ToCivil(now);
  std::array<char, 64> name{};
  std::snprintf(name.data(), name.size(), "/%04d%02d%02d-%02d%02d%02d-%d", static_cast<int>(t.year), t.month, t.day,
                t.hour, t.minute, t.second, static_cast<int>(getpid()));
  return folder + name.data() + std::string(kRecordingSuffix);
}

namespace {

std::string FileOf(pid_t pid, const std::string& name) { return "/proc/" + std::to_string(pid) + "/" + name; }

}  // namespace

Result<std::optional<RecordedProcess>> RecordedProcess::Named(const std::string& text) {
  if (text.empty()) return std::optional<RecordedProcess>();
  const std::optional<std::int64_t> pid = ParseInteger(text);
  if (!pid || *pid <= 0 || *pid > std::numeric_limits<pid_t>::max()) {
    return FailUsage("--pid: " + text + " is not a process id; give the number that ps shows");
  }
  const std::optional<std::int64_t> start = RunningSince("/proc", *pid);
  if (!start) return Fail("--pid: no process " + text + " runs here; ps shows those that do");
  return std::optional(RecordedProcess(static_cast<pid_t>(*pid), *start));
}

bool RecordedProcess::Runs() const { return RunningSince("/proc", pid_) == start_ticks_; }

VariableLookup RecordedProcess::Variables() const {
  if (pid_ == getppid()) return OwnVariable;
  return [environment = '\0' + FileText(FileOf(pid_, "environ")) + '\0'](std::string_view name) {
    const std::string begin = '\0' + std::string(name) + '=';
    const std::size_t at = environment.find(begin);
    if (at == std::string::npos) return std::optional<std::string>();
    const std::size_t value = at + begin.size();
    return std::optional(environment.substr(value, environment.find('\0', value) - value));
  };
}

}  // namespace idleburn
