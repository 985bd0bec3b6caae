#include "diagnose/gap_list.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "diagnose/rank_join.h"
#include "diagnose/stalls.h"
#include "diagnose/step_budget.h"

namespace idleburn {

// Here and not with the other walks of the class: only timelines need gaps one by one.
void TracedDevice::VisitIdle(const DeviceTrace& trace, const IntervalSet* peer_wait, const TakeIdle& take) const {
  const WindowSpec spec{trace.window, trace.budget.span, peer_wait, slice_events_};
  Attribution attribution = Attribute(spec, nullptr);
  attribution.steady_ns = trace.SteadyNs();
  ForEachSlice(rows_, spec, nullptr, [&](const TraceSlice& slice) {
    const SliceTraits traits = FindTraits(rows_, slice, attribution);
    for (const IdleGap& gap : traits.gaps) {
      ForEachStretch(traits.of, gap.at, [&](Interval at, Traits what) { take(gap.at, at, what); });
    }
  });
}

namespace {

// The class of a stretch; absent without attribution.
std::optional<IdleClass> ClassOf(Traits what) {
  for (std::size_t c = 0; c < kIdleClasses; ++c) {
    const auto idle = static_cast<IdleClass>(c);
    if (Has(what, BitOf(ToTrait(idle)))) return idle;
  }
  return std::nullopt;
}

std::string_view CauseOf(const std::vector<ClaimedShare>& claims, Traits what) {
  const auto found =
      std::find_if(claims.begin(), claims.end(), [&](const ClaimedShare& c) { return c.time.Contains(what); });
  return found == claims.end() ? std::string_view() : found->cause;
}

// Joins stretches to gaps and hands each on when it is complete.
class GapCollector {
 public:
  GapCollector(std::size_t device, const TakeGap& take) : device_(device), take_(take) {}

  void Add(Interval gap, const GapStretch& stretch) {
    if (gap.start != gap_.start) Finish();
    gap_ = gap;
    if (!parts_.empty()) {
      GapStretch& last = parts_.back();
      if (last.what == stretch.what && last.attributed == stretch.attributed && last.cause == stretch.cause) {
        last.at.end = stretch.at.end;
        return;
      }
    }
    parts_.push_back(stretch);
  }
  void Finish() {
    if (!parts_.empty()) take_(device_, parts_);
    parts_.clear();
  }

 private:
  std::size_t device_;
  const TakeGap& take_;
  Interval gap_;
  std::vector<GapStretch> parts_;
};

}  // namespace

void VisitGaps(std::span<const Profile> profiles, const TraceDiagnosis& diagnosis, const TakeGap& take) {
  const std::vector<std::optional<PeerWait>> peers = JoinRanks(profiles);
  for (std::size_t p = 0; p < profiles.size(); ++p) {
    const LaunchIndex launches(profiles[p]);
    const StartOrder<HostCall> calls(profiles[p].calls);
    const IntervalSet* waiting = peers[p] ? &peers[p]->waiting : nullptr;
    for (std::size_t i = 0; i < diagnosis.devices.size(); ++i) {
      const DeviceDiagnosis& d = diagnosis.devices[i];
      if (d.profile != p) continue;
      const auto device = std::find_if(profiles[p].devices.begin(), profiles[p].devices.end(),
                                       [&](const ProfiledDevice& other) { return other.id == d.device; });
      const TracedDevice traced(profiles[p], *device, launches, calls);
      DeviceTrace trace;
      trace.profile = &profiles[p];
      trace.device = &*device;
      trace.window = d.Deciding().window;
      trace.budget = d.Deciding();
      if (trace.window == Window::kProfilerSteps) trace.steps = StepsOf(profiles[p], *device);
      GapCollector gaps(i, take);
      traced.VisitIdle(trace, waiting, [&](Interval gap, Interval at, Traits what) {
        const std::optional<IdleClass> idle = ClassOf(what);
        gaps.Add(gap, {at, idle.value_or(IdleClass::kHostOther), idle.has_value(), CauseOf(d.claims, what)});
      });
      gaps.Finish();
    }
  }
}

}  // namespace idleburn
