#include "import/owner_timeline.h"

#include <algorithm>
#include <utility>

namespace idleburn {
namespace {

// One owner's time without a gap.
struct Held {
  const std::string* owner;
  std::int64_t from;
  std::int64_t last;  // stamp
  std::int64_t to;
};

// No stamp holds into a time in which another owner begins.
void EndWhereOthersBegin(std::vector<Held>& all) {
  std::sort(all.begin(), all.end(), [](const Held& a, const Held& b) { return a.from < b.from; });
  for (Held& held : all) {
    const auto after = [](std::int64_t time, const Held& other) { return time < other.from; };
    for (auto next = std::upper_bound(all.begin(), all.end(), held.last, after);
         next != all.end() && next->from < held.to; ++next) {
      if (*next->owner != *held.owner) held.to = next->from;
    }
  }
}

// The owners of a time in which none begins and none ends.
void AddTime(OwnerLedger& ledger, DeviceId device, const std::vector<const Held*>& active, std::int64_t from,
             std::int64_t to) {
  std::vector<std::string> owners;
  for (const Held* held : active) {
    const bool known = std::find(owners.begin(), owners.end(), *held->owner) != owners.end();
    if (!held->owner->empty() && !known) owners.push_back(*held->owner);
  }
  ledger.Add(device, owners, Instant::FromNanos(from), Instant::FromNanos(to));
}

void AddDevice(OwnerLedger& ledger, DeviceId device, const std::vector<Held>& all) {
  struct End {
    std::int64_t time;
    bool starts;
    const Held* held;
  };
  std::vector<End> ends;
  for (const Held& held : all) {
    ends.push_back({held.from, true, &held});
    ends.push_back({held.to, false, &held});
  }
  std::sort(ends.begin(), ends.end(), [](const End& a, const End& b) { return a.time < b.time; });
  std::vector<const Held*> active;
  for (std::size_t i = 0; i < ends.size(); ++i) {
    if (ends[i].starts) {
      active.push_back(ends[i].held);
    } else {
      active.erase(std::find(active.begin(), active.end(), ends[i].held));
    }
    if (i + 1 < ends.size() && ends[i + 1].time > ends[i].time && !active.empty()) {
      AddTime(ledger, device, active, ends[i].time, ends[i + 1].time);
    }
  }
}

}  // namespace

void OwnerTimeline::Presence::See(std::int64_t time) {
  if (time < 0 || time > kLatest) return;
  if (current_ != stretches_.end() && time >= current_->first && time <= current_->second) return;
  const auto next = stretches_.upper_bound(time);
  if (next != stretches_.begin()) {
    current_ = std::prev(next);
    std::int64_t& last = current_->second;
    if (time <= last) return;
    const std::int64_t distance = time - last;
    const bool gap = step_ != 0 && distance > step_ / 2 * 5;  // the same 2.5 periods that a reading is held for
    if (!gap || stretches_.size() >= kMaxStretches) {
      bridged_ += gap ? 1 : 0;
      step_ = step_ == 0 ? distance : std::min(step_, distance);
      last = time;
      return;
    }
  } else if (stretches_.size() >= kMaxStretches) {
    ++bridged_;
    auto first = stretches_.extract(next);
    first.key() = time;
    current_ = stretches_.insert(std::move(first)).position;
    return;
  }
  current_ = stretches_.emplace(time, time).first;
}

OwnerTimeline::Presence* OwnerTimeline::Track(DeviceId device, const std::string& owner) {
  return &presences_[std::pair(device, owner)];
}

void OwnerTimeline::Deliver(OwnerLedger& ledger, DataQuality& quality) const {
  for (const auto& [whose, presence] : presences_) {
    if (presence.bridged_ > 0) quality.CountNamed(QualityId::kOwnerGaps, whose.second, {}, presence.bridged_);
  }
  for (auto from = presences_.begin(); from != presences_.end();) {
    const auto to = std::find_if(from, presences_.end(),
                                 [&](const auto& presence) { return presence.first.first != from->first.first; });
    DeliverDevice(from, to, ledger);
    from = to;
  }
}

void OwnerTimeline::DeliverDevice(Presences::const_iterator from, Presences::const_iterator to, OwnerLedger& ledger) {
  std::int64_t least = 0;
  for (auto it = from; it != to; ++it) {
    const std::int64_t step = it->second.step_;
    if (step != 0 && (least == 0 || step < least)) least = step;
  }
  std::vector<Held> all;
  for (auto it = from; it != to; ++it) {
    // Who is named once holds as long as the others, or a second where nobody is named twice.
    const std::int64_t others = least == 0 ? kNanosPerSecond : least;
    const std::int64_t step = it->second.step_ == 0 ? others : it->second.step_;
    for (const auto& [first, last] : it->second.stretches_) {
      all.push_back({&it->first.second, first, last, last + step});
    }
  }
  EndWhereOthersBegin(all);
  AddDevice(ledger, from->first.first, all);
}

}  // namespace idleburn
