// What the host tells about waiting GPUs: means of its signals over chosen time, and rules that turn these into
// a cause for a slow data loader.

#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "classify/cause_limits.h"
#include "diagnose/cause_table.h"
#include "profile/profile.h"
#include "telemetry/host.h"

namespace idleburn {

// What the host did during a run, as means: of the data loader's workers (or of the job's processes without
// workers) and of the machine. They tell why a loader is slow. Shares are fractions from 0 to 1. Absent means
// unavailable (PSI switched off, /proc/<pid>/io unreadable), and never 0.
struct HostEvidence {
  // Shares of a worker's time (/proc/<pid>/schedstat; state D of /proc/<pid>/stat).
  std::optional<double> worker_on_cpu;
  std::optional<double> run_queue_wait;
  std::optional<double> d_state;  // blocked, usually on storage
  // Shares of the time of the machine or of the job's control group (PSI).
  std::optional<double> psi_cpu_some;
  std::optional<double> psi_io_some;
  std::optional<double> psi_io_full;
  std::optional<double> psi_memory_full;
  std::optional<double> cpus_free;  // idle CPUs that the job may use
  // Bytes a second of the job's processes (/proc/<pid>/io).
  std::optional<double> read_bytes_rate;   // from storage
  std::optional<double> read_chars_rate;   // by read calls, including the page cache
  std::optional<double> write_bytes_rate;  // to storage
  // Share of time above the CPU quota of the control group.
  std::optional<double> cpu_throttled;
};

// GPU-nanoseconds of interest in a stretch of time, and those observed.
struct ChosenTime {
  std::int64_t ns = 0;
  std::int64_t observed = 0;
  void Merge(const ChosenTime& o) {
    ns += o.ns;
    observed += o.observed;
  }
  friend bool operator==(const ChosenTime&, const ChosenTime&) = default;
};
// Chosen time on a timeline.
using ChosenTimes = SecondBuckets<ChosenTime>;

// Means of the host over chosen time. Each stretch counts by its chosen share. Uses the workload's signals, or the
// machine's if those were not read. A signal that was read for less than half of the time is absent.
//
// Example: GPUs were low in 10 s of a minute. The means are those of the 10 s, because what the host did while GPUs
// worked tells nothing about why they waited.
HostEvidence MeansOver(const HostTimeline& host, const ChosenTimes& chosen);

// What the host did while the profiles were recorded. Profiles without a clock are assumed to cover all of the
// host's time. Profiles from another time give no evidence.
HostEvidence HostDuring(std::span<const Profile> profiles, const HostTimeline& host);

// What the host signals say about one possible reason for a slow loader.
struct LoaderVerdict {
  std::string_view cause;  // id in the cause table
  // A signal shows it, every required signal agrees, and nothing refutes it.
  bool shown = false;
  // Share of a worker's time that shows it; 0 if workers were not read.
  double strength = 0;
  // Sentences with the counter, its value and the threshold: those that hold, those against, and signals not
  // read.
  std::vector<std::string> holds;
  std::vector<std::string> against;
  std::vector<std::string> not_read;
};

// One verdict for each loader cause, in a fixed order. `e` holds means over the time in which GPUs waited.
std::vector<LoaderVerdict> JudgeLoader(const HostEvidence& e);

// The strongest verdict that is shown, by its share of a worker's time. Null if none is shown.
const LoaderVerdict* NamedBy(std::span<const LoaderVerdict> verdicts);

// Thresholds, measured on a host with two cores, a few seconds for each load (docs/diagnosis.md).
inline constexpr double kWorkerOnCpu = 0.9;     // a worker that only computes
inline constexpr double kLittleCpuWait = 0.2;   // of PSI cpu.some: no one else wants these CPUs
inline constexpr double kInRunQueue = 0.3;      // of a worker's time
inline constexpr double kHardlyQueued = 0.1;    // of a worker's time: it gets its CPU
inline constexpr double kInStateD = 0.3;        // of a worker's time
inline constexpr double kQuotaHeldBack = 0.01;  // of time; less comes from uneven ends of quota periods
inline constexpr double kPageCacheFactor = 10;  // bytes requested per byte from storage
inline constexpr double kReadsStorage = 1000;   // bytes a second; less is a log file or a library

// Lets host signals decide the cause of a loader finding from a trace. If they show a cause, two independent
// signals agree and it is confirmed, unless the trace has `few_steps`. If they contradict the cause that the
// trace names and show no other, the cause becomes unknown. Other findings stay unchanged, and so does
// everything if no signals were read.
void JoinHostEvidence(const HostEvidence& host, bool few_steps, Finding& finding);

}  // namespace idleburn
