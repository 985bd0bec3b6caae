#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/time.h"
#include "telemetry/device.h"

namespace idleburn {

// Who each device was copied to, scrape by scrape, for files in any order: the series of an owner may come scrape
// by scrape or one after another. Kept as stretches of evenly spaced stamps, one run of a job each, so memory
// grows with jobs and gaps and not with scrapes:
//
//   job 1   |x x x x x x|            -> [first, last, 6 stamps]
//   job 2         |x x x x|          -> [first, last, 4 stamps]
//   scrapes  3 of {1}, 3 of {1, 2}, 1 of {2}
class OwnerTimeline {
 public:
  // One owner on one device.
  class Presence {
   public:
    struct Stretch {
      std::int64_t last = 0;
      std::int64_t count = 0;
    };

   private:
    friend class OwnerTimeline;
    void See(std::int64_t time);

    static constexpr std::size_t kMaxStretches = 4096;  // later gaps are bridged
    std::map<std::int64_t, Stretch> stretches_;         // by first stamp
    std::map<std::int64_t, Stretch>::iterator current_ = stretches_.end();
    std::int64_t step_ = 0;  // smallest distance of two stamps
  };

  // The presence of `owner` on `device`; "" where a series names none. Stays valid.
  Presence* Track(DeviceId device, const std::string& owner);
  // The owner is named at `time`; a time already covered is no second scrape.
  static void See(Presence* presence, Instant time) { presence->See(time.nanos()); }
  // Adds every device's scrapes to `ledger`.
  void Deliver(OwnerLedger& ledger) const;

 private:
  std::map<std::pair<DeviceId, std::string>, Presence> presences_;
};

}  // namespace idleburn
