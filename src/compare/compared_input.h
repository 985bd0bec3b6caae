#pragma once

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "audit/run_inputs.h"
#include "base/run_ids.h"
#include "config/settings.h"
#include "import/importer.h"
#include "price/rate_book.h"
#include "price/work.h"
#include "verify/work_csv.h"

namespace idleburn {

// What an input of a comparison turned out to be.
enum class ComparedKind : std::uint8_t { kWorkLog, kRecording, kTelemetry, kCapture };
inline constexpr std::array<std::string_view, 4> kComparedKindNames = {"work_log", "recording", "telemetry", "capture"};

// A file of a comparison, as read: one run, the blocks of a switchback, or a profiler's capture.
struct ComparedInput {
  std::string name;
  std::string sha256;
  ComparedKind kind = ComparedKind::kWorkLog;
  std::vector<WorkTable::Block> blocks;  // none of a capture
  std::shared_ptr<RunInputs> capture;    // else null
  std::string failure;                   // how a recorded command ended, if not well: "exit 1"
  RunIds ids;                            // that a recording keeps
  // What its readings tell of its GPUs; of a log of work nothing.
  DeviceTable devices;
  std::vector<DeviceId> gpus;
  std::vector<std::int64_t> gpu_nanos;  // allocated time of each
  std::optional<RunSpan> span;          // absent: it has no dates
};

// How inputs are read.
struct InputReading {
  ImportOptions options;
  Thresholds thresholds;
  WorkDone work;                            // done in each input that counts none itself
  std::map<std::string, WorkDone> work_of;  // the same of one, by its name as given
  StaticFactors factors;                    // what the inputs do not tell
  bool show_progress = false;
  std::function<Result<std::string>(const std::string&)> path_of;  // the file that a name means; null: the name itself
};

// A usage error of `command` if --work names a run that is none of `names`.
Result<void> CheckWorkNames(std::string_view command, const InputReading& reading,
                            const std::vector<std::string>& names);
// From the settings and the texts of --factor and --work.
Result<InputReading> ReadingFrom(const Settings& settings, const std::vector<std::string>& factors,
                                 const std::vector<std::string>& work);

// Models of the GPUs of these inputs, as their drivers print them.
std::vector<std::string> ModelsOf(std::span<const ComparedInput> inputs);

// Opens what a name on the command line stands for.
Result<ComparedInput> ReadComparedInput(const std::string& name, const InputReading& reading);

// What a GPU-hour of the inputs cost: the rate that all their GPUs have; where they have several, their mean weighted
// by allocated time, each device of each run by its own rate. Without an amount where a part of the time has no price.
// Fails where the prices have no sum. A price that is stated for GPUs that no input has is a usage error.
Result<Rate> MeanRateOf(const RateBook& book, std::span<const ComparedInput> inputs);

// The same of each of two sides; a price may be stated for the GPUs of one of them.
struct SideRates {
  Rate before;
  Rate after;
};
Result<SideRates> RatesOfSides(const RateBook& book, std::span<const ComparedInput> before,
                               std::span<const ComparedInput> after);

// Whether the runs of both sides say that they had the same GPUs, and as many.
bool HaveSameGpus(std::span<const ComparedInput> before, std::span<const ComparedInput> after);

}  // namespace idleburn
