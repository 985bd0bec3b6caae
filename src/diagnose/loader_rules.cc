#include "diagnose/loader_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace idleburn {
namespace {

enum class Written : std::uint8_t { kPercent, kCores, kRate, kFactor };

// One signal against one threshold. A signal that was not read decides nothing.
struct Test {
  std::string_view what;
  std::optional<double> (*value)(const HostEvidence& e);
  bool at_least;  // else below
  double threshold;
  Written written;
};

std::optional<double> FreeCores(const HostEvidence& e) {
  // CPUs beyond a quota that holds the job back are none that it could use.
  return e.cpu_throttled.value_or(0) >= kQuotaHeldBack ? std::nullopt : e.cpus_free;
}

std::optional<double> CachedFactor(const HostEvidence& e) {
  if (!e.read_chars_rate || !e.read_bytes_rate || *e.read_chars_rate < kReadsStorage) return std::nullopt;
  return *e.read_chars_rate / std::max(*e.read_bytes_rate, 1.0);
}

constexpr Test kOnCpu = {"workers on CPU (schedstat, stat)", [](const HostEvidence& e) { return e.worker_on_cpu; },
                         true, kWorkerOnCpu, Written::kPercent};
constexpr Test kQuietCpus = {"some task waits for a CPU (pressure/cpu some)",
                             [](const HostEvidence& e) { return e.psi_cpu_some; }, false, kLittleCpuWait,
                             Written::kPercent};
constexpr Test kPressedCpus = {"some task waits for a CPU (pressure/cpu some)",
                               [](const HostEvidence& e) { return e.psi_cpu_some; }, true, kMuchCpuWait,
                               Written::kPercent};
constexpr Test kSpareCore = {"CPUs idle of those the job may use", FreeCores, true, kCoreToSpare, Written::kCores};
constexpr Test kRunQueue = {"workers ready but waiting for a CPU (schedstat)",
                            [](const HostEvidence& e) { return e.run_queue_wait; }, true, kInRunQueue,
                            Written::kPercent};
// The pressure of a machine may be that of other programs; then the job's own workers do not wait. (A quota lets them
// wait outside the queue.)
constexpr Test kNoQueue = {"workers ready but waiting for a CPU (schedstat)",
                           [](const HostEvidence& e) {
                             return e.cpu_throttled.value_or(0) >= kQuotaHeldBack ? std::nullopt : e.run_queue_wait;
                           },
                           false, kHardlyQueued, Written::kPercent};
constexpr Test kHeldBack = {"held back by a CPU quota (cpu.stat)",
                            [](const HostEvidence& e) { return e.cpu_throttled; }, true, kQuotaHeldBack,
                            Written::kPercent};
constexpr Test kBlocked = {"workers in state D (stat)", [](const HostEvidence& e) { return e.d_state; }, true,
                           kInStateD, Written::kPercent};
// "All tasks" holds of none while others compute: then it says nothing of this job.
constexpr Test kStalledOnIo = {
    "all tasks wait for storage (pressure/io full)",
    [](const HostEvidence& e) { return e.cpus_free.value_or(1) < kCoreToSpare ? std::nullopt : e.psi_io_full; }, true,
    kIoFull, Written::kPercent};
constexpr Test kReads = {"read from storage (PID/io read_bytes)",
                         [](const HostEvidence& e) { return e.read_bytes_rate; }, true, kReadsStorage, Written::kRate};
constexpr Test kCached = {"asked for by reads, for each byte from storage (PID/io rchar)", CachedFactor, true,
                          kPageCacheFactor, Written::kFactor};

using Tests = std::array<const Test*, 3>;  // the rest null

struct Rule {
  std::string_view cause;
  Tests shows;    // one of them must hold
  Tests needs;    // none of them may fail
  Tests refutes;  // none of them may hold
  std::optional<double> HostEvidence::*strength;
};

constexpr auto kRules = std::to_array<Rule>({
    {"loader_cpu_spare_cores",
     {&kOnCpu},
     {&kQuietCpus, &kSpareCore},
     {&kRunQueue, &kBlocked, &kHeldBack},
     &HostEvidence::worker_on_cpu},
    {"loader_cpu_no_cores",
     {&kRunQueue, &kPressedCpus, &kHeldBack},
     {},
     {&kSpareCore, &kNoQueue},
     &HostEvidence::run_queue_wait},
    {"storage", {&kBlocked}, {&kStalledOnIo, &kReads}, {&kCached}, &HostEvidence::d_state},
});

std::string Shown(double value, Written written) {
  switch (written) {
    case Written::kPercent:
      return fmt::format("{:.1f} %", 100 * value);
    case Written::kCores:
      return fmt::format("{:.2f}", value);
    case Written::kRate:
      return fmt::format("{:.3f} MB/s", value / 1e6);
    case Written::kFactor:
      return fmt::format("{:.3g} bytes", value);
  }
  return {};
}

// Absent: not read.
std::optional<bool> Holds(const Test& test, const HostEvidence& e) {
  const std::optional<double> value = test.value(e);
  if (!value) return std::nullopt;
  return test.at_least ? *value >= test.threshold : *value < test.threshold;
}

std::string Sentence(const Test& test, const HostEvidence& e) {
  return fmt::format("{}: {} ({} {})", test.what, Shown(*test.value(e), test.written),
                     test.at_least ? "threshold" : "threshold: below", Shown(test.threshold, test.written));
}

LoaderVerdict Judge(const Rule& rule, const HostEvidence& e) {
  LoaderVerdict verdict;
  verdict.cause = rule.cause;
  verdict.strength = (e.*rule.strength).value_or(0);
  bool refuted = false;
  // What speaks for the cause when it holds (or, turned round, against it).
  const auto weigh = [&](const Tests& tests, bool decisive, bool refutes) {
    for (const Test* test : tests) {
      if (test == nullptr) continue;
      const std::optional<bool> holds = Holds(*test, e);
      if (!holds) {
        verdict.not_read.emplace_back(test->what);
      } else if (*holds && !refutes) {
        verdict.holds.push_back(Sentence(*test, e));
        verdict.shown = verdict.shown || decisive;
      } else if (*holds == refutes) {
        verdict.against.push_back(Sentence(*test, e));
        refuted = refuted || !decisive;
      }
    }
  };
  weigh(rule.shows, true, false);
  weigh(rule.needs, false, false);
  weigh(rule.refutes, false, true);
  verdict.shown = verdict.shown && !refuted;
  return verdict;
}

}  // namespace

std::vector<LoaderVerdict> JudgeLoader(const HostEvidence& e) {
  std::vector<LoaderVerdict> verdicts;
  for (const Rule& rule : kRules) verdicts.push_back(Judge(rule, e));
  return verdicts;
}

const LoaderVerdict* NamedBy(std::span<const LoaderVerdict> verdicts) {
  const LoaderVerdict* best = nullptr;
  for (const LoaderVerdict& v : verdicts) {
    if (v.shown && (best == nullptr || v.strength > best->strength)) best = &v;
  }
  return best;
}

}  // namespace idleburn
