#include "import/owner_timeline.h"

#include <algorithm>

#include "base/int128.h"

namespace idleburn {
namespace {

using Stretch = OwnerTimeline::Presence::Stretch;

// How many stamps of a stretch lie before `time`.
std::int64_t StampsBefore(std::int64_t first, const Stretch& s, std::int64_t time) {
  if (time <= first) return 0;
  if (time > s.last) return s.count;
  const Int128 steps = static_cast<Int128>(time - first) * (s.count - 1);
  return static_cast<std::int64_t>((steps + (s.last - first) - 1) / (s.last - first));
}

struct Active {
  const std::string* owner;
  std::int64_t first;
  const Stretch* stretch;
};

// One device's scrapes between two neighbouring stretch ends: owners do not change, the densest stretch counts.
void AddScrapes(OwnerLedger& ledger, DeviceId device, const std::vector<Active>& active, std::int64_t from,
                std::int64_t to) {
  std::vector<std::string> owners;
  std::int64_t scrapes = 0;
  for (const Active& a : active) {
    const bool known = std::find(owners.begin(), owners.end(), *a.owner) != owners.end();
    if (!a.owner->empty() && !known) owners.push_back(*a.owner);
    scrapes = std::max(scrapes, StampsBefore(a.first, *a.stretch, to) - StampsBefore(a.first, *a.stretch, from));
  }
  if (scrapes > 0) ledger.Add(device, owners, scrapes);
}

void AddDevice(OwnerLedger& ledger, DeviceId device, const std::vector<Active>& stretches) {
  struct End {
    std::int64_t time;
    bool starts;
    std::size_t stretch;
  };
  std::vector<End> ends;
  for (std::size_t i = 0; i < stretches.size(); ++i) {
    ends.push_back({stretches[i].first, true, i});
    ends.push_back({stretches[i].stretch->last + 1, false, i});
  }
  std::sort(ends.begin(), ends.end(), [](const End& a, const End& b) { return a.time < b.time; });
  std::vector<Active> active;
  for (std::size_t i = 0; i < ends.size(); ++i) {
    const Active& changed = stretches[ends[i].stretch];
    if (ends[i].starts) {
      active.push_back(changed);
    } else {
      active.erase(std::find_if(active.begin(), active.end(),
                                [&](const Active& a) { return a.stretch == changed.stretch; }));
    }
    if (i + 1 < ends.size() && ends[i + 1].time > ends[i].time && !active.empty()) {
      AddScrapes(ledger, device, active, ends[i].time, ends[i + 1].time);
    }
  }
}

}  // namespace

void OwnerTimeline::Presence::See(std::int64_t time) {
  if (current_ != stretches_.end() && time >= current_->first && time <= current_->second.last) return;
  const auto next = stretches_.upper_bound(time);
  if (next != stretches_.begin()) {
    current_ = std::prev(next);
    Stretch& before = current_->second;
    if (time <= before.last) return;
    const std::int64_t distance = time - before.last;
    // The same 2.5 periods that a reading is held for.
    if (step_ == 0 || distance <= step_ / 2 * 5 || stretches_.size() >= kMaxStretches) {
      step_ = step_ == 0 ? distance : std::min(step_, distance);
      before.last = time;
      ++before.count;
      return;
    }
  }
  current_ = stretches_.emplace(time, Stretch{time, 1}).first;
}

OwnerTimeline::Presence* OwnerTimeline::Track(DeviceId device, const std::string& owner) {
  return &presences_[std::pair(device, owner)];
}

void OwnerTimeline::Deliver(OwnerLedger& ledger) const {
  std::vector<Active> stretches;
  for (auto it = presences_.begin(); it != presences_.end(); ++it) {
    const auto& [key, presence] = *it;
    for (const auto& [first, stretch] : presence.stretches_) stretches.push_back({&key.second, first, &stretch});
    const auto next = std::next(it);
    if (next != presences_.end() && next->first.first == key.first) continue;
    AddDevice(ledger, key.first, stretches);
    stretches.clear();
  }
}

}  // namespace idleburn
