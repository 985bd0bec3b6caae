#include "diagnose/loader_cause.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "diagnose/cause_table.h"

namespace idleburn {
namespace {

constexpr std::string_view kSpare = "loader_cpu_spare_cores";
constexpr std::string_view kNoCores = "loader_cpu_no_cores";
constexpr std::string_view kStorage = "storage";

constexpr double kPageCache = 10;  // times as much read by calls as from storage: it came from memory

enum class Unit : std::uint8_t { kShare, kCpus, kRate };
enum class Needs : std::uint8_t { kAtLeast, kBelow, kAbove };

// One signal of the host and its border. Measured on a machine with two cores, Linux 6.18, 4 s a load: a busy worker
// 94.9 % on CPU; six workers on two cores 71.7 % in the run queue; direct reads 95.6 and 61.2 % in state D.
struct SignalTest {
  std::optional<double> HostEvidence::*signal;
  Needs side;
  double border;
  Unit unit;
  std::string_view phrase;
};

constexpr SignalTest kOnCpu = {&HostEvidence::worker_on_cpu, Needs::kAtLeast, 0.9, Unit::kShare,
                               "a worker's time on CPU (/proc/<pid>/schedstat)"};
constexpr SignalTest kCalmCpu = {&HostEvidence::psi_cpu_some, Needs::kBelow, 0.2, Unit::kShare,
                                 "PSI cpu.some (/proc/pressure/cpu)"};
constexpr SignalTest kFreeCpus = {&HostEvidence::cpus_free, Needs::kAtLeast, 1, Unit::kCpus, "free CPUs (/proc/stat)"};
constexpr SignalTest kQueue = {&HostEvidence::run_queue_wait, Needs::kAtLeast, 0.3, Unit::kShare,
                               "a worker's run-queue wait (/proc/<pid>/schedstat)"};
constexpr SignalTest kCpuPressure = {&HostEvidence::psi_cpu_some, Needs::kAtLeast, 0.5, Unit::kShare,
                                     "PSI cpu.some (/proc/pressure/cpu)"};
constexpr SignalTest kQuota = {&HostEvidence::cpu_throttled, Needs::kAbove, 0, Unit::kShare,
                               "time above the CPU quota (cgroup cpu.stat)"};
constexpr SignalTest kBlocked = {&HostEvidence::d_state, Needs::kAtLeast, 0.3, Unit::kShare,
                                 "a worker's time in state D (/proc/<pid>/stat)"};
constexpr SignalTest kIoPressure = {&HostEvidence::psi_io_full, Needs::kAtLeast, 0.1, Unit::kShare,
                                    "PSI io.full (/proc/pressure/io)"};
constexpr SignalTest kReads = {&HostEvidence::read_bytes_rate, Needs::kAbove, 0, Unit::kRate,
                               "read from storage (/proc/<pid>/io read_bytes)"};

constexpr auto kSpareNeeds = std::to_array<SignalTest>({kOnCpu, kFreeCpus});
constexpr auto kSpareRefuters = std::to_array<SignalTest>({kBlocked, kQueue, kQuota});
constexpr auto kStorageNeeds = std::to_array<SignalTest>({kBlocked, kIoPressure, kReads});
constexpr auto kNoCoresAny = std::to_array<SignalTest>({kQueue, kCpuPressure});

std::optional<bool> Holds(const HostEvidence& host, const SignalTest& test) {
  const std::optional<double>& value = host.*test.signal;
  if (!value) return std::nullopt;
  if (test.side == Needs::kBelow) return *value < test.border;
  return test.side == Needs::kAtLeast ? *value >= test.border : *value > test.border;
}

std::string Amount(Unit unit, double value) {
  switch (unit) {
    case Unit::kShare:
      return fmt::format("{:.4g} %", 100 * value);
    case Unit::kCpus:
      return fmt::format("{:.3g}", value);
    case Unit::kRate:
      break;
  }
  return fmt::format("{:.4g} MB/s", value / 1e6);
}

std::string Describe(const HostEvidence& host, const SignalTest& test) {
  const std::optional<double>& value = host.*test.signal;
  constexpr std::array<std::string_view, 3> kSides = {"at least", "below", "above"};
  return fmt::format("{} {} (threshold: {} {})", test.phrase, value ? Amount(test.unit, *value) : "not available",
                     kSides[static_cast<std::size_t>(test.side)], Amount(test.unit, test.border));
}

// How a cause fares: it holds, it is refuted, or neither can be said.
struct Fit {
  bool holds = false;
  bool refuted = false;
  LoaderVerdict verdict;
};

Fit FitStorage(const HostEvidence& host) {
  Fit fit;
  fit.holds = true;
  for (const SignalTest& test : kStorageNeeds) {
    const std::optional<bool> held = Holds(host, test);
    fit.holds = fit.holds && held.value_or(false);
    fit.refuted = fit.refuted || held == false;
    fit.verdict.evidence.push_back(Describe(host, test));
  }
  if (!host.read_chars_rate || !host.read_bytes_rate) {
    fit.verdict.refuters.emplace_back("not measured: bytes read by calls (rchar), which would show the page cache");
  } else if (*host.read_chars_rate > kPageCache * *host.read_bytes_rate) {
    fit.refuted = true;
  }
  fit.verdict.cause = kStorage;
  return fit;
}

Fit FitNoCores(const HostEvidence& host) {
  Fit fit;
  fit.verdict.cause = kNoCores;
  // Under a quota the cores that stand idle are not the job's.
  if (Holds(host, kQuota) == true) {
    fit.holds = true;
    fit.verdict.evidence.push_back(Describe(host, kQuota));
  }
  bool all_calm = true;
  for (const SignalTest& test : kNoCoresAny) {
    const std::optional<bool> held = Holds(host, test);
    all_calm = all_calm && held == false;
    if (held != true) continue;
    fit.holds = true;
    fit.verdict.evidence.push_back(Describe(host, test));
  }
  const bool quota = Holds(host, kQuota) == true;
  fit.refuted = !quota && (all_calm || Holds(host, kFreeCpus) == true);
  if (!host.cpus_free) fit.verdict.refuters.emplace_back("not measured: free CPUs");
  return fit;
}

Fit FitSpare(const HostEvidence& host) {
  Fit fit;
  fit.verdict.cause = kSpare;
  fit.holds = true;
  for (const SignalTest& test : kSpareNeeds) {
    const std::optional<bool> held = Holds(host, test);
    fit.holds = fit.holds && held.value_or(false);
    fit.refuted = fit.refuted || held == false;
    fit.verdict.evidence.push_back(Describe(host, test));
  }
  const std::optional<bool> calm = Holds(host, kCalmCpu);
  fit.refuted = fit.refuted || calm == false;
  (calm ? fit.verdict.evidence : fit.verdict.refuters).push_back(Describe(host, kCalmCpu));
  for (const SignalTest& test : kSpareRefuters) {
    const std::optional<bool> held = Holds(host, test);
    fit.refuted = fit.refuted || held == true;
    if (!held) fit.verdict.refuters.push_back(Describe(host, test));
  }
  return fit;
}

}  // namespace

LoaderVerdict JudgeLoader(const HostEvidence& host) {
  std::array<Fit, 3> fits = {FitStorage(host), FitNoCores(host), FitSpare(host)};
  LoaderVerdict none;
  none.excluded = true;
  for (Fit& fit : fits) {
    if (fit.holds && !fit.refuted) return std::move(fit.verdict);  // a refuter beats any number of supporters
    none.excluded = none.excluded && fit.refuted;
  }
  for (const SignalTest& test : {kOnCpu, kQueue, kBlocked, kCpuPressure, kIoPressure, kFreeCpus}) {
    if (host.*test.signal) none.evidence.push_back(Describe(host, test));
  }
  return none;
}

void JoinHostEvidence(const HostEvidence& host, bool few_steps, Finding& finding) {
  if (finding.cause != kSpare && finding.cause != kNoCores && finding.cause != kStorage) return;
  LoaderVerdict verdict = JudgeLoader(host);
  finding.evidence.insert(finding.evidence.end(), verdict.evidence.begin(), verdict.evidence.end());
  if (verdict.excluded) {
    const Cause& row = CauseOf("unknown");
    finding.cause = row.id;
    finding.title = "The device waits in the data loader, and the host does not show why";
    finding.status = Status::kUnknown;
    finding.bound = 0;
    finding.isolate = "the loader alone, without the model: its samples a second, and what its workers wait for";
    return;
  }
  if (verdict.cause.empty()) return;
  const Cause& row = CauseOf(verdict.cause);
  finding.cause = row.id;
  finding.title = row.title;
  finding.status = few_steps ? Status::kLikely : Status::kConfirmed;
  finding.isolate = row.isolate;
  finding.refutes = {std::string(row.refuted)};
  finding.refutes.insert(finding.refutes.end(), verdict.refuters.begin(), verdict.refuters.end());
  if (verdict.cause == kStorage) finding.bound *= *host.d_state;
}

}  // namespace idleburn
