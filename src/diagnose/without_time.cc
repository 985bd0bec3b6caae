#include "diagnose/without_time.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace idleburn {
namespace {

// Where an instant comes to lie.
class Cut {
 public:
  explicit Cut(const IntervalSet& removed) : parts_(removed.parts().begin(), removed.parts().end()) {
    before_.reserve(parts_.size());
    std::int64_t total = 0;
    for (const Interval& part : parts_) {
      before_.push_back(total);
      total += part.Ns();
    }
  }

  [[nodiscard]] std::int64_t operator()(std::int64_t t) const {
    const auto next =
        std::partition_point(parts_.begin(), parts_.end(), [t](const Interval& p) { return p.start < t; });
    if (next == parts_.begin()) return t;
    const Interval& last = *(next - 1);
    return t - before_[static_cast<std::size_t>(next - 1 - parts_.begin())] - (std::min(t, last.end) - last.start);
  }

 private:
  std::vector<Interval> parts_;
  std::vector<std::int64_t> before_;  // removed before each part
};

template <typename Row>
void Move(const Cut& cut, Row& row) {
  row.start_ns = cut(row.start_ns);
  row.end_ns = cut(row.end_ns);
}

void Move(const Cut& cut, IntervalSet& set) {
  std::vector<Interval> parts(set.parts().begin(), set.parts().end());
  for (Interval& part : parts) part = {cut(part.start), cut(part.end)};
  set = IntervalSet::UnionOf(std::move(parts));
}

}  // namespace

Profile WithoutTime(const Profile& profile, std::size_t device, const IntervalSet& removed) {
  const Cut cut(removed);
  Profile shorter;  // of the other devices' events, which may be many, no copy is made
  shorter.file = profile.file;
  shorter.profiler = profile.profiler;
  shorter.counter = profile.counter;
  shorter.names = profile.names;
  shorter.processes = profile.processes;
  shorter.threads = profile.threads;
  shorter.devices = {profile.devices[device]};
  shorter.calls = profile.calls;
  shorter.frames = profile.frames;
  shorter.steps = profile.steps;
  shorter.host = profile.host;
  shorter.correlation_by_process = profile.correlation_by_process;
  shorter.events_missing = profile.events_missing;
  shorter.rank = profile.rank;
  shorter.world_size = profile.world_size;
  shorter.dataloader_events = profile.dataloader_events;
  for (DeviceEvent& event : shorter.devices.front().events) Move(cut, event);
  for (HostCall& call : shorter.calls) Move(cut, call);
  for (HostFrame& frame : shorter.frames) Move(cut, frame);
  for (ProfiledStep& step : shorter.steps) Move(cut, step);
  HostRanges& host = shorter.host;
  for (IntervalSet* set : {&host.dataloader, &host.loader_ahead, &host.sync_api, &host.memcpy_api, &host.cpu_op,
                           &host.scalar_read, &host.overhead}) {
    Move(cut, *set);
  }
  return shorter;
}

}  // namespace idleburn
