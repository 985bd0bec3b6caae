#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "diagnose/host_evidence.h"

namespace idleburn {

// What the host signals say about one reason for a slow loader.
struct LoaderVerdict {
  std::string_view cause;  // id of the cause table
  bool shown = false;      // a signal shows it, none that it needs speaks against it, and nothing refutes it
  double strength = 0;     // the share of a worker's time that shows it; 0 where workers were not read
  // In sentences that name the counter, its value and the threshold.
  std::vector<std::string> holds;
  std::vector<std::string> against;
  std::vector<std::string> not_read;
};

// One verdict for each loader cause, in a fixed order. `e`: means over the time in which GPUs waited.
std::vector<LoaderVerdict> JudgeLoader(const HostEvidence& e);

// The one that is shown; of several the strongest, which has the larger share of a worker's time. Null if none is.
const LoaderVerdict* NamedBy(std::span<const LoaderVerdict> verdicts);

// --- thresholds: measured on one host of two cores, a few seconds a load (docs/diagnosis.md) ---------------------

inline constexpr double kWorkerOnCpu = 0.9;     // a worker that does nothing else than compute
inline constexpr double kLittleCpuWait = 0.2;   // of PSI cpu.some: nobody else wants these CPUs
inline constexpr double kMuchCpuWait = 0.5;     // of PSI cpu.some
inline constexpr double kInRunQueue = 0.3;      // of a worker's time
inline constexpr double kHardlyQueued = 0.1;    // of a worker's time: it gets its CPU
inline constexpr double kInStateD = 0.3;        // of a worker's time
inline constexpr double kIoFull = 0.1;          // of PSI io.full
inline constexpr double kQuotaHeldBack = 0.01;  // of time; below it a quota's periods merely end unevenly
inline constexpr double kCoreToSpare = 0.5;     // rounds to a whole core: CPUs never are idle to the last percent
inline constexpr double kPageCacheFactor = 10;  // bytes that were asked for, to bytes from storage
inline constexpr double kReadsStorage = 1000;   // bytes a second; less is a log file or a library

}  // namespace idleburn
