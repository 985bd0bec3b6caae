#include "import/owner_timeline.h"

#include <algorithm>
#include <utility>

#include "telemetry/reading_times.h"

namespace idleburn {

// Stamps come in any order, so stretches are kept in a map by their first stamp and joined as gaps close. At the end,
// each device's stretches are cut against each other and against the scheduler's job times.

namespace {

// A stretch of time in which one owner held the device. `last` is its last stamp and `to` its end, one period later
// at most.
struct Held {
  const std::string* owner;
  std::int64_t from;
  std::int64_t last;  // stamp
  std::int64_t to;
};

// Cuts each stretch where another owner's stretch begins after its last stamp. Stretches that overlap before that are
// kept: the owners shared the device.
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

const std::string kNobody;

// Splits a stretch of a job into the parts in which the job ran; the rest belongs to nobody. Returns whether there is
// such a rest, ignoring one period at the end, for which the last stamp holds anyway.
bool CutToRuns(const Held& held, const std::vector<JobTimes::Run>& runs, std::vector<Held>* all) {
  std::int64_t done = held.from;
  bool outlived = false;
  // Gives the time up to `to` to nobody.
  const auto nobody = [&](std::int64_t to) {
    if (to <= done) return;
    outlived = outlived || done < held.last;
    all->push_back({&kNobody, done, std::min(held.last, to), to});
  };
  for (const JobTimes::Run& run : runs) {
    const std::int64_t from = std::max(run.from, held.from);
    const std::int64_t to = std::min(run.to, held.to);
    if (from >= to) continue;
    nobody(from);
    all->push_back({held.owner, from, std::min(held.last, to), to});
    done = to;
  }
  nobody(held.to);
  return outlived;
}

// The scheduler's id in an owner's name: "48211" for "job 48211". Empty for other owners.
std::string_view JobId(std::string_view owner) {
  constexpr std::string_view kJob = "job ";
  return owner.substr(0, kJob.size()) == kJob ? owner.substr(kJob.size()) : std::string_view();
}

// Adds the stretches of a device to the ledger. Beyond `end`, the end of the device's time in this input, the last
// stamps hold only if another input continues.
void AddDevice(OwnerLedger& ledger, DeviceId device, const std::vector<Held>& all, std::int64_t end) {
  std::vector<OwnerLedger::Stay> stays;
  std::vector<std::string> last;
  std::int64_t until = INT64_MAX;
  for (const Held& held : all) {
    stays.push_back({*held.owner, held.from, std::min(held.to, end)});
    if (held.to <= end) continue;
    until = std::min(until, held.to);
    if (!held.owner->empty()) last.push_back(*held.owner);
  }
  ledger.Add(device, stays);
  if (until != INT64_MAX) ledger.Hold(device, std::move(last), Instant::FromNanos(end), Instant::FromNanos(until));
}

}  // namespace

// The first stamps are collected until they tell the period; later ones extend a stretch at once. Times before 1970
// or after 2116 are dropped, because their sums could overflow.
void OwnerTimeline::Presence::See(std::int64_t time, const ImportOptions& options) {
  if (time < 0 || time > kLatest) return;
  if (settled_) return Join(time);
  const auto at = std::lower_bound(early_.begin(), early_.end(), time);
  if (at != early_.end() && *at == time) return;
  early_.insert(at, time);
  if (early_.size() == kIntervals + 1) Settle(options);
}

void OwnerTimeline::Presence::Settle(const ImportOptions& options) {
  std::vector<std::int64_t> intervals;
  for (std::size_t i = 1; i < early_.size(); ++i) intervals.push_back(early_[i] - early_[i - 1]);
  if (!intervals.empty()) step_ = options.period ? options.period->count() : PeriodOf(intervals);
  max_gap_ = options.max_gap ? options.max_gap->count() : step_ / 2 * 5;  // 2.5 periods, as for readings
  step_ = std::min(step_, max_gap_);
  settled_ = true;
  for (const std::int64_t time : early_) Join(time);
  early_ = {};
}

// Adds a stamp to the stretch before or after it, joins both if the stamp closes their gap, or starts a new stretch.
// Once there are kMaxStretches, the stamp extends a neighbor instead, and the bridged gap is counted. The first test
// is for the usual case, a stamp that the last stretch already covers.
void OwnerTimeline::Presence::Join(std::int64_t time) {
  if (current_ != stretches_.end() && time >= current_->first && time <= current_->second) return;
  const auto next = stretches_.upper_bound(time);
  const auto before = next == stretches_.begin() ? stretches_.end() : std::prev(next);
  bool follows = before != stretches_.end() && time - before->second <= max_gap_;
  bool leads = next != stretches_.end() && next->first - time <= max_gap_;
  // No room for another stretch.
  if (!follows && !leads && stretches_.size() >= kMaxStretches) {
    ++bridged_;
    follows = before != stretches_.end();
    leads = !follows;
  }
  std::int64_t last = follows ? std::max(time, before->second) : time;
  if (leads) {
    last = std::max(last, next->second);
    stretches_.erase(next);
  }
  if (follows) before->second = last;
  current_ = follows ? before : stretches_.emplace(time, last).first;
}

OwnerTimeline::Presence* OwnerTimeline::Track(DeviceId device, const std::string& owner) {
  return &presences_[std::pair(device, owner)];
}

// Presences are ordered by device, so each device's owners lie side by side.
void OwnerTimeline::Deliver(OwnerLedger& ledger, DataQuality& quality) {
  for (auto& [whose, presence] : presences_) {
    if (!presence.settled_) presence.Settle(options_);
    if (presence.bridged_ > 0) quality.CountNamed(QualityId::kOwnerGaps, whose.second, {}, presence.bridged_);
  }
  for (auto from = presences_.begin(); from != presences_.end();) {
    const auto to = std::find_if(from, presences_.end(),
                                 [&](const auto& presence) { return presence.first.first != from->first.first; });
    DeliverDevice(from, to, ledger, quality);
    from = to;
  }
}

// Delivers the owners `from` to `to`, all of one device.
void OwnerTimeline::DeliverDevice(Presences::const_iterator from, Presences::const_iterator to, OwnerLedger& ledger,
                                  DataQuality& quality) const {
  std::int64_t least = 0;
  for (auto it = from; it != to; ++it) {
    const std::int64_t step = it->second.step_;
    if (step != 0 && (least == 0 || step < least)) least = step;
  }
  std::vector<Held> all;
  std::int64_t first = Presence::kLatest;
  std::int64_t last = 0;
  for (auto it = from; it != to; ++it) {
    // An owner named once holds as long as the others do, or for a second if no owner is named twice.
    const std::int64_t others = least == 0 ? kNanosPerSecond : least;
    const std::int64_t step = it->second.step_ == 0 ? others : it->second.step_;
    const std::vector<JobTimes::Run>* runs = options_.jobs.Of(JobId(it->first.second));
    bool outlived = false;
    for (const auto& [start, end] : it->second.stretches_) {
      const Held held = {&it->first.second, start, end, end + step};
      if (runs == nullptr) {
        all.push_back(held);
      } else if (CutToRuns(held, *runs, &all)) {
        outlived = true;
      }
      first = std::min(first, start);
      last = std::max(last, end);
    }
    if (outlived) quality.CountNamed(QualityId::kOwnerOutlivesJob, it->first.second);
  }
  if (all.empty()) return;
  EndWhereOthersBegin(all);
  AddDevice(ledger, from->first.first, all, std::max(last, first + 1));
}

}  // namespace idleburn
