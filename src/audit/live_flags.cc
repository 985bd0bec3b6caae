#include "audit/live_flags.h"

#include <cstdlib>

#include "text/number.h"

namespace idleburn {

void LiveFlags::AddTo(CommandFlags& flags) {
  flags.Add("--work", "LIST", "work done, where nothing tells it: samples=200000,tokens=...").text = &report.work;
  flags.Add("--fail-on", "GATE", "exit 3 if waste>PERCENT, cost>AMOUNT or unobserved>PERCENT (repeatable)").list =
      &report.fail_on;
  flags.Add("--hz", "RATE", "readings a second, 1 to 100 (default 10)").text = &hz;
  AddDetectCloud(flags);
  flags.Add("--tag", "KEY=VALUE", "mark the run in the history (repeatable)").list = &tags;
  flags.Add("--no-history", "", "keep nothing in the history, and learn nothing from it").on = &no_history;
  flags.Add("--explain", "", "also print rules, priors and the levers that were not advised").on = &report.explain;
  flags.Add("--no-color", "", "plain text").on = &report.no_color;
}

void LiveFlags::AddDetectCloud(CommandFlags& flags) {
  flags.Add("--detect-cloud", "", "ask the cloud's metadata service for instance type, region and market").on =
      &detect_cloud;
}

Result<LiveGpuOptions> LiveFlags::GpuOptions() const {
  LiveGpuOptions options;
  if (const char* library = std::getenv("IDLEBURN_NVML_LIBRARY")) options.nvml_library = library;
  if (hz.empty()) return options;
  const std::optional<std::int64_t> rate = ParseInteger(hz);
  if (!rate || *rate < 1 || *rate > 100) return FailUsage("--hz: '" + hz.substr(0, 20) + "' is no rate from 1 to 100");
  options.period = Nanos(kNanosPerSecond / *rate);
  return options;
}

std::optional<std::string> OwnVariable(std::string_view name) {
  const char* value = std::getenv(std::string(name).c_str());
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

Result<std::optional<Nanos>> ParseFor(const std::string& text) {
  if (text.empty()) return std::optional<Nanos>();
  const Result<Nanos> parsed = ParseDuration(text);
  if (!parsed) return FailUsage("--for: " + parsed.error().message);
  return std::optional(*parsed);
}

}  // namespace idleburn
