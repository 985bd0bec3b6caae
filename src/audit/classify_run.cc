#include "audit/classify_run.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "audit/join_inputs.h"
#include "diagnose/host_evidence.h"
#include "diagnose/trace_diagnosis.h"
#include "telemetry/gpu_facts.h"
#include "telemetry/reading_times.h"
#include "telemetry/run_facts.h"
#include "text/time_zone.h"

// Ends the classification of a run and refuses files that cannot be one run. These checks are here and not in the
// importers, because each needs the whole run: which GPUs were left, how many rows went back in time, how long the gaps
// are. A log that is refused costs its user a second attempt. A log that is wrongly accepted costs a wrong bill.

namespace idleburn {
namespace {

// Checks that --window fits the inputs. The flag is for logs, which do not say how long the machine was rented.
// Recordings and traces know when they began and ended, so the flag could only contradict them.
Result<void> CheckWindow(RunInputs& run) {
  if (!run.window) return {};
  if (run.summary.window().start) {
    return Fail("--window: " + run.files->first + " has its own start and end; leave --window out");
  }
  if (!run.profiles.empty()) return Fail("--window: a profiler's trace has its own start and end; leave --window out");
  run.quality.Count(QualityId::kOutsideWindow, {}, run.files->rows_outside);
  if (!run.run.devices.empty() || !run.files->first_row) return {};
  return Fail(run.files->first + ": no row lies in --window " + FormatRfc3339(*run.window->start) + ".." +
              FormatRfc3339(*run.window->end) + "; its rows are from " + FormatRfc3339(*run.files->first_row) + " to " +
              FormatRfc3339(*run.files->last_row));
}

// Counts GPUs that have readings in only a part of a run. They are billed from their first row to their last. That is
// an inference and may be wrong: a GPU that fell off its bus has no rows either, but is still paid for. A silence is
// normal up to the hold time of a reading, and always up to a second.
void CountSeenInPart(RunInputs& run) {
  const RunResult& result = run.run;
  if (result.window_named || run.summary.window().start) return;
  for (const DeviceResult& device : result.devices) {
    if (device.spans || run.devices[device.device].has_instances) continue;
    const Nanos held = run.files->max_gap.value_or(device.period.value_or(Nanos(0)) * 5 / 2);
    const Nanos little = std::max(held, Nanos(kNanosPerSecond));
    const bool in_part = std::any_of(device.runs.begin(), device.runs.end(), [&](const DeviceResult::InRun& in) {
      return in.first - result.runs[in.run].start > little || result.runs[in.run].end - in.last > little;
    });
    if (in_part) run.quality.CountNamed(QualityId::kSeenInPart, ShortName(run.devices[device.device]));
  }
}

// Leaves out MIG instances of unknown size. They would be priced as whole GPUs: seven instances of one board would cost
// as much as seven boards. Fails if no other device is left.
Result<void> LeaveUnsizedOut(RunInputs& run) {
  std::vector<DeviceResult>& devices = run.run.devices;
  const auto unsized = [&](const DeviceResult& d) { return IsUnsizedInstance(run.devices[d.device]); };
  for (const DeviceResult& d : devices) {
    if (unsized(d)) run.quality.CountNamed(QualityId::kUnsizedInstance, run.devices[d.device].uuid);
  }
  const bool any = !devices.empty();
  devices.erase(std::remove_if(devices.begin(), devices.end(), unsized), devices.end());
  if (!any || !devices.empty()) return {};
  return Fail(run.files->first +
              ": its GPUs are MIG instances (MIG-...), and no input gives the size of an instance; add GPU_I_ID and "
              "GPU_I_PROFILE with the UUID of the board, as dcgm-exporter writes them");
}

// Checks the order of rows in an input that was streamed and not sorted. A few late rows are normal. A misplaced piece
// of the log, or rows that mostly go back, make the run unusable.
Result<void> CheckRows(const RunInputs& run) {
  if (const std::optional<Instant> row = run.classifier.Misplaced()) {
    return Fail(run.files->first + ": the row of " + FormatRfc3339(*row) +
                " follows later rows and lies in a gap between them; give pieces of a log as separate files in any "
                "order, remove rows of a wrong clock, or give --timezone if daylight saving ended");
  }
  std::int64_t back = 0;
  std::int64_t rows = 0;
  for (const DeviceResult& device : run.run.devices) {
    back += device.totals.out_of_order + device.totals.clock_steps;
    rows += device.totals.samples + device.totals.out_of_order;
  }
  return CheckOrder(run.files->first, rows, back);
}

// The error of CheckGaps. It shows both ends of the times, since one of them is usually the wrong year.
Result<void> SkipsYears(const std::string& path, Instant first, Instant last) {
  return Fail(
      path + ": its times, from " + FormatRfc3339(first) + " to " + FormatRfc3339(last) +
      ", have a gap of more than a year; remove the rows of a clock that was not set, or audit the parts separately");
}

// Refuses a gap of more than a year. The clock of a machine may stand at 1970 until it is set; the years between would
// be billed as unobserved time. With --window the user has said what to bill, so nothing is refused.
Result<void> CheckGaps(const RunInputs& run) {
  constexpr std::int64_t kLongestGap = 366 * 24 * kNanosPerHour;
  const RunResult& result = run.run;
  if (result.window_named) return {};
  for (std::size_t i = 1; i < result.runs.size(); ++i) {
    if ((result.runs[i].start - result.runs[i - 1].end).count() > kLongestGap)
      return SkipsYears(run.files->first, result.start, result.end);
  }
  for (const DeviceResult& device : run.run.devices) {
    if (device.totals.unobserved_ns[static_cast<std::size_t>(Unobserved::kGap)] <= kLongestGap) continue;
    return SkipsYears(run.files->first, device.first, device.last);
  }
  return {};
}

// Diagnoses the profiles of the run. If there are no samples, the run becomes what the profiles cover.
void AddTrace(RunInputs& run) {
  run.trace = DiagnoseProfiles(run.profiles, HostDuring(run.profiles, run.summary.host()));
  run.traced_only = run.run.devices.empty();
  if (run.traced_only) run.run = TracedRun(run.profiles, *run.trace, run.devices, run.quality);
}

}  // namespace

BoardFacts FactsOf(std::string_view gpu_name) {
  const std::optional<GpuFacts> facts = FactsFor(gpu_name);
  return facts ? BoardFacts{facts->power_limit_mw, facts->max_sm_khz} : BoardFacts{};
}

Result<void> ClassifyRun(RunInputs& run) {
  if (std::exchange(run.classified, true)) return {};
  run.run = run.classifier.Finish();
  if (!run.files) {
    if (!run.profiles.empty()) AddTrace(run);  // a live run that was profiled too
    return {};
  }
  TRY(CheckWindow(run));
  TRY(LeaveUnsizedOut(run));
  if (run.files->in_order) TRY(CheckRows(run));
  TRY(CheckGaps(run));
  CountSeenInPart(run);
  if (!run.profiles.empty()) AddTrace(run);
  if (!run.run.devices.empty() || run.trace) return {};
  return Fail(run.files->first + ": no readings of a GPU, so there is nothing to audit");
}

void LeaveOutHidden(RunInputs& run, bool all_gpus) {
  if (all_gpus || run.run.devices.empty()) return;
  const HiddenGpus hidden = HiddenGpus::From(run.summary.facts(), run.devices);
  if (!hidden.doubt.empty()) run.quality.CountNamed(QualityId::kGpusUnclear, hidden.doubt);
  const std::vector<DeviceId> left_out = run.run.LeaveOut(hidden.devices);
  if (left_out.empty()) return;
  const std::vector<DeviceResult>& devices = run.run.devices;
  std::string names;
  for (const DeviceId id : left_out) {
    const bool in_part = std::any_of(devices.begin(), devices.end(),
                                     [&](const DeviceResult& d) { return run.devices[d.device].board == id; });
    names += (names.empty() ? "" : ", ") + std::string(in_part ? "the rest of " : "") + ShortName(run.devices[id]);
  }
  run.quality.CountNamed(QualityId::kGpusLeftOut, names + " hidden by " + hidden.because, {},
                         static_cast<std::int64_t>(left_out.size()));
  if (!devices.empty()) return;
  run.why_no_gpu =
      "no GPU was visible to the command (" + hidden.because + "); --all-gpus counts all GPUs of the machine";
}

}  // namespace idleburn
