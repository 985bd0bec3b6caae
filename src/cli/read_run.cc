#include "cli/read_run.h"

#include <algorithm>

#include "cli/open_input.h"
#include "telemetry/time_sorter.h"

namespace idleburn {
namespace {

// Passes samples on and notes whether they are dated. What carries no times begins at second 0 of 1970.
class DateWatch final : public SampleSink {
 public:
  explicit DateWatch(SampleSink& next) : next_(next) {}

  void OnSamples(std::span<const Sample> samples) override {
    constexpr std::int64_t kYear = 365 * 24 * kNanosPerHour;
    for (const Sample& s : samples) (s.time.nanos() < kYear ? undated_ : dated_) = true;
    next_.OnSamples(samples);
  }
  [[nodiscard]] bool undated() const { return undated_; }
  [[nodiscard]] bool dated() const { return dated_; }

 private:
  SampleSink& next_;
  bool undated_ = false;
  bool dated_ = false;
};

}  // namespace

Result<std::unique_ptr<RunInputs>> ReadRun(std::vector<std::string> paths, const ImportOptions& options,
                                           const Thresholds& thresholds, RunClassifier::FactsByName facts,
                                           bool show_progress) {
  std::sort(paths.begin(), paths.end());
  auto inputs = std::make_unique<RunInputs>();
  RunClassifier classifier(thresholds, inputs->devices, inputs->quality, facts, &inputs->summary.window());
  TimeSorter sorter(inputs->devices, inputs->quality);
  bool sorting = paths.size() > 1;
  bool dated = false;
  std::string undated;  // the first input without times
  for (const std::string& path : paths) {
    Result<KnownInput> opened = OpenKnownInput(path, options, show_progress);
    if (!opened) return tl::unexpected<Error>(opened.error());
    sorting = sorting || !opened->importer->in_order;
    SampleSink& sink = sorting ? static_cast<SampleSink&>(sorter) : classifier;
    DateWatch watch(sink);
    ImportTarget target{inputs->devices, inputs->quality, inputs->owners, paths.size() > 1 ? watch : sink,
                        paths.size() > 1 ? nullptr : &inputs->summary};
    TRY(opened->importer->import(*opened->source, options, target));
    dated = dated || watch.dated();
    if (undated.empty() && watch.undated()) undated = path;
    if (opened->source->truncated()) inputs->quality.Count(QualityId::kTruncatedInput, {&path, 0});
  }
  if (dated && !undated.empty()) {
    return Fail(undated + ": carries no dates, so it has no place on the clock of the other inputs; record it with " +
                "times, or audit it alone");
  }
  if (sorting) TRY(sorter.Deliver(classifier));
  inputs->run = classifier.Finish();
  if (inputs->run.devices.empty()) return Fail(paths.front() + ": holds no reading of any GPU; nothing to audit");
  return inputs;
}

}  // namespace idleburn
