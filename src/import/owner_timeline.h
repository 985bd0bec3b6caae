#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/time.h"
#include "import/importer.h"
#include "telemetry/data_quality.h"
#include "telemetry/device.h"

namespace idleburn {

// Who each device was copied to, for files in any order: the series of an owner may come scrape by scrape or one after
// another. Kept as stretches of stamps without a gap, one run of a job each, so memory grows with jobs and their gaps,
// of which 4,096 are kept of each, and not with scrapes. What is a gap is told as for readings: by the period of the
// owner's first stamps, or by --period and --max-gap. A stamp holds until the owner's next, or for a period, but not
// into a time in which another owner begins, nor beyond the device's last stamp, unless another input goes on:
//
//   job 1   |x x x x x x |           -> [first, last]
//   job 2         |x x x x           -> [first, last]
//   time     3 steps of {1}, 3 of {1, 2}
//
// Where ImportOptions::jobs names the job, its time is cut to when the scheduler says that it ran: what a label says
// before or after is nobody's, and the owner is counted as one whose label is wrong.
class OwnerTimeline {
 public:
  // One owner on one device.
  class Presence {
    friend class OwnerTimeline;
    void See(std::int64_t time, const ImportOptions& options);
    // Learns the period, and joins the stamps it was learned from.
    void Settle(const ImportOptions& options);
    void Join(std::int64_t time);

    static constexpr std::size_t kMaxStretches = 4096;      // gaps beyond are bridged, and counted
    static constexpr std::int64_t kLatest = INT64_MAX / 2;  // the year 2116; sums of what is later overflow
    std::vector<std::int64_t> early_;                       // the first stamps, sorted, as long as they tell the period
    bool settled_ = false;
    std::map<std::int64_t, std::int64_t> stretches_;  // last stamps by first stamps
    std::map<std::int64_t, std::int64_t>::iterator current_ = stretches_.end();
    std::int64_t step_ = 0;     // how long a stamp holds; 0: seen once
    std::int64_t max_gap_ = 0;  // between two stamps of a stretch
    std::int64_t bridged_ = 0;  // gaps that count as the owner's time
  };

  // `options` outlive it.
  explicit OwnerTimeline(const ImportOptions& options) : options_(options) {}

  // The presence of `owner` on `device`; "" where a series names none. Stays valid.
  Presence* Track(DeviceId device, const std::string& owner);
  // The owner is named at `time`; a time already covered does not count again.
  void See(Presence* presence, Instant time) const { presence->See(time.nanos(), options_); }
  // Adds the time of every device to `ledger`, and to `quality` the gaps that were too many to keep.
  void Deliver(OwnerLedger& ledger, DataQuality& quality);

 private:
  using Presences = std::map<std::pair<DeviceId, std::string>, Presence>;
  void DeliverDevice(Presences::const_iterator from, Presences::const_iterator to, OwnerLedger& ledger,
                     DataQuality& quality) const;

  const ImportOptions& options_;
  Presences presences_;
};

}  // namespace idleburn
