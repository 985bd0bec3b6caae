#include "cli/read_run.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>

#include "cli/input_keys.h"
#include "cli/join_inputs.h"
#include "cli/open_input.h"
#include "cli/reading_text.h"
#include "diagnose/host_evidence.h"
#include "diagnose/trace_diagnosis.h"
#include "telemetry/run_facts.h"
#include "text/time_zone.h"

namespace idleburn {
namespace {

// Reads the inputs of a run one by one.
class RunReader {
 public:
  RunReader(const ImportOptions& options, const Thresholds& thresholds, RunClassifier::FactsByName facts)
      : options_(options),
        classifier_(thresholds, run_->devices, run_->quality, facts,
                    options.window.named ? &options.window : &run_->summary.window()) {
    classifier_.AssumePowerLimit(options.power_limit_mw);
    if (options.window.named) run_->owners.KeepWithin(*options.window.start, *options.window.end);
  }

  // A profile is read at once. The first input of samples waits until it is known whether it is the only one.
  Result<void> Take(KnownInput input) {
    if (input.profiler != nullptr) return ReadProfile(input);
    ++inputs_;
    if (inputs_ == 1) {
      waiting_ = std::move(input);
      return {};
    }
    if (inputs_ == 2) TRY(join_.Read(*waiting_, options_));
    return join_.Read(input, options_);
  }

  Result<void> TellMachines(const RecordedHosts& looked_at) { return join_.TellMachines(looked_at); }

  // Counts what was doubtful elsewhere, too.
  void Doubt(const DataQuality& quality) { run_->quality.Merge(quality); }

  Result<std::unique_ptr<RunInputs>> Finish(const std::string& first_path) {
    const bool alone = inputs_ == 1 && waiting_->importer->in_order;
    if (alone) {
      TRY(ReadAlone(*waiting_));
    } else {
      if (inputs_ == 1) TRY(join_.Read(*waiting_, options_));
      NameTheNameless();
      TRY(join_.Deliver(Sink()));
    }
    NameTheNameless();
    run_->run = classifier_.Finish();
    TRY(CheckWindow(first_path));
    TRY(LeaveUnsizedOut(first_path));
    if (alone) TRY(CheckRows(first_path));
    TRY(CheckGaps(first_path));
    CountSeenInPart();
    if (!run_->profiles.empty()) AddTrace();
    if (run_->run.devices.empty() && !run_->trace) {
      return Fail(first_path + ": holds no reading of any GPU; nothing to audit");
    }
    return std::move(run_);
  }

 private:
  SampleSink& Sink() { return options_.window.named ? static_cast<SampleSink&>(filter_) : classifier_; }

  // --window says what a log does not. What measured a run by itself says when it began and ended.
  Result<void> CheckWindow(const std::string& path) {
    if (!options_.window.named) return {};
    if (run_->summary.window().start) {
      return Fail("--window: " + path + " says itself when it began and ended; leave --window out");
    }
    if (!run_->profiles.empty()) return Fail("--window: a profiler's trace is its own window; leave --window out");
    run_->quality.Count(QualityId::kOutsideWindow, {}, filter_.rows_outside());
    if (!run_->run.devices.empty() || !filter_.first()) return {};
    return Fail(path + ": no row lies in --window " + FormatRfc3339(*options_.window.start) + ".." +
                FormatRfc3339(*options_.window.end) + "; its rows are of " + FormatRfc3339(*filter_.first()) + " to " +
                FormatRfc3339(*filter_.last()));
  }

  // That a GPU was paid for only while it reported is an inference: one that fell off its bus has no rows either.
  void CountSeenInPart() {
    const RunResult& run = run_->run;
    if (run.window_named || run_->summary.window().start) return;
    for (const DeviceResult& device : run.devices) {
      if (device.spans || run_->devices[device.device].has_instances) continue;
      const Nanos held = options_.max_gap.value_or(device.period.value_or(Nanos(0)) * 5 / 2);
      const Nanos little = std::max(held, Nanos(kNanosPerSecond));
      const bool in_part = std::any_of(device.runs.begin(), device.runs.end(), [&](const DeviceResult::InRun& in) {
        return in.first - run.runs[in.run].start > little || run.runs[in.run].end - in.last > little;
      });
      if (in_part) run_->quality.CountNamed(QualityId::kSeenInPart, ShortName(run_->devices[device.device]));
    }
  }

  // Rows that an importer dropped, or took for instants.
  [[nodiscard]] std::int64_t DamagedRows() const {
    return run_->quality.CountOf(QualityId::kBadRow) + run_->quality.CountOf(QualityId::kLongDuration) +
           run_->quality.CountOf(QualityId::kNegativeDuration);
  }

  Result<void> ReadProfile(KnownInput& input) {
    const std::int64_t damaged = DamagedRows();
    Profile profile = TRY(input.profiler->read(*input.source, run_->quality));
    profile.events_missing = profile.events_missing || DamagedRows() > damaged;
    profile.file = input.source->name();
    const bool again = std::any_of(run_->profiles.begin(), run_->profiles.end(),
                                   [&](const Profile& other) { return other.file == profile.file; });
    if (again) return Fail(profile.file + ": is given twice; its GPUs would count twice");
    run_->profiles.push_back(std::move(profile));
    return {};
  }

  // --gpu-model names GPUs that no input names. Wrong where they are of several models: the report shows it as said.
  void NameTheNameless() {
    if (options_.gpu_model.empty()) return;
    run_->devices.BeginInput();
    for (DeviceId id = 0; id < run_->devices.size(); ++id) {
      const Device& d = run_->devices[id];
      if (!d.name.empty() || (d.uuid.empty() && d.bus_id.empty() && !d.index)) continue;
      run_->devices.Enter({d.uuid, d.bus_id, d.index, d.host, options_.gpu_model, d.mig});
    }
  }

  // The only input, in order of time: nothing need be sorted.
  Result<void> ReadAlone(const KnownInput& input) {
    ImportTarget target{run_->devices, run_->quality, run_->owners, Sink(), &run_->summary};
    return ImportInput(input, options_, target);
  }

  // Priced as whole GPUs, seven instances of one board would be seven boards.
  Result<void> LeaveUnsizedOut(const std::string& path) {
    std::vector<DeviceResult>& devices = run_->run.devices;
    const auto unsized = [&](const DeviceResult& d) { return IsUnsizedInstance(run_->devices[d.device]); };
    for (const DeviceResult& d : devices) {
      if (unsized(d)) run_->quality.CountNamed(QualityId::kUnsizedInstance, run_->devices[d.device].uuid);
    }
    const bool any = !devices.empty();
    devices.erase(std::remove_if(devices.begin(), devices.end(), unsized), devices.end());
    if (!any || !devices.empty()) return {};
    return Fail(path + ": its GPUs are MIG instances (MIG-...), and nothing says how much of which board they are; " +
                "add GPU_I_ID and GPU_I_PROFILE with the UUID of the board, as dcgm-exporter writes them");
  }

  // What is read as it comes is in order of time but for odd rows.
  [[nodiscard]] Result<void> CheckRows(const std::string& path) const {
    if (const std::optional<Instant> row = classifier_.Misplaced()) {
      return Fail(path + ": the row of " + FormatRfc3339(*row) +
                  " follows later ones and lies in a gap between them; " +
                  "give pieces of a log as separate files, in any order, take out rows of a clock that was wrong, or " +
                  "say --timezone if daylight saving ended");
    }
    std::int64_t back = 0;
    std::int64_t rows = 0;
    for (const DeviceResult& device : run_->run.devices) {
      back += device.totals.out_of_order + device.totals.clock_steps;
      rows += device.totals.samples + device.totals.out_of_order;
    }
    return CheckOrder(path, rows, back);
  }

  // A machine's clock may stand at 1970 until it is set: the years between would be priced as time that nobody saw.
  [[nodiscard]] Result<void> CheckGaps(const std::string& path) const {
    constexpr std::int64_t kLongestGap = 366 * 24 * kNanosPerHour;
    const RunResult& run = run_->run;
    if (run.window_named) return {};
    for (std::size_t i = 1; i < run.runs.size(); ++i) {
      if ((run.runs[i].start - run.runs[i - 1].end).count() > kLongestGap) return SkipsYears(path, run.start, run.end);
    }
    for (const DeviceResult& device : run_->run.devices) {
      if (device.totals.unobserved_ns[static_cast<std::size_t>(Unobserved::kGap)] <= kLongestGap) continue;
      return SkipsYears(path, device.first, device.last);
    }
    return {};
  }

  static Result<void> SkipsYears(const std::string& path, Instant first, Instant last) {
    return Fail(path + ": its times, from " + FormatRfc3339(first) + " to " + FormatRfc3339(last) +
                ", skip more than a year of which no row speaks; take out the rows of a clock that was not set, or " +
                "audit the parts one by one");
  }

  void AddTrace() {
    run_->trace = DiagnoseProfiles(run_->profiles, HostDuring(run_->profiles, run_->summary.host()));
    run_->traced_only = run_->run.devices.empty();
    if (run_->traced_only) run_->run = TracedRun(run_->profiles, *run_->trace, run_->devices, run_->quality);
  }

  const ImportOptions& options_;
  std::unique_ptr<RunInputs> run_ = std::make_unique<RunInputs>();
  RunClassifier classifier_;
  WindowFilter filter_{classifier_, options_.window};
  InputJoin join_{run_->devices, run_->quality, run_->owners, &run_->summary};
  std::optional<KnownInput> waiting_;
  std::size_t inputs_ = 0;  // of samples
};

// Reads the scheduler's lists of jobs among the inputs and takes them off `paths`: they bound what labels say, so they
// must be known before any label is read. Only plain files are looked at, since a pipe cannot be read twice.
Result<void> TakeJobLists(std::vector<std::string>& paths, ImportOptions& options, DataQuality& quality) {
  std::vector<std::string> others;
  for (std::string& path : paths) {
    std::error_code error;
    bool list = false;
    if (std::filesystem::is_regular_file(path, error)) {
      std::unique_ptr<ByteSource> file = TRY(OpenInput(path));
      PeekSource source(std::move(file));
      const Result<std::string_view> head = source.Peek(kSniffBytes);
      list = head && SniffJobTimes(*head);
      if (list) TRY(ReadJobTimes(source, options, quality, &options.jobs));
    }
    if (!list) others.push_back(std::move(path));
  }
  paths = std::move(others);
  return {};
}

}  // namespace

Result<std::unique_ptr<RunInputs>> ReadRun(std::vector<std::string> paths, const ImportOptions& given,
                                           const Thresholds& thresholds, RunClassifier::FactsByName facts,
                                           bool show_progress) {
  std::sort(paths.begin(), paths.end());
  ImportOptions options = given;
  DataQuality of_lists;
  if (paths.size() > 1) {
    const std::string first = paths.front();
    TRY(TakeJobLists(paths, options, of_lists));
    if (paths.empty()) {
      return Fail(first + ": lists jobs, and so does every other input; give records of their GPUs beside it");
    }
  }
  RunReader reader(options, thresholds, facts);
  reader.Doubt(of_lists);
  if (paths.size() > 1) {
    const RecordedHosts machines = TRY(LookAtRecordings(paths, options));
    TRY(reader.TellMachines(machines));
  }
  std::vector<std::pair<InputKeys, KnownInput>> later;
  for (const std::string& path : paths) {
    KnownInput opened = TRY(OpenKnownInput(path, options, show_progress));
    const std::string_view head = TRY(opened.source->Peek(kSniffBytes));
    const InputKeys keys = opened.profiler != nullptr ? InputKeys::kSeveral : KeysOf(head);
    if (keys == InputKeys::kSeveral) {
      TRY(reader.Take(std::move(opened)));
    } else {
      later.emplace_back(keys, std::move(opened));
    }
  }
  std::stable_sort(later.begin(), later.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  for (auto& [keys, input] : later) TRY(reader.Take(std::move(input)));
  return reader.Finish(paths.front());
}

}  // namespace idleburn
