#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "report/json_values.h"
#include "text/json.h"
#include "text/strings.h"
#include "top/top_output.h"

// `idleburn top --format json`, for programs that watch a machine. Figures are exact here: rounding so that columns add
// up is for people. What was not read is null and never 0.

namespace idleburn {
namespace {

using Json = nlohmann::ordered_json;

// A reading in a unit that is `divisor` times that of the signal.
Json ReadingOf(const TopGpu& gpu, Signal signal, double divisor) {
  const std::optional<std::int64_t>& value = gpu.last[Index(signal)];
  return value ? Json(static_cast<double>(*value) / divisor) : Json();
}

Json CountOf(const TopGpu& gpu, Signal signal) { return OrNull<Json>(gpu.last[Index(signal)]); }

// Time and money since the start, by what the time was.
Json SinceStartJson(const UsageCost& usage, const std::string& currency) {
  Json seconds;
  Json cost;
  const auto put = [&](std::string_view name, std::int64_t ns, const std::optional<Money>& money) {
    seconds[std::string(name)] = static_cast<double>(ns) / 1e9;
    PutMoney(cost, std::string(name), usage.total ? std::optional(money.value_or(Money())) : std::nullopt, currency);
  };
  for (std::size_t i = 0; i < kPhaseCount; ++i) put(kPhaseNames[i], usage.phase_ns[i], usage.phase_cost[i]);
  put("unobserved", usage.unobserved_ns, usage.unobserved_cost);
  put("unallocated", usage.unallocated_ns, usage.unallocated_cost);
  put("total", usage.window_ns, usage.total);
  return {{"gpu_seconds", std::move(seconds)}, {"cost", std::move(cost)}};
}

Json GpuJson(const TopGpu& gpu, const std::string& currency) {
  constexpr double kMicro = 1e6;
  constexpr double kMilli = 1e3;
  Json json;
  json["name"] = Printable(gpu.name);
  json["phase"] = gpu.phase && !gpu.split ? Json(kPhaseNames[static_cast<std::size_t>(*gpu.phase)]) : Json();
  // A board with MIG instances is split: the phases are those of its instances.
  json["why_no_phase"] = gpu.split ? Json("split") : gpu.phase ? Json() : TextOrNull<Json>(gpu.unobserved);
  json["utilization_percent"] = ReadingOf(gpu, Signal::kUtilization, kMicro);
  json["gr_engine_active_percent"] = ReadingOf(gpu, Signal::kGrEngineActive, kMicro);
  json["sm_active_percent"] = ReadingOf(gpu, Signal::kSmActive, kMicro);
  json["power_w"] = ReadingOf(gpu, Signal::kPower, kMilli);
  json["memory_used_bytes"] = CountOf(gpu, Signal::kMemoryUsed);
  json["memory_total_bytes"] = CountOf(gpu, Signal::kMemoryTotal);
  json["processes"] = CountOf(gpu, Signal::kProcesses);
  PutMoney(json, "per_hour", gpu.per_hour, currency);
  json["since_start"] = SinceStartJson(gpu.since_start, currency);
  return json;
}

// A process whose GPUs have no price, or which shares all of them, has no amount of its own.
Json ProcessJson(const TopView& view, const TopProcess& process) {
  Json json;
  json["pid"] = process.pid;
  json["user"] = Printable(process.user);
  json["command"] = Printable(process.command);
  json["gpus"] = Json::array();
  bool priced = view.fault.empty();
  for (const std::size_t gpu : process.gpus) {
    json["gpus"].push_back(Printable(view.gpus[gpu].name));
    priced = priced && view.gpus[gpu].per_hour;
  }
  json["memory_bytes"] = OrNull<Json>(process.memory);
  json["shares"] = process.shares;
  PutMoney(json, "per_hour", priced ? std::optional(process.per_hour) : std::nullopt, view.rate.currency);
  return json;
}

Json RateJson(const TopView& view) {
  const Rate& rate = view.rate;
  Json json;
  json["currency"] = rate.currency;
  PutMoney(json, "per_gpu_hour", rate.per_gpu_hour, rate.currency);
  json["source"] = TextOrNull<Json>(rate.source);
  PutMoney(json, "low", rate.low, rate.currency);
  PutMoney(json, "high", rate.high, rate.currency);
  json["why_none"] = rate.per_gpu_hour ? Json() : TextOrNull<Json>(view.fault.empty() ? rate.reason : view.fault);
  return json;
}

}  // namespace

std::string TopJson(const TopView& view, std::span<const std::string> notes, const RunIds& ids) {
  Json json = BeginDocument<Json>("idleburn.top/1", ids);
  json["time"] = FormatRfc3339(view.time);
  json["price"] = RateJson(view);
  json["gpus"] = Json::array();
  for (const TopGpu& gpu : view.gpus) json["gpus"].push_back(GpuJson(gpu, view.rate.currency));
  json["processes"] = Json::array();
  for (const TopProcess& process : view.processes.list) json["processes"].push_back(ProcessJson(view, process));
  json["whole"] = SinceStartJson(view.whole, view.rate.currency);
  json["notes"] = Json::array();
  for (const std::string& note : notes) json["notes"].push_back(Printable(note));
  return JsonLine(json) + "\n";
}

}  // namespace idleburn
