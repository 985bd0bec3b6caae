#include "telemetry/recording.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "import/formats.h"
#include "import/host_watch.h"
#include "telemetry/run_facts.h"
#include "telemetry/sample.h"

namespace idleburn {

// A recording of idleburn's own. telemetry/recording.h reads the file; this importer adds what only matters offline:
// values are checked against their ranges, and the run gets a start and an end even if its recorder was killed.

namespace {

// Forwards what a recording holds: GPU samples to the sink, the rest to ImportTarget::beside. On the way it notes
// what the end of the import needs: the newest time, the host, the boot, and when each GPU was read. A recording
// keeps values exactly as measured, so impossible values are corrected or dropped here.
class GpuSamples final : public LiveSink {
 public:
  GpuSamples(const std::string& file, ImportTarget& out) : file_(file), out_(out) {
    for (const SignalInfo& info : kSignals) ranges_[Index(info.id)] = &RangeOf(info.unit);
  }

  // Samples with an impossible time are dropped and counted: a damaged stamp must not stretch the run by decades.
  void OnSamples(std::span<const Sample> samples) override {
    batch_.assign(samples.begin(), samples.end());
    for (Sample& sample : batch_) Check(sample);
    const auto undated = [](const Sample& s) { return s.time.nanos() < 0 || s.time.nanos() > kLatestStampNs; };
    const auto bad = std::remove_if(batch_.begin(), batch_.end(), undated);
    out_.quality.Count(QualityId::kBadRow, {&file_, 0}, batch_.end() - bad);
    batch_.erase(bad, batch_.end());
    for (const Sample& sample : batch_) {
      newest_ = std::max(newest_, sample.time);
      if (sample.device >= stays_.size()) stays_.resize(sample.device + 1);
      stays_[sample.device].See(sample.time);
    }
    if (!batch_.empty()) out_.sink.OnSamples(batch_);
  }
  void OnHost(std::span<const HostSample> samples) override {
    for (const HostSample& sample : samples) newest_ = std::max(newest_, sample.time);
    if (out_.beside != nullptr) out_.beside->OnHost(samples);
  }
  void OnWork(const WorkMark& mark) override {
    if (out_.beside != nullptr) out_.beside->OnWork(mark);
  }
  void OnNote(const Note& note) override {
    if (out_.beside != nullptr) out_.beside->OnNote(note);
  }
  void OnFact(const RunFact& fact) override {
    told_.Take(fact);
    if (fact.key == "host") host_ = fact.value;
    if (fact.key == kBootFact) boot_ = fact.value;
    if (fact.key == kMeasuringFailedFact) {
      out_.quality.CountNamed(QualityId::kMeasuringFailed, fact.value, {&file_, 0});
    }
    if (out_.beside != nullptr) out_.beside->OnFact(fact);
  }
  // What the recording itself says about the time of its run.
  [[nodiscard]] const RunWindow& told() const { return told_; }
  // Tells RecordedHosts on which machine each GPU was read, and when.
  void TellStays() const {
    // The host that the user gave for this input, if any.
    const std::string& said = out_.devices.HostOf({});
    for (DeviceId id = 0; out_.recorded != nullptr && id < stays_.size(); ++id) {
      const HostWatch::Stay& stay = stays_[id];
      const std::string& uuid = out_.devices[id].uuid;
      if (stay.first > stay.last || uuid.empty()) continue;
      out_.recorded->Add({file_, said.empty() ? host_ : said, !said.empty(), boot_, uuid, stay.first, stay.last});
    }
  }
  // The stamp of the newest reading of a GPU or the host. Absent if there is none.
  [[nodiscard]] std::optional<Instant> newest() const {
    return newest_.nanos() > 0 && newest_.nanos() <= kLatestStampNs ? std::optional(newest_) : std::nullopt;
  }

 private:
  // Puts values into the range of their unit. A value that is impossible even with tolerance becomes unavailable.
  void Check(Sample& sample) {
    for (std::uint32_t rest = sample.present; rest != 0; rest &= rest - 1) {
      const auto s = static_cast<std::size_t>(__builtin_ctz(rest));
      std::int64_t& value = sample.value[s];
      if (value >= ranges_[s]->low && value <= ranges_[s]->high) continue;
      const std::optional<std::int64_t> possible = InRange(ranges_[s]->unit, value);
      if (possible) {
        value = *possible;
        continue;
      }
      sample.present &= ~(std::uint32_t{1} << s);
      sample.SetUnavailable(static_cast<Signal>(s), Unobserved::kInvalidCounter);
      out_.quality.Count(QualityId::kOutOfRange, {&file_, 0});
    }
  }

  const std::string& file_;
  ImportTarget& out_;
  std::array<const ValueRange*, kSignalCount> ranges_{};
  std::vector<Sample> batch_;
  Instant newest_ = Instant::FromNanos(INT64_MIN);
  RunWindow told_;
  std::vector<HostWatch::Stay> stays_;  // by device
  std::string host_;
  std::string boot_;
};

}  // namespace

// A journal is the file beside a recording that holds its open chunk (docs/recording.md). It is recognized too, so
// that it is not taken for a file of an unknown format.
bool SniffRecording(std::string_view head) {
  return IsRecording(head) || head.substr(0, kJournalMagic.size()) == kJournalMagic;
}

Result<void> ImportRecording(ByteSource& in, const ImportOptions& /*options*/, ImportTarget& out) {
  GpuSamples sink(in.name(), out);
  const RecordingSummary summary = TRY(ReadRecording(in, out.devices, out.quality, sink));
  sink.TellStays();
  if (!summary.closed && !summary.being_written && summary.records == 0) {
    return Fail(in.name() + ": was cut in its first minute, and " + in.name() + std::string(kJournalSuffix) +
                ", the journal of that minute, is missing or empty; copy both files again");
  }
  // A recorder that died left no facts about the run's time. The run was measured from the start of the file until the
  // last reading; the second in which the recorder died is not counted to its end.
  if (summary.start_missing && !sink.told().start) sink.OnFact(RunWindow::StartFact(summary.header.start));
  if (!summary.closed && !sink.told().end && sink.newest()) sink.OnFact(RunWindow::EndFact(*sink.newest()));
  return {};
}

}  // namespace idleburn
