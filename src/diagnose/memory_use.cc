#include "diagnose/memory_use.h"

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace idleburn {
namespace {

using MemoryAction = MemoryEvent::Action;

std::int64_t AllocatedBy(const MemoryEvent& event) {
  if (event.action == MemoryAction::kAlloc) return event.size;
  return event.action == MemoryAction::kFreeRequested ? -event.size : 0;
}
std::int64_t ActiveBy(const MemoryEvent& event) {
  if (event.action == MemoryAction::kAlloc) return event.size;
  return event.action == MemoryAction::kFreeCompleted ? -event.size : 0;
}
std::int64_t ReservedBy(const MemoryEvent& event) {
  if (event.action == MemoryAction::kReserve) return event.size;
  return event.action == MemoryAction::kRelease ? -event.size : 0;
}

// A level over a trace. `start` is its value before the first event.
struct LevelOverTrace {
  bool exact = false;
  std::int64_t start = 0;
  std::int64_t largest = 0;
  std::size_t at = 0;  // events before the largest level was first reached
};

LevelOverTrace LevelOf(std::span<const MemoryEvent> events, std::int64_t (*change)(const MemoryEvent&),
                       std::optional<std::int64_t> final) {
  std::int64_t sum = 0;
  std::int64_t lowest = 0;
  std::int64_t highest = 0;
  LevelOverTrace level;
  for (std::size_t i = 0; i < events.size(); ++i) {
    sum += change(events[i]);
    lowest = std::min(lowest, sum);
    if (sum > highest) {
      highest = sum;
      level.at = i + 1;
    }
  }
  // What is freed must have been there, so the start is at least -lowest.
  level.exact = final && *final - sum >= -lowest;
  level.start = level.exact ? *final - sum : -lowest;
  level.largest = level.start + highest;
  return level;
}

// Collects holders by site.
class HolderSum {
 public:
  void Add(CallSite site, std::int64_t bytes) { Add(by_site_[site], bytes); }
  void AddUntraced(std::int64_t bytes) { Add(untraced_, bytes); }

  [[nodiscard]] std::vector<MemoryHolder> Largest(const std::vector<std::string>& sites) const {
    std::vector<MemoryHolder> holders;
    for (const auto& [site, sum] : by_site_) holders.push_back({sites[site], sum.first, sum.second, false});
    if (untraced_.second > 0) holders.push_back({"", untraced_.first, untraced_.second, true});
    std::stable_sort(holders.begin(), holders.end(), [](const MemoryHolder& a, const MemoryHolder& b) {
      return a.bytes != b.bytes ? a.bytes > b.bytes : a.site < b.site;
    });
    return holders;
  }

 private:
  using BytesAndBlocks = std::pair<std::int64_t, std::int64_t>;
  static void Add(BytesAndBlocks& sum, std::int64_t bytes) {
    sum.first += bytes;
    ++sum.second;
  }
  std::map<CallSite, BytesAndBlocks> by_site_;
  BytesAndBlocks untraced_;
};

using SegmentsOfGpu = std::vector<const MemorySegment*>;

// Who held memory after the first `moment` events.
HolderSum HoldersAt(std::span<const MemoryEvent> events, std::size_t moment, const SegmentsOfGpu& segments) {
  std::unordered_map<std::int64_t, const MemoryEvent*> held;
  std::unordered_set<std::int64_t> traced;  // addresses whose allocation the trace has
  HolderSum holders;
  std::unordered_set<std::int64_t> later;  // allocated after the moment and not yet freed
  for (std::size_t i = 0; i < events.size(); ++i) {
    const MemoryEvent& event = events[i];
    if (event.action == MemoryAction::kAlloc) {
      traced.insert(event.address);
      if (i < moment) {
        held[event.address] = &event;
      } else {
        later.insert(event.address);
      }
    } else if (event.action == MemoryAction::kFreeRequested) {
      const bool was_traced = traced.count(event.address) > 0;
      if (i < moment) {
        held.erase(event.address);
      } else if (later.erase(event.address) == 0 && !was_traced) {
        holders.AddUntraced(event.size);
      }
      // A later free of the same address belongs to another allocation, which the trace must have.
      traced.insert(event.address);
    }
  }
  for (const auto& [address, event] : held) holders.Add(event->site, event->size);
  for (const MemorySegment* segment : segments) {
    for (const MemoryBlock& block : segment->blocks) {
      if (block.state != MemoryBlock::State::kAllocated || traced.count(block.address) > 0) continue;
      holders.Add(block.site, block.requested);
    }
  }
  return holders;
}

MemoryState StateOf(const SegmentsOfGpu& segments, const std::vector<std::string>& sites) {
  MemoryState state;
  HolderSum holders;
  std::set<std::pair<std::int64_t, std::pair<std::int64_t, std::int64_t>>> pools;
  for (const MemorySegment* segment : segments) {
    state.reserved += segment->total;
    ++state.segments;
    pools.insert({segment->stream, segment->pool});
    bool used = false;
    std::int64_t free = 0;
    for (const MemoryBlock& block : segment->blocks) {
      if (block.state == MemoryBlock::State::kFree) {
        free += block.size;
        state.largest_free = std::max(state.largest_free, block.size);
        continue;
      }
      used = true;
      if (block.state == MemoryBlock::State::kPending) {
        state.pending += block.size;
        continue;
      }
      state.allocated += block.requested;
      state.rounding += block.size - block.requested;
      holders.Add(block.site, block.requested);
    }
    (!used ? state.free_whole : segment->expandable ? state.free_mapped : state.free_split) += free;
  }
  state.pools = static_cast<std::int64_t>(pools.size());
  state.holders = holders.Largest(sites);
  return state;
}

// What was asked for in blocks that are allocated or pending.
std::int64_t ActiveNow(const SegmentsOfGpu& segments) {
  std::int64_t active = 0;
  for (const MemorySegment* segment : segments) {
    for (const MemoryBlock& block : segment->blocks) {
      if (block.state != MemoryBlock::State::kFree) active += block.requested;
    }
  }
  return active;
}

std::optional<std::int64_t> IfKnown(bool known, std::int64_t value) {
  return known ? std::optional(value) : std::nullopt;
}

void FollowTrace(std::span<const MemoryEvent> events, const SegmentsOfGpu& segments,
                 const std::vector<std::string>& sites, GpuMemoryUse& use) {
  const bool has_state = use.now.has_value();
  const LevelOverTrace allocated = LevelOf(events, AllocatedBy, IfKnown(has_state, has_state ? use.now->allocated : 0));
  const LevelOverTrace reserved = LevelOf(events, ReservedBy, IfKnown(has_state, has_state ? use.now->reserved : 0));
  const LevelOverTrace active = LevelOf(events, ActiveBy, IfKnown(has_state, ActiveNow(segments)));
  MemoryPeak peak;
  peak.exact = allocated.exact && reserved.exact;
  peak.allocated = allocated.largest;
  peak.reserved = reserved.largest;
  if (has_state && !peak.exact) {
    peak.allocated = std::max(peak.allocated, use.now->allocated);
    peak.reserved = std::max(peak.reserved, use.now->reserved);
  }
  std::int64_t reserved_now = reserved.start;
  std::int64_t active_now = active.start;
  if (peak.exact) peak.reserved_then = reserved_now;
  for (std::size_t i = 0; i < events.size(); ++i) {
    const MemoryEvent& event = events[i];
    reserved_now += ReservedBy(event);
    active_now += ActiveBy(event);
    if (event.action != MemoryAction::kNote && event.action != MemoryAction::kOutOfMemory) ++use.events;
    if (peak.exact && i + 1 == allocated.at) peak.reserved_then = reserved_now;
    if (event.action != MemoryAction::kOutOfMemory) continue;
    const bool known = reserved.exact && active.exact && reserved_now >= active_now;
    use.failed.push_back(
        {event.size, event.address, IfKnown(known, reserved_now), IfKnown(known, reserved_now - active_now)});
  }
  peak.holders = HoldersAt(events, allocated.at, segments).Largest(sites);
  if (use.events > 0) use.peak = std::move(peak);
}

}  // namespace

OutOfMemory::Cause OutOfMemory::CauseOf() const {
  if (asked <= device_free) return Cause::kRefused;
  if (!unused) return Cause::kNotKnown;
  return *unused + device_free >= asked ? Cause::kInPieces : Cause::kExhausted;
}

bool IsFragmented(const MemoryState& state) {
  return static_cast<double>(state.free_split) >= kFragmentedShare * static_cast<double>(state.reserved) &&
         state.reserved > 0;
}

std::vector<GpuMemoryUse> GpuMemoryUseOf(const MemorySnapshot& snapshot) {
  std::map<std::int64_t, SegmentsOfGpu> gpus;
  if (snapshot.segments) {
    for (const MemorySegment& segment : *snapshot.segments) gpus[segment.device].push_back(&segment);
  }
  if (snapshot.traces) {
    for (std::size_t gpu = 0; gpu < snapshot.traces->size(); ++gpu) {
      if (!(*snapshot.traces)[gpu].empty()) gpus[static_cast<std::int64_t>(gpu)];
    }
  }
  std::vector<GpuMemoryUse> uses;
  for (const auto& [gpu, segments] : gpus) {
    GpuMemoryUse use;
    use.device = gpu;
    if (snapshot.segments) use.now = StateOf(segments, snapshot.sites);
    const auto index = static_cast<std::size_t>(gpu);
    if (snapshot.traces && index < snapshot.traces->size()) {
      FollowTrace((*snapshot.traces)[index], segments, snapshot.sites, use);
    }
    uses.push_back(std::move(use));
  }
  return uses;
}

}  // namespace idleburn
