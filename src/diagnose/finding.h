#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/money.h"

namespace idleburn {

enum class Status : std::uint8_t { kConfirmed, kLikely, kUnknown };
std::string_view Name(Status s);

// Why GPU time was lost, with what shows it and what would refute it.
struct Finding {
  std::string_view cause;  // id of the cause table: "idle_held", "spin_wait", "throttling", "unknown", ...
  std::string title;       // the same in one short sentence, for people
  Status status = Status::kUnknown;
  double share = 0;                   // of observed time, or of the traced window: see of_run
  std::vector<std::string> evidence;  // each names its counter, value and threshold
  std::vector<std::string> refutes;   // what would refute it, measured or not
  std::string isolate;                // the next measurement, or the one knob that isolates it
  std::int64_t gpu_ns = 0;            // the time in which it was seen
  std::optional<Money> time_cost;     // what that time costs
  std::int64_t waste_ns = 0;          // the waste in it that this cause explains: 0 for a cause of busy time
  std::optional<Money> cost;          // of that waste: the costs of all findings add up to the waste at most
  double bound = 0;                   // of observed time: the most that a fix can give back; 0: not known
  // Where only a trace of a part of the run shows it: the share of the run's observed time. `share` is then of the
  // traced window.
  std::optional<double> of_run;

  // What findings are compared by, and what `bound` is a part of.
  [[nodiscard]] double ShareOfRun() const { return of_run.value_or(share); }
};

}  // namespace idleburn
