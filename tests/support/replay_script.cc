#include "support/replay_script.h"

#include <fmt/format.h>

#include <map>
#include <optional>

namespace idleburn::testing {
namespace {

struct Spelling {
  Signal signal;
  const char* key;
  double unit;     // of a reading, in that of the script
  double since_s;  // a reading speaks of the time since the one before, this long at most; 0: of the time from now on
};
constexpr Spelling kSpellings[] = {
    {Signal::kUtilization, "util", kPercent, 1.2},
    {Signal::kSmActive, "sm", kPercent, 0.25},
    {Signal::kTensorActive, "tensor", kPercent, 0.25},
    {Signal::kDramActive, "dram", kPercent, 0.25},
    {Signal::kPcieRx, "rx", 1e6, 1.2},
    {Signal::kPcieTx, "tx", 1e6, 1.2},
    {Signal::kNvlink, "nvlink", 2e6, 1.2},  // both directions
    {Signal::kPower, "power", 1000, 0},
    {Signal::kSmClock, "clock", 1000, 0},
    {Signal::kEventReasons, "reasons", 1, 0},
    {Signal::kTemperature, "temp", 1000, 0},
    {Signal::kMemoryUsed, "memory", 1, 0},
};

std::int64_t Since(Instant time, Instant start) { return (time - start).count(); }

std::string Micros(std::int64_t ns) { return fmt::format("{}.{:03}us", ns / 1000, ns % 1000); }

std::string Facts(const RecordedLog& recorded, DeviceId id) {
  const Device& device = recorded.devices[id];
  std::string facts = " uuid=" + device.uuid + " name=\"" + device.name + "\"";
  if (!device.bus_id.empty()) facts += " bus=" + device.bus_id;
  const auto first = [&](Signal signal) -> std::optional<std::int64_t> {
    const auto readings = recorded.log.Of(id, signal);
    return readings.empty() ? std::nullopt : std::optional(readings.front().second);
  };
  if (const auto bytes = first(Signal::kMemoryTotal)) facts += fmt::format(" memory={}", *bytes);
  if (const auto mj = first(Signal::kEnergy)) facts += fmt::format(" energy={}", *mj);
  if (const auto mw = first(Signal::kPowerLimit)) facts += fmt::format(" limit={}", static_cast<double>(*mw) / 1000);
  if (const auto khz = first(Signal::kMaxSmClock)) facts += fmt::format(" max_clock={}", *khz / 1000);
  const auto window = recorded.log.Fact("gpu." + device.uuid + ".window_ns");
  const auto readings = recorded.log.Of(id, Signal::kUtilization);
  if (window && !readings.empty()) {
    facts += " window=" + Micros(std::stoll(*window));
    facts += " phase=" + Micros(Since(readings.front().first, recorded.start) % std::stoll(*window));
  }
  return facts;
}

}  // namespace

std::string ReplayScript(const RecordedLog& recorded) {
  std::string script;
  std::string timeline;
  int number = 0;
  for (DeviceId id = 0; id < recorded.devices.size(); ++id) {
    if (recorded.devices[id].mig) continue;
    script += fmt::format("gpu {}{}\n", number, Facts(recorded, id));
    std::map<std::int64_t, std::string> changes;  // by ns since the start
    for (const Spelling& s : kSpellings) {
      std::optional<std::int64_t> before;
      for (const auto& [time, value] : recorded.log.Of(id, s.signal)) {
        const std::int64_t at = Since(time, recorded.start);
        const auto since = static_cast<std::int64_t>(s.since_s * 1e9);
        const std::int64_t from = since == 0 ? at : std::max(before.value_or(0), at - since);
        changes[std::max<std::int64_t>(from, 0)] += fmt::format(" {}={}", s.key, static_cast<double>(value) / s.unit);
        before = at;
      }
    }
    for (const auto& [at, what] : changes) timeline += fmt::format("at {} gpu {}{}\n", Micros(at), number, what);
    ++number;
  }
  return script + timeline;
}

}  // namespace idleburn::testing
