#include <algorithm>
#include <array>
#include <cstdlib>

#include "audit/watch_flags.h"
#include "cli/commands.h"
#include "config/common_flags.h"
#include "report/doctor_output.h"
#include "terminal/output.h"
#include "terminal/progress.h"
#include "text/number.h"

// `idleburn doctor`: what can be measured on this machine, what cannot and why. It takes readings once, judges them by
// a table of checks, and prints the result. Measuring and judging are separate, so that tests can judge machines that
// nobody has (doctor/, docs/doctor.md).

namespace idleburn {
namespace {

constexpr auto kDoctorFormats = FormatsOf(kDoctorWriters);

// At least one check failed. Warnings are only told, so that a script may use doctor as a gate on a healthy machine: a
// price list of more than 90 days, for one, is no reason to stop.
constexpr int kExitFailures = 2;

// How long counters are watched. They take a second or two to show that they move, and slowdown counters are read three
// times. A longer span would find little more and try the user's patience.
constexpr Nanos kSpan(2'500'000'000);

// Bounds of the storage test. It must not read a whole data set, nor start more threads than a loader has.
constexpr std::int64_t kMostDataBytes = std::int64_t{16} << 30;
constexpr std::int64_t kMostDataThreads = 256;

// The flags of --data as they were written, and their meaning. A size above the bound is cut to it.
struct DataRequest {
  std::string path;
  std::string bytes;
  std::string threads;
  std::string run;

  [[nodiscard]] Result<DataQuestion> Question() const {
    DataQuestion question;
    question.probe.path = path;
    question.run = run;
    if (path.empty() && !(bytes + threads + run).empty()) {
      return FailUsage("doctor: --data-bytes, --data-threads and --run need --data PATH");
    }
    if (!bytes.empty()) {
      const Result<std::int64_t> size = ParseByteSize(bytes);
      if (!size) return FailUsage("doctor: --data-bytes: " + size.error().message);
      question.probe.bytes = std::min(*size, kMostDataBytes);
    }
    if (!threads.empty()) {
      const std::optional<std::int64_t> count = ParseInteger(threads);
      if (!count || *count < 1 || *count > kMostDataThreads) {
        return FailUsage("doctor: --data-threads: '" + threads.substr(0, 20) + "' is not a number from 1 to 256");
      }
      question.probe.threads = static_cast<int>(*count);
    }
    return question;
  }
};

// Shows the two parts of the doctor that take seconds. The result must not outlive `progress`.
DoctorWatch WatchOf(Progress& progress) {
  if (!progress.on()) return {};
  const auto show = [&progress](const char* task, ProgressUnit unit) -> ProgressWatch {
    return [&progress, task, unit](std::uint64_t done, std::uint64_t total) {
      if (done == 0) progress.Begin(task, unit, total);
      progress.Reach(done);
    };
  };
  return {show("measuring this machine", ProgressUnit::kNanos), show("reading the data", ProgressUnit::kBytes)};
}

}  // namespace

Result<int> RunDoctor(const std::vector<std::string>& arguments, const Environment& environment) {
  CommandFlags flags({"price.", "output."});
  flags.Writes(kDoctorFormats);
  std::string output;
  bool full = false;
  bool quiet = false;
  bool agent = false;
  DataRequest data;
  flags.Add("--output", "FILE", "write to FILE instead of standard output").text = &output;
  flags.Add("--full", "", kFullHelp).on = &full;
  flags.Add("--quiet", "", "no progress on standard error").on = &quiet;
  flags.Add("--data", "PATH", "also read a sample of the data at PATH, cold and warm").text = &data.path;
  flags.Add("--data-bytes", "SIZE", "size of that sample at most (default 256MiB)").text = &data.bytes;
  flags.Add("--data-threads", "N", "number of reader threads (default 4)").text = &data.threads;
  flags.Add("--run", "RECORDING", "compare with what this run read").text = &data.run;
  flags.Add("--agent", "", "also check what the agent of a node needs").on = &agent;
  const auto settings =
      TRY(flags.Read("doctor",
                     "Checks what can be measured on this machine, what cannot and why, and what to do about it.\nExit "
                     "code: 0 without failures (also with warnings), 2 with failures.",
                     arguments));
  if (!settings) return 0;
  const ReportFormat format = TRY(ChooseFormat(*settings, "doctor", output, kDoctorFormats));
  // Flags are checked before the readings, which take seconds.
  DataQuestion question = TRY(data.Question());
  question.agent = agent;
  LiveGpuOptions gpus;
  // Another library than the driver's, for unusual installations and for tests.
  if (const char* library = std::getenv("IDLEBURN_NVML_LIBRARY")) gpus.nvml_library = library;
  // A driver may hang; the doctor then says so instead of hanging too.
  gpus.patience = kDriverPatience;
  gpus.tell_slow = Say;
  Progress progress = Progress::OnStandardError(environment, quiet);
  const auto readings = TakeDoctorReadings(gpus, kSpan, question, *settings, environment.now, WatchOf(progress));
  progress.End();
  const DoctorReport report{JudgeAll(*readings), *readings};
  TRY(WriteOutput(output, Written(kDoctorWriters, format, report, PaperFor(environment, output, {full}))));
  return WorstOf(report.results) == CheckStatus::kFailure ? kExitFailures : 0;
}

}  // namespace idleburn
