// What the host did that no class of idle time tells: used something for the first time, took memory, waited for work
// that the file does not have, or copied results back.

#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "profile/interval_set.h"
#include "profile/profile.h"

namespace idleburn {

class LaunchIndex;

// The calls that make a process ready: they come once, and their time does not recur.
struct FirstUse {
  // Launches of a kernel that nobody launched before, if they take kSlowLaunch times the median launch or longer:
  // the driver loads or compiles the kernel's code meanwhile.
  IntervalSet launches;
  std::int64_t slow_launches = 0;
  std::int64_t slowest_ns = 0;
  NameId slowest = kNoName;     // the kernel of the slowest
  double median_launch_ns = 0;  // of all launches that run something
  IntervalSet setup;            // modules, contexts, handles, communicators
  IntervalSet capture;          // a graph is recorded: launches run nothing
};
inline constexpr double kSlowLaunch = 10;

// The host's work for one device, by the processes that drive it.
struct HostWork {
  FirstUse first;
  IntervalSet first_use;   // all of FirstUse, and compilers at work
  IntervalSet allocating;  // calls that take or return memory of any kind, without the one that makes a context
  IntervalSet to_host;     // calls that copy from the device to the host
  // Calls of a millisecond or more that wait for the device while no device of the file works: what they wait for was
  // launched before recording began. A wait that recurs (kRecurringWaits) is none of these.
  IntervalSet cut;
  std::vector<std::int64_t> allocation_starts;  // of the calls of `allocating`
};
inline constexpr std::size_t kRecurringWaits = 3;

HostWork FindHostWork(const Profile& profile, const ProfiledDevice& device, const LaunchIndex& launches);

}  // namespace idleburn
