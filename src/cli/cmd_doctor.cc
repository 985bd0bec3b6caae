#include "cli/cmd_doctor.h"

#include <algorithm>
#include <cstdlib>

#include "cli/common_flags.h"
#include "cli/doctor_output.h"

namespace idleburn {
namespace {

// Counters of a driver take a second or two to show that they move; the slowdown counters are read three times.
constexpr Nanos kSpan(2'500'000'000);

}  // namespace

Result<int> RunDoctor(const std::vector<std::string>& arguments, const Environment& environment) {
  std::vector<Flag> flags;
  std::string output;
  flags.emplace_back(Flag{"--output", "FILE", "write to FILE instead of standard output"}).text = &output;
  SettingFlags setting_flags({"price.", "output."});
  setting_flags.AppendTo(flags);
  std::string help;
  TRY(ReadFlags("doctor", "What can be measured on this machine, what cannot and why, and what to do about it.", flags,
                arguments, &help));
  if (!help.empty()) {
    TRY(Print(help));
    return 0;
  }
  const Result<Settings> settings = setting_flags.Load();
  if (!settings) return tl::unexpected<Error>(settings.error());
  const std::string& format = settings->Text("output.format");
  if (!format.empty() && format != "text" && format != "json") {
    return FailUsage("doctor: --format is text or json, not '" + format.substr(0, 20) + "'");
  }
  LiveGpuOptions gpus;
  if (const char* library = std::getenv("IDLEBURN_NVML_LIBRARY")) gpus.nvml_library = library;
  gpus.patience = Nanos(5 * kNanosPerSecond);
  const auto readings = TakeDoctorReadings(gpus, kSpan, *settings, environment.now);
  const std::vector<CheckResult> results = JudgeAll(*readings);
  const int width = environment.terminal_out ? std::max(environment.columns, 60) : 100;
  TRY(WriteOutput(output, format == "json" ? DoctorJson(results) : DoctorText(results, width)));
  switch (WorstOf(results)) {
    case CheckStatus::kFailure:
      return 2;
    case CheckStatus::kWarning:
      return 1;
    default:
      return 0;
  }
}

}  // namespace idleburn
