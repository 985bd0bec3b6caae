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

// Who owned each device when, from stamps in any order: the series of owners may come scrape by scrape or one after
// another. Importers of formats with owners (Prometheus, cloud stores, tables) feed one per input and deliver it at
// the end; the ledger then splits the bill by owner. Stamps are kept as stretches without a gap, one per run of a
// job. Memory grows with jobs and their gaps (at most 4,096 per owner), and not with scrapes.
//
// A gap is defined as for readings: by the period of the owner's first stamps, or by --period and --max-gap. A stamp
// holds until the owner's next stamp or for one period. It does not hold into the time of another owner, nor beyond
// the device's last stamp unless another input continues.
//
//     job 1   |x x x x x x |           -> [first, last]
//     job 2         |x x x x           -> [first, last]
//     time     3 steps of {1}, 3 of {1, 2}
//
// If ImportOptions::jobs names a job, its time is cut to when the scheduler says it ran. The rest belongs to nobody,
// and the owner is counted as one with a wrong label (kOwnerOutlivesJob).
class OwnerTimeline {
 public:
  // One owner on one device. Callers keep the pointer from Track and hand it back to See, which saves a look-up per
  // reading.
  class Presence {
    friend class OwnerTimeline;
    void See(std::int64_t time, const ImportOptions& options);
    // Learns the period, then joins the stamps it was learned from.
    void Settle(const ImportOptions& options);
    // Adds a stamp to the stretches. Needs the period.
    void Join(std::int64_t time);

    static constexpr std::size_t kMaxStretches = 4096;      // further gaps are bridged and counted
    static constexpr std::int64_t kLatest = INT64_MAX / 2;  // the year 2116; sums of later times overflow
    std::vector<std::int64_t> early_;                       // the first stamps, sorted, until the period is known
    bool settled_ = false;
    std::map<std::int64_t, std::int64_t> stretches_;  // last stamp by first stamp
    std::map<std::int64_t, std::int64_t>::iterator current_ = stretches_.end();
    std::int64_t step_ = 0;     // how long a stamp holds; 0: seen once
    std::int64_t max_gap_ = 0;  // between two stamps of a stretch
    std::int64_t bridged_ = 0;  // gaps counted as the owner's time
  };

  // `options` outlive the timeline.
  explicit OwnerTimeline(const ImportOptions& options) : options_(options) {}

  // The presence of `owner` on `device`, "" if a series names no owner. Stays valid.
  Presence* Track(DeviceId device, const std::string& owner);
  // Says that the owner is named at `time`. A time already covered does not count again.
  void See(Presence* presence, Instant time) const { presence->See(time.nanos(), options_); }
  // Adds the time of every device to `ledger`, and the gaps that were bridged to `quality`. Call once, after the last
  // stamp.
  void Deliver(OwnerLedger& ledger, DataQuality& quality);

 private:
  using Presences = std::map<std::pair<DeviceId, std::string>, Presence>;
  void DeliverDevice(Presences::const_iterator from, Presences::const_iterator to, OwnerLedger& ledger,
                     DataQuality& quality) const;

  const ImportOptions& options_;
  Presences presences_;
};

}  // namespace idleburn
