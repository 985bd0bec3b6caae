#pragma once

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "audit/run_inputs.h"
#include "base/result.h"
#include "base/run_ids.h"
#include "config/settings.h"
#include "import/importer.h"
#include "price/cost_report.h"
#include "price/rate_book.h"
#include "terminal/progress.h"
#include "verify/reversion.h"
#include "verify/work_csv.h"

namespace idleburn {
// What an input of a comparison is, found by its content.
enum class ComparedKind : std::uint8_t { kWorkLog, kRecording, kTelemetry, kCapture };
inline constexpr std::array<std::string_view, 4> kComparedKindNames = {"work_log", "recording", "telemetry", "capture"};

// A file of a comparison as read: one run, the blocks of a switchback, or a profiler's capture.
struct ComparedInput {
  std::string name;
  std::string sha256;
  ComparedKind kind = ComparedKind::kWorkLog;
  std::vector<WorkTable::Block> blocks;  // empty for a capture
  std::shared_ptr<RunInputs> capture;    // null unless it is one
  std::string failure;                   // how a recorded command failed: "exit 1"; empty if it did not
  RunIds ids;                            // as a recording keeps them
  // The GPUs of its readings, for prices. Empty for a log of work.
  DeviceTable devices;
  std::vector<DeviceId> gpus;
  std::vector<std::int64_t> gpu_nanos;  // allocated time of each, in the order of `gpus`
  std::optional<RunSpan> span;          // absent without dates
};

// How inputs are read, and what the user states beyond their content.
struct InputReading {
  ImportOptions options;
  Thresholds thresholds;
  WorkDone work;                            // work of each input that counts none itself
  std::map<std::string, WorkDone> work_of;  // the same for single inputs, by name as given
  StaticFactors factors;                    // factors that the inputs do not tell
  Progress* progress = nullptr;             // counts what is read; null: nothing is shown
  std::function<Result<std::string>(const std::string&)>
      path_of;  // maps a name to its file; null: the name is the file
};

// Fails with a usage error of `command` if --work names a run that is not among `names`. Its work would silently be
// dropped.
Result<void> CheckWorkNames(std::string_view command, const InputReading& reading,
                            const std::vector<std::string>& names);
// Builds an InputReading from the settings and the texts of --factor and --work. Fails with a usage error on a bad one.
Result<InputReading> ReadingFrom(const Settings& settings, const std::vector<std::string>& factors,
                                 const std::vector<std::string>& work);

// The GPU models of these inputs, each once, as their drivers print them.
std::vector<std::string> ModelsOf(std::span<const ComparedInput> inputs);

// Reads the input that a name on the command line stands for. The content decides what it is, never the name. Fails on
// standard input, because a comparison identifies its inputs by name and hash.
Result<ComparedInput> ReadComparedInput(const std::string& name, const InputReading& reading);

// What a GPU-hour of the inputs cost: the rate of all their GPUs. Several rates give their mean, weighted by allocated
// time. There is no amount if some of the time has no price. Fails if the prices are in different currencies, or if a
// stated price fits no GPU of the inputs.
Result<Rate> MeanRateOf(const RateBook& book, std::span<const ComparedInput> inputs);

// The same for both sides. A price may be stated for the GPUs of one side only.
struct SideRates {
  Rate before;
  Rate after;
};
Result<SideRates> RatesOfSides(const RateBook& book, std::span<const ComparedInput> before,
                               std::span<const ComparedInput> after);

// Whether the runs of both sides name the same GPU models in the same numbers. Unknown equals unknown. A claim's price
// holds for both sides only then.
bool HaveSameGpus(std::span<const ComparedInput> before, std::span<const ComparedInput> after);

// What jobs did that were selected for their value, beside those that were left alone (`idleburn compare --jobs`).
// Selected jobs drift back to the mean even if nothing is changed.
struct ReversionReport {
  std::string name;  // name of the file
  std::string sha256;
  double level = 0.95;
  ReversionReading reading;
  std::string version;
  RunIds ids;
};

// Reads the table of --jobs and says what its selected jobs gained beyond what was to be expected. `level` is the
// confidence, as a fraction. Fails if the table cannot tell: it needs a selected job, and 3 others with different
// values.
Result<ReversionReport> ReadComparedJobs(const std::string& path, double level);
// What such a table lets one expect of the selected jobs without any effect. It is taken off a comparison of their
// runs. The values must be work per GPU-hour and above 0.
Result<ExpectedReversion> ReadExpectedReversion(const std::string& path);

}  // namespace idleburn
