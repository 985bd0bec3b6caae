// The causes of lost GPU time, and a finding: one cause with the evidence of a run. To add a cause, add a row
// to the table; docs/diagnosis.md and the tests name every row.

#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/money.h"

namespace idleburn {

// How sure a finding is. Confirmed: two independent signals agree, or one signal is proof. Likely: one signal
// suggests it. Unknown: time was lost, and the cause is not shown.
enum class Status : std::uint8_t { kConfirmed, kLikely, kUnknown };
std::string_view Name(Status s);

// Why GPU time was lost, with what shows it and what would refute it. Samples, traces and the host's signals all end
// in findings. Reports print them, and recommend/advice.h turns them into levers.
struct Finding {
  // Id in the cause table: "idle_held", "spin_wait", "throttling", "unknown", ...
  std::string_view cause;
  std::string title;  // one short sentence for people
  Status status = Status::kUnknown;
  double share = 0;  // of observed time, or of the traced window: see of_run
  // Each names its counter, value and threshold.
  std::vector<std::string> evidence;
  // What would refute it, measured or not.
  std::vector<std::string> refutes;
  // The next measurement, or the one setting that isolates the cause.
  std::string isolate;
  std::int64_t gpu_ns = 0;         // GPU time in which it was seen
  std::optional<Money> time_cost;  // the cost of that time
  // Waste in that time that this cause explains; 0 for a cause of busy time.
  std::int64_t waste_ns = 0;
  std::optional<Money> cost;  // of that waste; all findings together cost at most the waste
  // Share of observed time that a fix can give back at most; 0: unknown.
  double bound = 0;
  // The share of the run's observed time, for a cause that only a trace of part of the run shows. `share` is
  // then of the traced window.
  std::optional<double> of_run;

  // The share that findings are compared by, and that `bound` is a part of.
  [[nodiscard]] double ShareOfRun() const { return of_run.value_or(share); }
};

// Disjoint pools of time. Fixes in one pool compete for the same time, so their savings do not add up.
enum class Pool : std::uint8_t {
  kNone,
  kLoader,
  kCopy,
  kLaunch,
  kComm,
  kSync,
  kCheckpoint,
  kThrottle,
  kMemory,
  kIdle,
  kSpin,
  kCompute,
  kStart  // once in a process
};

// A cause of lost GPU time: what shows it, what refutes it, the one setting that isolates it, and its levers in order
// of preference. The levers of one cause recover the same time. Samples and traces name causes by the same rows, so
// two that agree confirm one finding.
struct Cause {
  std::string_view id;
  std::string_view title;
  Pool pool;
  std::string_view evidence;
  std::string_view refuted;
  std::string_view isolate;
  std::array<std::string_view, 6> levers;  // unused elements are empty
};

// All causes. docs/diagnosis.md explains each.
std::span<const Cause> Causes();
// The cause with this id, which must exist.
const Cause& CauseById(std::string_view id);

}  // namespace idleburn
