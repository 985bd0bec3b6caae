#pragma once

#include <array>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "measure/cgroup_files.h"
#include "trial/cpu_cores.h"
#include "trial/trial.h"

namespace idleburn {

// What a knob must know of the machine and of the command to say whether it can be turned, and how far.
struct KnobContext {
  std::vector<CpuPlace> cpus;         // that may be used
  std::optional<double> quota_cpus;   // that a quota leaves of them
  CgroupPlaces cgroups;               // ours
  std::vector<pid_t> ours;            // processes that are no command's
  std::string data;                   // folder or file it reads; empty: not given
  std::int64_t memory_available = 0;  // bytes
  const Trial* first = nullptr;       // of the command, unchanged
  std::function<bool()> stop;         // the user does not want to wait any more
};

enum class TrialSide : std::uint8_t { kBaseline, kVariant };

// How a knob is turned here.
struct KnobPlan {
  std::string before;  // "8 CPUs"
  std::string after;   // "4 CPUs"
  // After by before, of the resource; absent for what is on or off.
  std::optional<double> resource_ratio;
  // Makes the machine ready for a run of that side.
  std::function<Result<KnobChange>(TrialSide)> apply;
  // Why a run shows nothing, though it worked: the command did not take the change. Empty if it did.
  std::function<std::string(TrialSide, const Trial&)> objection = [](TrialSide, const Trial&) { return std::string(); };
};

// One thing that can be changed without touching the user's code. docs/isolate.md is the same table for people.
struct Knob {
  std::string_view id;  // for programs; does not change
  std::string_view changes;
  std::string_view applied;  // how, by name
  std::string_view needs;    // privilege, or what the user must give
  bool limits;               // takes from a resource: its sensitivity says how much of the job waits for it
  int expected;              // sign of the effect that the claim is about
  std::string_view claim;
  std::string_view opposite;               // the claim if the effect has the other sign
  std::array<std::string_view, 3> causes;  // that it isolates, ids of docs/json.md; "" where there are fewer
  std::string_view next;                   // what to do where the claim holds
  Result<KnobPlan> (*plan)(const KnobContext& context);  // fails where it cannot be turned, and says why
};

// All of them, in the order in which they are tried.
std::span<const Knob> Knobs();
const Knob* FindKnob(std::string_view id);  // null: there is none

}  // namespace idleburn
