#include "audit/read_run.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>

#include "audit/join_inputs.h"
#include "audit/open_input.h"
#include "telemetry/run_facts.h"

// Reads all inputs of a run into one RunInputs. A single input in order of time streams straight into the classifier,
// in bounded memory. Everything else goes through InputJoin, which sorts on disk. Which case it is becomes known with
// the last input, so the first input of samples waits until then.

namespace idleburn {
namespace {

// Reads the inputs of a run one by one.
class RunReader {
 public:
  // All arguments outlive the reader. `progress` may be null.
  RunReader(const ImportOptions& options, const Thresholds& thresholds, Progress* progress)
      : options_(options),
        progress_(progress),
        run_(std::make_shared<RunInputs>(thresholds,
                                         options.window.named ? std::optional(options.window) : std::nullopt)) {
    run_->classifier.AssumePowerLimit(options.power_limit_mw);
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

  // Adds doubts that were counted elsewhere.
  void Doubt(const DataQuality& quality) { run_->quality.Merge(quality); }

  // Reads the input that waits and returns the run. `first_path` names the run in errors.
  Result<std::shared_ptr<RunInputs>> Finish(const std::string& first_path) {
    const bool alone = inputs_ == 1 && waiting_->importer->in_order;
    if (alone) {
      TRY(ReadAlone(*waiting_));
    } else {
      if (inputs_ == 1) TRY(join_.Read(*waiting_, options_));
      NameTheNameless();
      TRY(join_.Deliver(Sink(), progress_));
    }
    NameTheNameless();
    run_->files = {first_path, alone, filter_.rows_outside(), filter_.first(), filter_.last(), options_.max_gap};
    return std::move(run_);
  }

 private:
  // The target of samples: the classifier, behind the filter of --window if there is one.
  SampleSink& Sink() { return options_.window.named ? static_cast<SampleSink&>(filter_) : run_->classifier; }

  // Rows so far that an importer dropped, or whose bad duration it replaced by an instant. A profile with such rows may
  // lack events.
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
    if (again) return Fail(profile.file + ": you gave it twice; its GPUs would count twice");
    run_->profiles.push_back(std::move(profile));
    return {};
  }

  // Gives --gpu-model to GPUs that no input names. If they are of several models, that is wrong; the report shows the
  // name as it was stated.
  void NameTheNameless() {
    if (options_.gpu_model.empty()) return;
    run_->devices.BeginInput();
    for (DeviceId id = 0; id < run_->devices.size(); ++id) {
      const Device& d = run_->devices[id];
      if (!d.name.empty() || (d.uuid.empty() && d.bus_id.empty() && !d.index)) continue;
      run_->devices.Enter({d.uuid, d.bus_id, d.index, d.host, options_.gpu_model, d.mig});
    }
  }

  // Reads the only input. It is in order of time, so nothing needs to be sorted.
  Result<void> ReadAlone(const KnownInput& input) {
    ImportTarget target{run_->devices, run_->quality, run_->owners, Sink(), &run_->summary};
    return ImportInput(input, options_, target);
  }

  const ImportOptions& options_;
  Progress* progress_;
  std::shared_ptr<RunInputs> run_;
  WindowFilter filter_{run_->classifier, options_.window};
  InputJoin join_{run_->devices, run_->quality, run_->owners, &run_->summary};
  std::optional<KnownInput> waiting_;
  std::size_t inputs_ = 0;  // of samples
};

// Reads the scheduler's lists of jobs and removes them from `paths`. They bound what labels of GPUs mean, so they must
// be known before any label is read. Only plain files are looked at, since a pipe cannot be read twice.
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

Result<std::shared_ptr<RunInputs>> Read(std::vector<std::string> paths, const ImportOptions& given,
                                        const Thresholds& thresholds, Progress* progress) {
  std::sort(paths.begin(), paths.end());
  ImportOptions options = given;
  DataQuality of_lists;
  if (paths.size() > 1) {
    const std::string first = paths.front();
    TRY(TakeJobLists(paths, options, of_lists));
    if (paths.empty()) {
      return Fail(first + ": every input is a list of jobs; give GPU records together with it");
    }
  }
  RunReader reader(options, thresholds, progress);
  reader.Doubt(of_lists);
  if (paths.size() > 1) {
    const RecordedHosts machines = TRY(LookAtRecordings(paths, options, progress));
    TRY(reader.TellMachines(machines));
  }
  const bool own_task = progress != nullptr && !progress->busy();
  if (own_task) progress->Begin("reading", ProgressUnit::kBytes, SizeOfFiles(paths));
  // Inputs with several keys go first, because they tell how the others belong together (InputKeys). The order of
  // names, not of the command line, decides between equals.
  std::vector<std::pair<InputKeys, KnownInput>> later;
  for (const std::string& path : paths) {
    KnownInput opened = TRY(OpenKnownInput(path, options, progress));
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
  Result<std::shared_ptr<RunInputs>> run = reader.Finish(paths.front());
  if (own_task) progress->End();
  return run;
}

}  // namespace idleburn
