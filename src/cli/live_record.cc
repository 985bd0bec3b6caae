#include "cli/live_record.h"

#include <unistd.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include "cli/say.h"
#include "import/host_watch.h"
#include "os/folder.h"
#include "os/kept_file.h"
#include "telemetry/recording.h"
#include "telemetry/run_facts.h"
#include "text/time_zone.h"

namespace idleburn {
namespace {

// What a report says is not said again; the rest is in the recording.
bool IsWorthALine(NoteKind kind) {
  return kind != NoteKind::kWorkloadStarted && kind != NoteKind::kWorkloadEnded && kind != NoteKind::kSettled &&
         kind != NoteKind::kDeviceFound && kind != NoteKind::kAlert && kind != NoteKind::kEnforced;
}

void SayUse(const RunSummary& summary) {
  for (const HostScope scope : {HostScope::kWorkload, HostScope::kMachine}) {
    if (const std::optional<HostUse> use = summary.Use(scope)) Say(DescribeUse(*use, scope));
  }
}

void SayNotes(const RunSummary& summary) {
  for (const Note& note : summary.notes()) {
    if (!IsWorthALine(note.kind)) continue;
    std::string kind(kNoteKindNames[static_cast<std::size_t>(note.kind)]);
    for (char& c : kind) c = c == '_' ? ' ' : c;
    Say(kind + ": " + note.text);
  }
}

Result<std::unique_ptr<RecordingWriter>> BeginWriter(const std::string& path, const DeviceTable& devices,
                                                     const RecordingOptions& options) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  TRY(options.mode == kPrivateFile ? MakePrivateFolder(folder) : MakeNamedFolder(folder));
  return RecordingWriter::Create(path, devices, options);
}

}  // namespace

LiveRecord::LiveRecord(const Thresholds& thresholds)
    : inputs_(std::make_unique<RunInputs>()),
      classifier_(thresholds, inputs_->devices, inputs_->quality, FactsOf, &inputs_->summary.window()) {}

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
  writer_->Close().has_value();
  writer_.reset();
  std::error_code ignored;
  std::filesystem::remove(path_, ignored);
  path_.clear();
}

void LiveRecord::OnSamples(std::span<const Sample> samples) {
  classifier_.OnSamples(samples);
  if (writer_) writer_->OnSamples(samples);
  if (watch_ == nullptr || samples.empty()) return;
  for (const WatchAlert& alert : watch_->OnSamples(samples, *inputs_, classifier_)) {
    OnNote({samples.back().time, NoteKind::kAlert, alert.text});
  }
}

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
  if (note.kind == NoteKind::kWorkloadStarted || note.kind == NoteKind::kWorkloadEnded) writer_->Flush();
}

void LiveRecord::OnFact(const RunFact& fact) {
  if (fact.key == kMeasuringFailedFact) inputs_->quality.CountNamed(QualityId::kMeasuringFailed, fact.value);
  inputs_->summary.OnFact(fact);
  if (writer_) writer_->OnFact(fact);
}

Result<void> LiveRecord::Close() {
  inputs_->run = classifier_.Finish();
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

ReportEnd ReportLive(const ReportPlan& plan, LiveRecord& record, const std::string& why_no_gpu,
                     const Settings& settings, const Environment& environment) {
  RunInputs& inputs = record.inputs();
  std::string why = LeaveOutHidden(plan, inputs);
  if (why.empty()) why = why_no_gpu.empty() ? "it ended too soon for a reading" : why_no_gpu;
  const bool measured = !inputs.run.devices.empty();
  if (!measured) Say("no GPU was measured: " + why);
  const bool on_stderr = plan.request.to_stderr && plan.request.output.empty();
  const bool of_text = plan.format == ReportFormat::kText && plan.request.output.empty();
  ReportEnd end;
  if (measured || !of_text) {
    const std::string name = record.path().empty() ? "this machine" : record.path();
    end = ReportRun(plan, inputs, {name}, why, settings, environment);
  } else {
    for (const std::string& gate : UnjudgedGates(plan.gates, "no GPU was measured")) Say("--fail-on " + gate);
    end.gates_hold = plan.gates.empty();
    if (Result<RunFigures> figures = FiguresOfRun(plan, inputs, settings, environment.now)) {
      end.figures = std::move(*figures);  // the work done
    }
  }
  const bool quiet = plan.request.quiet;
  const bool mixes = on_stderr && plan.format != ReportFormat::kText && !quiet;
  if (!mixes && !quiet) SayUse(record.summary());
  if (!mixes) SayNotes(record.summary());
  if (!record.path().empty() && !quiet) Say("recording: " + record.path());
  return end;
}

}  // namespace idleburn
