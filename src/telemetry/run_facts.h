#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/run_ids.h"
#include "telemetry/device.h"
#include "telemetry/live_sink.h"
#include "telemetry/sample.h"

// What is known about a run besides its readings: facts by key, GPUs that the workload could not see, and when
// it started and ended. All of these are stored in a recording as facts, so a replayed run gives the same
// report as the live one.
namespace idleburn {
// The facts of a run by key. Later values replace earlier ones.
using RunFacts = std::map<std::string, std::string>;

// The key of the fact that a part of measuring failed; the value is the reason. It is recorded once for each
// failed part. Everything that the part measures is unobserved from then on.
inline constexpr const char* kMeasuringFailedFact = "sampler.failed";

// The value of a fact; empty if it was never recorded.
inline std::string FactIn(const RunFacts& facts, const std::string& key) {
  const auto found = facts.find(key);
  return found == facts.end() ? std::string() : found->second;
}

// GPUs of a machine that the workload could not see. They are measured, and not part of the run's cost. Example: with
// CUDA_VISIBLE_DEVICES=2,1 on an 8-GPU machine, six GPUs are hidden. GpusHiddenBy (measure/live_gpus.h) finds them.
struct HiddenGpus {
  std::vector<DeviceId> devices;
  std::string because;  // "CUDA_VISIBLE_DEVICES=2,1"
  // Why nothing is hidden although something should be; empty without doubt.
  std::string doubt;

  // The facts that store this in a recording.
  [[nodiscard]] std::vector<RunFact> Facts(const DeviceTable& table) const;
  // Reads it back from the facts of a recording with the devices of `table`.
  static HiddenGpus From(const RunFacts& facts, const DeviceTable& table);
};

// When a run started and ended, if known independently of its readings: from a workload that was started and
// awaited, or from the rental of a machine.
struct RunWindow {
  std::optional<Instant> start;
  std::optional<Instant> end;
  // Given by the user as rented time, not measured.
  bool named = false;

  // The keys of the facts that store the window in a recording. The values are nanoseconds.
  static constexpr const char* kStartFact = "window.start_ns";
  static constexpr const char* kEndFact = "window.end_ns";
  static RunFact StartFact(Instant t) { return {kStartFact, std::to_string(t.nanos())}; }
  static RunFact EndFact(Instant t) { return {kEndFact, std::to_string(t.nanos())}; }
  // Takes over a window fact. Ignores other facts and malformed numbers.
  void Take(const RunFact& fact);
};

// Passes on the rows of a window and counts the others, for `audit --window`. Both ends of the window are known and
// belong to it.
class WindowFilter final : public SampleSink {
 public:
  // Both references outlive the filter.
  WindowFilter(SampleSink& next, const RunWindow& window) : next_(next), window_(window) {}

  void OnSamples(std::span<const Sample> samples) override;
  void OnColumns(const SampleColumns& columns) override;

  [[nodiscard]] std::int64_t rows_outside() const { return outside_; }
  // The first and last time of all rows, inside and outside; absent without rows.
  [[nodiscard]] std::optional<Instant> first() const { return first_; }
  [[nodiscard]] std::optional<Instant> last() const { return last_; }

 private:
  void See(Instant time);

  SampleSink& next_;
  const RunWindow& window_;
  std::vector<Sample> within_;
  std::int64_t outside_ = 0;
  std::optional<Instant> first_;
  std::optional<Instant> last_;
};

// The ids of a run, by which people find it again in their scheduler or experiment tracker. The key of the fact that
// holds the id of a recorded run:
inline constexpr std::string_view kRunIdFact = "run.id";

// The ids in the facts of a run: "env.NAME", kept from the environment of its command. What looks like a secret in a
// value is left out.
RunIds IdsOf(const RunFacts& facts);
// The ids in which all runs of a report agree. A run without an id does not agree with a run that has one.
RunIds SharedIds(std::span<const RunIds> runs);

// The known ids in one line: "run 0f3a..., job 4711, experiment bert". Empty without any.
std::string IdsText(const RunIds& ids);
// The same as the line at the top of a text, "Ids: job 4711". Empty without any.
std::string IdsLine(const RunIds& ids);
// The title of a page with the ids behind it: "2 scenarios; job 4711".
std::string TitleAndIds(std::string title, const RunIds& ids);

}  // namespace idleburn
