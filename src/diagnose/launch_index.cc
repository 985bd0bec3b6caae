#include "diagnose/launch_index.h"

#include <algorithm>

namespace idleburn {

LaunchIndex::LaunchIndex(const Profile& profile) : profile_(profile) {
  entries_.reserve(profile.calls.size());
  for (std::size_t i = 0; i < profile.calls.size(); ++i) {
    const HostCall& call = profile.calls[i];
    if (call.correlation == kNoCorrelation) continue;
    entries_.push_back({call.correlation, ProcessOf(call.process), static_cast<std::uint32_t>(i)});
  }
  // Ids are handed out in the order of calls: most files are sorted but for a few threads that overtake each other.
  if (!std::is_sorted(entries_.begin(), entries_.end())) std::sort(entries_.begin(), entries_.end());
}

std::vector<LaunchIndex::Entry>::const_iterator LaunchIndex::First(const DeviceEvent& event) const {
  if (event.correlation == kNoCorrelation) return entries_.end();
  return std::lower_bound(entries_.begin(), entries_.end(), Entry{event.correlation, ProcessOf(event.process), 0});
}

bool LaunchIndex::Matches(const Entry& entry, const DeviceEvent& event) const {
  return entry.correlation == event.correlation && entry.process == ProcessOf(event.process);
}

const HostCall* LaunchIndex::Of(const DeviceEvent& event) const {
  const auto first = First(event);
  return first != entries_.end() && Matches(*first, event) ? &profile_.calls[first->call] : nullptr;
}

bool LaunchIndex::IsAmbiguous(const DeviceEvent& event) const {
  if (profile_.correlation_by_process) return false;
  const auto first = First(event);
  for (auto at = first; at != entries_.end() && Matches(*at, event); ++at) {
    if (profile_.calls[at->call].process != profile_.calls[first->call].process) return true;
  }
  return false;
}

}  // namespace idleburn
