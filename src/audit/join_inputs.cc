#include "audit/join_inputs.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <string>
#include <system_error>

#include "import/formats.h"
#include "import/log_watch.h"
#include "telemetry/counter_choice.h"
#include "telemetry/reading_times.h"
#include "text/figures.h"
#include "text/strings.h"

// Errors of this file all have one purpose: no two GPUs become one, and no GPU becomes two, without a word. Both
// mistakes leave a plausible report with a wrong bill. Guessing by the size of readings was no option, because GPUs of
// one job have nearly equal readings. So the user is asked, and the message shows what to write (docs/rows.md,
// "Which GPU a reading belongs to").
namespace idleburn {
namespace {

// How long two logs of one GPU may overlap when one logger takes over from another.
constexpr Nanos kHandOver{5 * kNanosPerSecond};

// Whether rows about `a` that name no host may be about `b`, which is on another host: same bus id or index, and no
// different model.
bool MayBeMeant(const Device& a, const Device& b) {
  if (a.host.empty() || b.host.empty() || a.host == b.host || a.mig || b.mig) return false;
  if (!a.name.empty() && !b.name.empty() && a.name != b.name) return false;
  if (!a.bus_id.empty() && !b.bus_id.empty()) return a.bus_id == b.bus_id;
  return a.index && a.index == b.index;
}

}  // namespace

void InputOverlap::See(const Sample& sample) {
  for (std::size_t i = 0; i < kDecisive.size(); ++i) {
    if (!sample.Has(kDecisive[i])) continue;
    if (sample.device >= present_.size()) present_.resize(sample.device + 1);
    present_[sample.device][i].See(sample.time);
  }
}

Result<void> InputOverlap::End(const std::string& input) {
  inputs_.push_back(input);
  for (DeviceId device = 0; device < present_.size(); ++device) {
    for (std::size_t i = 0; i < kDecisive.size(); ++i) {
      Coverage& covered = present_[device][i];
      if (covered.empty()) continue;
      covered.Settle();
      const Signal signal = kDecisive[i];
      std::string counter = devices_[device].counter[Index(signal)];
      if (counter.empty()) counter = Info(signal).name;
      const Series now{inputs_.size() - 1, devices_.NamedBy(device), std::move(counter), std::move(covered)};
      std::vector<Series>& before = ended_[{device, signal}];
      for (const Series& series : before) TRY(Check(series, now, device));
      before.push_back(now);
    }
  }
  present_.clear();
  for (DeviceId device = 0; device < devices_.size(); ++device) {
    if (devices_.NamedBy(device) == DeviceTable::kByPlace) placed_.emplace_back(inputs_.size() - 1, device);
  }
  return {};
}

Result<void> InputOverlap::Finish() const {
  for (const auto& [input, device] : placed_) {
    const Device& taken = devices_[device];
    for (DeviceId id = 0; id < devices_.size() && !taken.host.empty(); ++id) {
      const Device& other = devices_[id];
      if (!MayBeMeant(taken, other)) continue;
      const std::string& name = inputs_[input];
      return Fail(name + ": does not show whether its " + NameOf(taken) + " belongs to " + taken.host + " or " +
                  other.host + "; name the host: " + taken.host + "=" + name + " or " + other.host + "=" + name);
    }
  }
  return {};
}

// Two series are certain if both name the device by UUID, or both by host. Otherwise only a short overlap is accepted:
// that of a hand-over, or 2.5 steps of a slow log.
Result<void> InputOverlap::Check(const Series& before, const Series& now, DeviceId device) const {
  constexpr unsigned kSure = DeviceTable::kByUuid | DeviceTable::kByHost;
  if ((before.named_by & now.named_by & kSure) != 0 || !IsSameCounter(before.counter, now.counter)) return {};
  const Nanos overlap = Coverage::Overlap(before.covered, now.covered);
  const Nanos step = std::max(before.covered.Step(), now.covered.Step());
  if (overlap <= std::max(kHandOver, step * 5 / 2)) return {};
  const std::string& first = inputs_[before.input];
  const std::string& second = inputs_[now.input];
  return Fail(first + " and " + second + ": both give " + now.counter + " of " + NameOf(devices_[device]) +
              " for the same " + DurationForPeople(overlap) +
              ", and they do not both name its UUID or its host; if they come from two machines, name them: NODE1=" +
              first + " NODE2=" + second + "; if from one machine, leave out one file");
}

namespace {

// An unknown text agrees with any other.
bool MayAgree(std::string_view a, std::string_view b) { return a.empty() || b.empty() || a == b; }

// Whether nothing that is known of two devices contradicts that they are one GPU.
bool MayBeOne(const Device& a, const Device& b) {
  const auto keyed = [](const Device& d) { return !d.uuid.empty() || !d.bus_id.empty() || d.index; };
  if (a.mig || b.mig || !keyed(a) || !keyed(b)) return false;
  return MayAgree(a.uuid, b.uuid) && MayAgree(a.bus_id, b.bus_id) && MayAgree(a.host, b.host) &&
         MayAgree(a.name, b.name) && (!a.index || !b.index || *a.index == *b.index);
}

}  // namespace

std::string NameOf(const Device& device) {
  if (!device.uuid.empty()) return device.uuid;
  if (!device.bus_id.empty()) return "the GPU at " + Printable(device.bus_id);
  return device.index ? "GPU " + std::to_string(*device.index) : "GPU '" + Printable(device.name) + "'";
}

// Looks for words instead of parsing the head: the importer that could parse it is not chosen yet, and a wrong guess
// changes only the order of reading.
InputKeys KeysOf(std::string_view head) {
  constexpr std::array<std::string_view, 6> kPlaces = {"index",  "gpu=\"",   "minor_number",
                                                       "bus_id", "<gpu id=", "ordinal"};
  if (!Mentions(head, "uuid")) return InputKeys::kIndex;
  const bool placed =
      std::any_of(kPlaces.begin(), kPlaces.end(), [&](std::string_view place) { return Mentions(head, place); });
  return placed ? InputKeys::kSeveral : InputKeys::kUuid;
}

Result<void> CheckDistinct(const DeviceTable& devices) {
  for (DeviceId a = 0; a < devices.size(); ++a) {
    for (DeviceId b = a + 1; b < devices.size(); ++b) {
      if (!MayBeOne(devices[a], devices[b])) continue;
      return Fail("the inputs do not show whether " + NameOf(devices[a]) + " and " + NameOf(devices[b]) +
                  " are the same GPU; add an input with both its UUID and its index, or audit the inputs separately");
    }
  }
  return {};
}

// Joins several inputs of one run. The classifier needs samples in order of time, so all samples of all inputs are
// sorted onto one clock before it sees any (telemetry/time_sorter.h). A merge of streams would need less disk, but some
// formats group by metric or by GPU and are not in order of time at all.
//
// The dangers here are silent. Two GPUs joined into one halve the bill, and one GPU taken for two doubles it. So every
// doubtful case is an error that says what to add (docs/rows.md, "Which GPU a reading belongs to").

namespace {

// Passes samples of one input on, and notes what joining depends on: signals, dates, and the time that each GPU covers.
class JoinWatch final : public SampleSink {
 public:
  JoinWatch(SampleSink& next, InputOverlap& overlap) : next_(next), overlap_(overlap) {}

  void OnSamples(std::span<const Sample> samples) override {
    samples_ += samples.size();
    for (const Sample& s : samples) {
      signals_ |= s.present | s.unavailable;
      (IsDated(s.time) ? dated_ : undated_) = true;
      overlap_.See(s);
    }
    next_.OnSamples(samples);
  }
  [[nodiscard]] std::uint32_t signals() const { return signals_; }
  [[nodiscard]] std::uint64_t samples() const { return samples_; }
  // What carries no times begins at second 0 of 1970.
  [[nodiscard]] bool undated() const { return undated_; }
  [[nodiscard]] bool dated() const { return dated_; }

 private:
  SampleSink& next_;
  InputOverlap& overlap_;
  std::uint32_t signals_ = 0;
  std::uint64_t samples_ = 0;
  bool undated_ = false;
  bool dated_ = false;
};

// Drops all samples. For readers that only want what an importer tells besides samples.
class Forgets final : public SampleSink {
 public:
  void OnSamples(std::span<const Sample> /*samples*/) override {}
};

// Passes samples on and counts them as progress.
class CountedSamples final : public SampleSink {
 public:
  CountedSamples(SampleSink& next, Progress& progress) : next_(next), progress_(progress) {}

  void OnSamples(std::span<const Sample> samples) override {
    next_.OnSamples(samples);
    progress_.Add(samples.size());
  }

 private:
  SampleSink& next_;
  Progress& progress_;
};

// Fails if NODE=FILE puts one GPU on two hosts. A GPU is on one machine, so one of the two names would be lost
// silently. A host that an input tells by itself is no contradiction.
Result<void> CheckHost(const KnownInput& input, const ImportOptions& options, const DeviceTable& devices) {
  if (input.host.empty()) return {};
  for (DeviceId id = 0; id < devices.size(); ++id) {
    const std::string& other = devices[id].host;
    if (devices.NamedBy(id) == 0 || other == input.host) continue;
    const bool said = std::any_of(options.hosts.begin(), options.hosts.end(),
                                  [&other](const auto& named) { return named.second == other; });
    if (!said) continue;  // the input names the machine itself
    return Fail(NameOf(devices[id]) + " is on " + other + " by one input and on " + input.host +
                " by another: name one node for both, or leave one input out");
  }
  return {};
}

// The error of an import, with a hint if the compressed file is cut off: what the reader missed may have been in the
// lost end.
Error WithLostEnd(Error error, const ByteSource& source) {
  if (source.truncated()) {
    error.message = source.name() +
                    ": its compressed data is cut off; copy the file again (the part that is left: " + error.message +
                    ")";
  }
  return error;
}

}  // namespace

Result<RecordedHosts> LookAtRecordings(const std::vector<std::string>& paths, const ImportOptions& options,
                                       Progress* progress) {
  std::vector<KnownInput> recordings;
  std::vector<std::string> names;
  for (const std::string& path : paths) {
    std::error_code error;
    if (!std::filesystem::is_regular_file(path, error)) continue;
    KnownInput opened = TRY(OpenKnownInput(path, options, progress));
    if (opened.importer != nullptr && opened.importer->import == ImportRecording) {
      names.push_back(opened.source->name());
      recordings.push_back(std::move(opened));
    }
  }
  // Each recording gets tables of its own, because this look must not enter devices into the run.
  RecordedHosts found;
  if (recordings.size() < 2) return found;
  if (progress != nullptr) progress->Begin("looking at", ProgressUnit::kBytes, SizeOfFiles(names));
  for (const KnownInput& recording : recordings) {
    DeviceTable devices;
    DataQuality quality;
    OwnerLedger owners;
    Forgets forgets;
    ImportTarget target{devices, quality, owners, forgets};
    target.recorded = &found;
    devices.BeginInput(recording.host);
    TRY(recording.importer->import(*recording.source, options, target));
  }
  if (progress != nullptr) progress->End();
  return found;
}

Result<void> ImportInput(const KnownInput& input, const ImportOptions& options, ImportTarget& target) {
  target.devices.BeginInput(input.host);
  // idleburn's own formats need no guard: the units of their fields are known.
  PercentGuard guard(target.sink, target.devices, options);
  const bool ours = input.importer->clock == ClockDomain::kMonotonic;  // whose units are known
  ImportTarget guarded = target.WithSink(ours ? target.sink : guard);
  const Result<void> imported = input.importer->import(*input.source, options, guarded);
  if (!imported) return tl::unexpected<Error>(WithLostEnd(imported.error(), *input.source));
  TRY(guard.Check(input.source->name(), target.quality));
  TRY(CheckHost(input, options, target.devices));
  if (input.source->truncated()) target.quality.Count(QualityId::kTruncatedInput, {&input.source->name(), 0});
  return {};
}

Result<void> CheckOrder(const std::string& input, std::int64_t rows, std::int64_t rows_back) {
  constexpr std::int64_t kFewRows = 8;  // in which some that went back prove nothing
  if (rows < kFewRows || 2 * rows_back <= rows) return {};
  return Fail(input + ": most rows are older than the row before; sort the file by time, oldest first");
}

Result<void> InputJoin::TellMachines(const RecordedHosts& looked_at) {
  const std::set<std::string> twins = looked_at.Twins();
  TRY(looked_at.Check(twins));
  recorded_ = looked_at;
  if (twins.empty()) return {};
  devices_.TellApartByHost(twins);
  for (const RecordedStay& stay : looked_at.stays()) machines_[stay.file] = stay.host;
  return {};
}

// Such a UUID names no GPU by itself. An input may use it only with a host that TellMachines knows.
Result<void> InputJoin::CheckTwins(const std::string& input) const {
  for (DeviceId id = 0; id < devices_.size(); ++id) {
    const Device& d = devices_[id];
    if (devices_.NamedBy(id) == 0 || devices_.TwinUuids().count(d.uuid) == 0) continue;
    const bool known = std::any_of(machines_.begin(), machines_.end(),
                                   [&](const auto& machine) { return !d.host.empty() && machine.second == d.host; });
    if (known) continue;
    return Fail(input + ": names " + d.uuid + (d.host.empty() ? "" : " on " + d.host) +
                ", and recordings show that UUID on " + recorded_.HostsOf(d.uuid) +
                "; name its machine, NODE=" + input + ", or leave it out");
  }
  return {};
}

Result<void> InputJoin::Read(KnownInput& input, const ImportOptions& options) {
  ++inputs_;
  const std::string& name = input.source->name();
  if (const auto machine = machines_.find(name); machine != machines_.end()) input.host = machine->second;
  JoinWatch watch(sorter_, overlap_);
  StraightClock clock(watch, quality_);
  // Only rows that come in order from a wall clock can show that the clock was set back. Sorted formats have no order
  // to judge.
  const bool steps = input.importer->in_order && input.importer->clock == ClockDomain::kWall;
  ImportTarget target{devices_, quality_, owners_, steps ? static_cast<SampleSink&>(clock) : watch, &links_, &hosts_};
  const bool looked_at = std::any_of(recorded_.stays().begin(), recorded_.stays().end(),
                                     [&](const RecordedStay& stay) { return stay.file == name; });
  if (!looked_at) target.recorded = &recorded_;
  TRY(ImportInput(input, options, target));
  TRY(CheckTwins(name));
  signals_ |= watch.signals();
  samples_ += watch.samples();
  dated_ = dated_ || watch.dated();
  if (undated_.empty() && watch.undated()) undated_ = name;
  TRY(CheckOrder(name, clock.rows(), clock.rows_back()));
  return overlap_.End(name);
}

Result<void> InputJoin::Deliver(SampleSink& out, Progress* progress) {
  if (inputs_ > 1 && dated_ && !undated_.empty()) {
    return Fail(
        undated_ +
        ": has no dates, so it cannot be joined with the other inputs; record it with times, or audit it alone");
  }
  TRY(recorded_.Check(devices_.TwinUuids()));
  recorded_.CountMoved(quality_);
  TRY(overlap_.Finish());
  if (inputs_ > 1) TRY(CheckDistinct(devices_));
  if (progress == nullptr || !progress->on() || samples_ == 0) return sorter_.Deliver(out);
  progress->Begin("sorting samples", ProgressUnit::kRows, samples_);
  CountedSamples counted(out, *progress);
  TRY(sorter_.Deliver(counted));
  progress->End();
  return {};
}

}  // namespace idleburn
