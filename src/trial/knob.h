#pragma once

#include <array>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "measure/cgroup_files.h"
#include "trial/confinement.h"
#include "trial/trial.h"

namespace idleburn {

// The knobs of `idleburn isolate`: what can be changed about a run without touching the user's code. A knob plans
// first, so that a series knows beforehand whether it can be turned and what that means. The plan then makes the
// machine ready for each run of either side.
//
// A knob is a row of data with one function, not a class: every knob has the same fields, and docs/isolate.md prints
// them.

// What a knob must know of the machine and of the command to say whether it can be turned, and how far.
struct KnobContext {
  // The CPUs that may be used, and what a quota leaves of them.
  std::vector<CpuPlace> cpus;
  std::optional<double> quota_cpus;
  // The control groups that we are in.
  CgroupPlaces cgroups;
  // Processes that are no command's.
  std::vector<pid_t> ours;
  // The folder or file that the command reads; empty: not given.
  std::string data;
  // In bytes.
  std::int64_t memory_available = 0;
  // A run of the command, unchanged. Not null while a knob plans.
  const Trial* first = nullptr;
  // Whether the user does not want to wait any more; asked while data are read into memory.
  std::function<bool()> stop;
};

// Which run of a pair: unchanged or changed.
enum class TrialSide : std::uint8_t { kBaseline, kVariant };

// How a knob is turned here.
struct KnobPlan {
  // The resource on both sides in words: "8 CPUs", "4 CPUs".
  std::string before;
  std::string after;
  // After by before, of the resource. Absent for what is on or off.
  std::optional<double> resource_ratio;
  // Makes the machine ready for a run of that side. What it returns must live until the run has ended.
  std::function<Result<KnobChange>(TrialSide)> apply;
  // Why a run shows nothing though it worked: the command did not take the change. Empty if it did.
  std::function<std::string(TrialSide, const Trial&)> objection = [](TrialSide, const Trial&) { return std::string(); };
};

// One thing that can be changed.
struct Knob {
  // For programs; it does not change.
  std::string_view id;
  std::string_view changes;
  // How it is changed, by the name of the call or file.
  std::string_view applied;
  // A privilege, or what the user must give.
  std::string_view needs;
  // It takes from a resource, so its sensitivity says how much of the job waits for that.
  bool limits;
  // The sign of the effect that the claim is about.
  int expected;
  std::string_view claim;
  // The claim if the effect has the other sign.
  std::string_view opposite;
  // The causes of idle time that it isolates, as docs/json.md names them. "" where there are fewer.
  std::array<std::string_view, 3> causes;
  // What to do where the claim holds.
  std::string_view next;
  // Fails where the knob cannot be turned, and says why.
  Result<KnobPlan> (*plan)(const KnobContext& context);
};

// All knobs, in the order in which they are tried.
std::span<const Knob> Knobs();
// The knob of that id; null if there is none.
const Knob* FindKnob(std::string_view id);

}  // namespace idleburn
