#include "report/host_screen.h"

#include <fmt/format.h>

#include <array>
#include <optional>

#include "report/screen.h"
#include "telemetry/run_facts.h"
#include "text/figures.h"

namespace idleburn {
namespace {

constexpr double kStandsOut = 0.10;  // of the watched time
constexpr double kAllCpus = 0.90;    // of the CPUs that the job may use

// The largest decides. Pressure (PSI) tells more than sleeping threads, so it stands first where both are equal.
constexpr auto kBounds = std::to_array<HostBound>({
    {HostSignal::kThrottledTime, "was stopped by a CPU quota", "raise the CPU quota of the container"},
    {HostSignal::kCpuWait, "waited for a CPU", "give it more CPUs, or start fewer workers and threads"},
    {HostSignal::kPsiIoSome, "waited for storage", "idleburn doctor --data PATH reads your data cold and warm"},
    {HostSignal::kPsiMemorySome, "waited for memory", "give it more memory, or smaller batches and fewer workers"},
    {HostSignal::kBlockedTime, "was blocked in the kernel, mostly by storage",
     "idleburn doctor --data PATH reads your data cold and warm"},
});

std::optional<double> ShareOfTime(const HostUse& use, HostSignal signal) {
  const std::optional<std::int64_t>& change = use.change[static_cast<std::size_t>(signal)];
  if (!change || use.watched() <= Nanos(0)) return std::nullopt;
  return static_cast<double>(*change) / static_cast<double>(use.watched().count());
}

// "3.2 of 8 CPUs on average".
std::string CpusInUse(const HostUse& use) {
  const std::optional<double> busy = ShareOfTime(use, HostSignal::kCpuTime);
  const std::optional<std::int64_t>& cpus = use.most[static_cast<std::size_t>(HostSignal::kCpus)];
  if (!busy) return {};
  return cpus ? fmt::format("{} of {} CPUs on average", ThreeDigits(std::min(*busy, static_cast<double>(*cpus))), *cpus)
              : ThreeDigits(*busy) + " CPUs on average";
}

bool UsesAllCpus(const HostUse& use) {
  const std::optional<double> busy = ShareOfTime(use, HostSignal::kCpuTime);
  const std::optional<std::int64_t>& cpus = use.most[static_cast<std::size_t>(HostSignal::kCpus)];
  return busy && cpus && *busy >= kAllCpus * static_cast<double>(*cpus);
}

// "200 steps, 61.3 ms each after the start". The pace leaves the start out, so it is not the time divided by the steps.
std::string WorkText(const LiveRun& live) {
  for (const auto& [unit, one] : {std::pair(WorkUnit::kStep, "step"), std::pair(WorkUnit::kSample, "sample"),
                                  std::pair(WorkUnit::kToken, "token"), std::pair(WorkUnit::kEpoch, "epoch")}) {
    const std::optional<std::int64_t>& done = live.work[unit];
    if (!done || *done <= 0) continue;
    std::string text = fmt::format("{} {}{}", ThreeDigits(static_cast<double>(*done)), one, *done == 1 ? "" : "s");
    if (live.pace && live.pace->done[unit].value_or(0) > 0) {
      text += ", " + DurationForPeople(live.pace->time / *live.pace->done[unit]) + " each after the start";
    }
    return text;
  }
  return {};
}

std::string VerdictText(const LiveRun& live, const HostUse* use) {
  std::string text = live.window.start && live.window.end
                         ? "Ran " + DurationForPeople(*live.window.end - *live.window.start)
                         : std::string("Ran");
  if (const std::string work = WorkText(live); !work.empty()) text += ": " + work;
  text += ".";
  if (use == nullptr) return text;
  if (const HostBound* bound = BoundOf(*use)) {
    text += fmt::format(" The job {} {} of the time.", bound->waits, PercentText(*ShareOfTime(*use, bound->signal)));
  } else if (UsesAllCpus(*use)) {
    text += " It kept all CPUs busy.";
  }
  return text;
}

// One line for a scope: CPUs, waits that stand out, storage and memory. `memory_of` names what holds the memory.
std::string UseLine(const HostUse& use, std::string_view memory_of) {
  std::string text = CpusInUse(use);
  const auto add = [&](const std::string& part) { text += (text.empty() ? "" : "; ") + part; };
  for (const HostBound& bound : kBounds) {
    const std::optional<double> share = ShareOfTime(use, bound.signal);
    if (share && *share >= kStandsOut) add(fmt::format("{} {} of the time", bound.waits, PercentText(*share)));
  }
  const std::optional<double> read = ShareOfTime(use, HostSignal::kReadBytes);
  if (read && *read > 0) add("storage read " + DecimalBytes(*read * 1e9) + "/s");
  const std::optional<std::int64_t>& memory = use.most[static_cast<std::size_t>(HostSignal::kMemoryUsed)];
  if (memory) add(std::string(memory_of) + " at most " + BinaryBytes(static_cast<double>(*memory)));
  return text;
}

}  // namespace

const HostBound* BoundOf(const HostUse& use) {
  const HostBound* most = nullptr;
  double largest = kStandsOut;
  for (const HostBound& bound : kBounds) {
    const double share = ShareOfTime(use, bound.signal).value_or(0);
    if (share < largest || (most != nullptr && share == largest)) continue;
    most = &bound;
    largest = share;
  }
  return most;
}

std::string HostScreen(const AuditReport& report, const Paper& paper) {
  const LiveRun& live = report.live;
  const auto& workload = live.host[static_cast<std::size_t>(HostScope::kWorkload)];
  const auto& machine = live.host[static_cast<std::size_t>(HostScope::kMachine)];
  const HostUse* use = workload ? &*workload : machine ? &*machine : nullptr;
  Screen screen(paper);
  screen.Add(LineRank::kAlways, "", VerdictText(live, use), 2, true);
  // The driver's own reason begins with the same words.
  constexpr std::string_view kNone = "no NVIDIA GPU can be measured: ";
  const std::string_view why_no_gpu = live.no_gpu;
  screen.Add(
      LineRank::kAlways, "",
      "No GPU was measured: " + std::string(why_no_gpu.substr(why_no_gpu.starts_with(kNone) ? kNone.size() : 0)) + ".",
      2);
  screen.Blank();
  std::vector<std::string> why;
  const auto add = [&why](const char* scope, const std::optional<HostUse>& used, std::string_view memory_of) {
    const std::string line = used ? UseLine(*used, memory_of) : std::string();
    if (!line.empty()) why.push_back(scope + line);
  };
  // A control group may hold other programs too (docs/host-signals.md), so its memory is not said of the job.
  add("the job used ", workload, "its processes or their control group hold");
  add("the machine used ", machine, "memory");
  if (!live.exit.empty() && live.exit != "exit 0") why.push_back("the command ended with " + live.exit);
  screen.AddLabelled("why", why, 3);
  std::vector<std::string> next;
  const HostBound* bound = use == nullptr ? nullptr : BoundOf(*use);
  if (bound != nullptr) next.emplace_back(bound->next);
  if (!live.command.empty()) next.push_back("idleburn isolate -- " + live.command + "  (what bounds its speed)");
  next.emplace_back("idleburn plan --model NAME  (memory, time and cost on a GPU)");
  next.emplace_back("idleburn doctor  (what can be measured here)");
  screen.AddLabelled("next", next, 4);
  screen.Add(LineRank::kUseful, "", IdsText(report.ids));
  return std::move(screen).Take();
}

}  // namespace idleburn
