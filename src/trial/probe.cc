#include "trial/probe.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <thread>

#include "audit/classify_run.h"
#include "audit/live_record.h"
#include "audit/watch_flags.h"
#include "os/run_clock.h"
#include "plan/gpu_rate.h"
#include "plan/training_time.h"
#include "run/live_session.h"
#include "terminal/output.h"
#include "text/figures.h"
#include "trial/trial.h"

namespace idleburn {
namespace {

// The numbers of a plan that a command can be told. The first is varied where the command has a place for both.
constexpr std::array<std::string_view, 2> kVaried = {"micro_batch", "seq_len"};
// The samples that the command says it takes may differ from the plan's by this share.
constexpr double kOtherBatch = 0.02;

std::string PlaceOf(std::string_view key) { return "{" + std::string(key) + "}"; }

bool HasPlace(const std::vector<std::string>& command, std::string_view key) {
  const std::string place = PlaceOf(key);
  return std::any_of(command.begin(), command.end(),
                     [&](const std::string& word) { return word.find(place) != std::string::npos; });
}

// A plan without the number means 1.
std::string WordOf(const PlanWords& words, std::string_view key) {
  const auto found = words.find(key);
  return found == words.end() ? "1" : found->second;
}

// What one probe saw.
struct Probed {
  Trial trial;
  std::optional<double> peak_bytes;
  std::vector<std::string> gpus;
  // Why no GPU was measured; empty if one was.
  std::string no_gpu;
  // Over all GPUs.
  std::int64_t observed_ns = 0;
  // Some GPU was busy for some of that time.
  bool worked = false;
};

// The GPUs are sampled beside the command, which does not wait for them.
tl::expected<Probed, StartFailure> RunOne(Workload& workload, const TrialSpec& spec,
                                          std::vector<std::pair<std::string, std::string>> environment) {
  const Thresholds thresholds;
  LiveRecord record(thresholds);
  LiveSession session(record.inputs().devices, record);
  LiveSessionSpec measured;
  const Result<LiveGpuOptions> gpus = LiveFlags().GpuOptions();
  if (gpus) measured.gpus = *gpus;
  measured.environment = OwnVariable;
  std::jthread opening([&](const std::stop_token& stop) { session.Start(measured, stop); });
  KnobChange change;
  change.environment = std::move(environment);
  tl::expected<Trial, StartFailure> trial = RunTrial(workload, spec, change);
  opening.request_stop();
  opening.join();
  session.Stop();
  record.Close().has_value();  // it keeps no recording
  if (!trial) return tl::unexpected<StartFailure>(trial.error());
  Probed probed;
  probed.trial = std::move(*trial);
  probed.no_gpu = session.why_no_gpu();
  ClassifyRun(record.inputs()).has_value();  // of a live run it cannot fail
  LeaveOutHidden(record.inputs(), false);
  for (const DeviceResult& device : record.inputs().run.devices) {
    probed.gpus.push_back(record.inputs().devices[device.device].name);
    const auto most = static_cast<double>(device.totals.Peak(Signal::kMemoryUsed).value_or(0));
    if (most > 0) probed.peak_bytes = std::max(most, probed.peak_bytes.value_or(0));
    probed.observed_ns += device.totals.ObservedNs();
    probed.worked = probed.worked || device.totals.utilization.area > 0;
  }
  return probed;
}

// The tokens of all GPUs that the counted work is, as the command says it. Else they follow from the plan's batch.
double TokensDone(const WorkRate& rate, const RunRow& row) {
  WorkCount work = rate.done;
  work[WorkUnit::kStep] = rate.work;  // in another unit where that is samples or tokens, which go before it
  return *TokensOf(work, ScaleOf(row.run));
}

// A command that says how many samples it takes must take the plan's. Returns a warning where it does not.
std::string BatchDoubt(const WorkRate& rate, const RunRow& row) {
  if (!rate.done[WorkUnit::kSample] || !rate.done[WorkUnit::kStep]) return "";
  const double batch = EffectiveBatch(row.run.micro_batch, row.run.accumulation, row.run.DataParallel());
  const double said =
      static_cast<double>(*rate.done[WorkUnit::kSample]) / static_cast<double>(*rate.done[WorkUnit::kStep]);
  if (std::abs(said / batch - 1) <= kOtherBatch) return "";
  return fmt::format(
      "the command takes {} samples a step, but the plan says {} (micro-batch x accumulation x data-parallel "
      "GPUs); idleburn used the command's figure",
      ThreeDigits(said), ThreeDigits(batch));
}

// Why the speed of a probe says nothing about a GPU; empty where it does. GPUs that were watched for less than a second
// may have worked between two readings, so they get the benefit of the doubt.
std::string GpuDoubt(const Probed& probed) {
  constexpr std::int64_t kLongEnough = kNanosPerSecond;
  constexpr std::string_view kElsewhere = "run the probe on the machine that will train";
  if (!probed.no_gpu.empty()) {
    return fmt::format("no GPU was measured, so the speed is not that of a GPU; {} ({})", kElsewhere, probed.no_gpu);
  }
  if (probed.worked || probed.observed_ns < kLongEnough) return "";
  return fmt::format(
      "every GPU stayed at 0 % while the command ran, so the speed is not that of a GPU; {}, with the "
      "command that will train",
      kElsewhere);
}

// The probe as a plan reads it: tokens a second of one GPU, and how sure that is.
RunReading ReadingOf(const WorkRate& rate, const Probed& probed, const RunRow& row, Instant at) {
  constexpr double kLevel = 0.90;
  RunReading reading;
  reading.row = row;
  reading.at = at;
  reading.steps = rate.work;
  reading.seconds = static_cast<double>(rate.time.count()) / 1e9;
  reading.tokens_s = TokensDone(rate, row) / reading.seconds / row.run.gpus;
  reading.log_error = rate.LogError(kLevel);
  reading.peak_bytes = probed.peak_bytes;
  return reading;
}

// The two probes, one after the other. Both use one workload, which must be prepared before there are threads.
class Prober {
 public:
  Prober(const ProbeFlags& flags, const TrialBounds& bounds, const std::vector<std::string>& command,
         const std::string& varied)
      : flags_(flags),
        bounds_(bounds),
        command_(command),
        varied_(varied),
        workload_(Workload::Prepare()),
        output_(flags.show_output) {}

  // One probe. An error is in words that name it.
  Result<void> Run(const char* name, const PlanWords& words) {
    const Result<PlannedRun> plan = ReadPlan(words);
    if (!plan) return Fail(fmt::format("{} probe: {}", name, plan.error().message));
    PlannedCommand planned = CommandFor(command_, words, varied_, flags_.variable);
    const TrialSpec spec{std::move(planned.words), bounds_, output_.fd()};
    const Instant at = Instant::FromNanos(SystemClock()->Read().wall.nanos());
    const tl::expected<Probed, StartFailure> probed = RunOne(*workload_, spec, std::move(planned.environment));
    if (!probed) {
      if (probed.error().exit_code > 128) result.interrupted = probed.error().exit_code - 128;
      return Fail(fmt::format("{} probe: {}", name, probed.error().error.message));
    }
    result.interrupted = probed->trial.interrupted;
    if (result.interrupted) return {};
    const std::string fault = FaultOf(probed->trial, bounds_);
    if (!fault.empty()) return Fail(fmt::format("{} probe: the command {}", name, fault));
    const WorkRate& rate = *probed->trial.rate;
    const bool counts = rate.unit == WorkUnit::kStep || rate.done[WorkUnit::kSample] || rate.done[WorkUnit::kToken];
    if (!counts) return Fail(fmt::format("{} probe: the command only counts epochs; print steps", name));
    const std::string gpu_doubt = GpuDoubt(*probed);
    if (!gpu_doubt.empty()) return Fail(fmt::format("{} probe: {}", name, gpu_doubt));
    const std::string doubt = BatchDoubt(rate, plan->run);
    if (!doubt.empty() && result.readings.empty()) result.warnings.push_back(doubt);
    result.readings.push_back(ReadingOf(rate, *probed, plan->run, at));
    NameGpu(probed->gpus);
    return {};
  }

  ProbeResult result;

 private:
  // The first GPU whose peak is known counts; the plan has one kind of GPU.
  void NameGpu(const std::vector<std::string>& gpus) {
    for (const std::string& name : gpus) {
      const std::optional<GpuRate> rate = RateOf(name);
      if (rate && result.gpu.empty()) result.gpu = std::string(rate->gpu);
    }
  }

  const ProbeFlags& flags_;
  const TrialBounds& bounds_;
  const std::vector<std::string>& command_;
  std::string varied_;
  std::unique_ptr<Workload> workload_;
  CommandOutput output_;
};

// What the second probe changes: "micro_batch" or "seq_len". An empty key: nothing, it repeats the first.
struct ProbeChange {
  std::string key;
  std::string value;
};
// As asked for with --probe-vary, else what the command has a place for: half of it, or 2 for 1.
Result<ProbeChange> ChangeOf(const ProbeFlags& flags, const PlanWords& words, const std::vector<std::string>& command) {
  if (!flags.vary.empty()) {
    const std::size_t equals = flags.vary.find('=');
    const std::string key = flags.vary.substr(0, equals);
    if (equals == std::string::npos || std::find(kVaried.begin(), kVaried.end(), key) == kVaried.end()) {
      return FailUsage("--probe-vary '" + flags.vary.substr(0, 40) + "': write micro_batch=8 or seq_len=512");
    }
    TRY(ParseCount("--probe-vary " + key, flags.vary.substr(equals + 1)));
    if (!HasPlace(command, key) && flags.variable.empty()) {
      return FailUsage(
          fmt::format("--probe-vary {0}: the command has no {1} in its words; write it where the number "
                      "goes, or name a variable with --probe-env",
                      key, PlaceOf(key)));
    }
    return ProbeChange{key, flags.vary.substr(equals + 1)};
  }
  for (const std::string_view key : kVaried) {
    if (!HasPlace(command, key) && (flags.variable.empty() || key != kVaried.front())) continue;
    const double value = TRY(ParseCount(key, WordOf(words, key)));
    return ProbeChange{std::string(key), fmt::format("{:.0f}", value >= 2 ? std::floor(value / 2) : 2)};
  }
  return ProbeChange();
}

}  // namespace

ProbeFlags::ProbeFlags()
    : bounds({5, 20, Nanos(30 * kNanosPerSecond), Nanos(120 * kNanosPerSecond), Nanos(30 * kNanosPerSecond)}) {}

void ProbeFlags::AddTo(CommandFlags& flags) {
  flags
      .Add("--probe", "",
           "run the command twice for some steps and plan by the measured speed and memory: plan --probe -- CMD")
      .on = &on;
  flags.Add("--probe-vary", "KEY=N", "the change in the second probe: micro_batch=8 or seq_len=512").text = &vary;
  flags
      .Add("--probe-env", "NAME",
           "environment variable that passes it to the command, besides {micro_batch} in its words")
      .text = &variable;
  flags.Add("--show-output", "", "show what a probe prints, on standard error").on = &show_output;
  bounds.AddTo(flags, "probe");
}

PlannedCommand CommandFor(const std::vector<std::string>& command, const PlanWords& words, const std::string& varied,
                          const std::string& variable) {
  PlannedCommand planned{command, {}};
  for (const std::string_view key : kVaried) {
    const std::string place = PlaceOf(key);
    const std::string value = WordOf(words, key);
    for (std::string& word : planned.words) {
      for (std::size_t at = 0; (at = word.find(place, at)) != std::string::npos; at += value.size()) {
        word.replace(at, place.size(), value);
      }
    }
  }
  if (!variable.empty()) planned.environment.emplace_back(variable, WordOf(words, varied));
  return planned;
}

Result<ProbeResult> RunProbes(const ProbeFlags& flags, const PlanWords& words, const std::vector<std::string>& command,
                              Progress& progress) {
  const TrialBounds bounds = TRY(flags.bounds.Bounds("plan"));
  const ProbeChange change = TRY(ChangeOf(flags, words, command));
  Prober prober(flags, bounds, command, change.key.empty() ? std::string(kVaried.front()) : change.key);
  Say("the first probe runs as planned; idleburn ends it with SIGTERM after enough steps");
  // What the command prints would be torn by the line.
  Progress none;
  Progress& shown = flags.show_output ? none : progress;
  shown.Begin("running the probes", ProgressUnit::kRuns, 2);
  const Result<void> first = prober.Run("first", words);
  shown.Hide();
  if (prober.result.interrupted) return std::move(prober.result);
  TRY(first);
  PlanWords other = words;
  if (!change.key.empty()) other[change.key] = change.value;
  Say("the second probe runs, " +
      (change.key.empty() ? "the same once more" : "with " + change.key + " " + change.value));
  shown.Add(1);
  const Result<void> second = prober.Run("second", other);
  shown.End();
  if (!second) prober.result.warnings.push_back(second.error().message + "; the plan uses only the first");
  return std::move(prober.result);
}

}  // namespace idleburn
