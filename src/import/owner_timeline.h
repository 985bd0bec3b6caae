#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/time.h"
#include "telemetry/data_quality.h"
#include "telemetry/device.h"

namespace idleburn {

// Who each device was copied to, for files in any order: the series of an owner may come scrape by scrape or one after
// another. Kept as stretches of stamps without a gap, one run of a job each, so memory grows with jobs and their gaps,
// of which 4,096 are kept of each, and not with scrapes. A stamp holds until the owner's next, or as long as two of its
// stamps are apart, but not into a time in which another owner begins:
//
//   job 1   |x x x x x x |           -> [first, last]
//   job 2         |x x x x |         -> [first, last]
//   time     3 steps of {1}, 3 of {1, 2}, 1 of {2}
class OwnerTimeline {
 public:
  // One owner on one device.
  class Presence {
    friend class OwnerTimeline;
    void See(std::int64_t time);

    static constexpr std::size_t kMaxStretches = 4096;      // gaps beyond are bridged, and counted
    static constexpr std::int64_t kLatest = INT64_MAX / 2;  // the year 2116; sums of what is later overflow
    std::map<std::int64_t, std::int64_t> stretches_;        // last stamps by first stamps
    std::map<std::int64_t, std::int64_t>::iterator current_ = stretches_.end();
    std::int64_t step_ = 0;     // smallest distance of two stamps
    std::int64_t bridged_ = 0;  // gaps that count as the owner's time
  };

  // The presence of `owner` on `device`; "" where a series names none. Stays valid.
  Presence* Track(DeviceId device, const std::string& owner);
  // The owner is named at `time`; a time already covered does not count again.
  static void See(Presence* presence, Instant time) { presence->See(time.nanos()); }
  // Adds the time of every device to `ledger`, and to `quality` the gaps that were too many to keep.
  void Deliver(OwnerLedger& ledger, DataQuality& quality) const;

 private:
  using Presences = std::map<std::pair<DeviceId, std::string>, Presence>;
  static void DeliverDevice(Presences::const_iterator from, Presences::const_iterator to, OwnerLedger& ledger);

  Presences presences_;
};

}  // namespace idleburn
