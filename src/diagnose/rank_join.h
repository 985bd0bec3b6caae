// Joins the traces of several ranks of one job, to tell transfer from waiting in collectives, and who is late.

#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "profile/interval_set.h"
#include "profile/profile.h"

namespace idleburn {

// How much of a rank's collectives is transfer, and how much is waiting for the last rank. Only the traces of
// several ranks together show this. The transfer is the shortest duration over the ranks. The rest of a rank's
// own duration is waiting, at its start. Example: an all-reduce takes 9 ms on rank 0 and 2 ms on rank 1, so
// rank 0 waited 7 ms, and rank 1 was last. Durations need no common clock.
struct PeerWait {
  IntervalSet waiting;  // in this rank's collectives
  // Collectives found on every given rank.
  std::int64_t matched = 0;
  std::int64_t unmatched = 0;  // other collectives of this rank
  std::int64_t unmatched_ns = 0;
  // Sum over the matched ones, which may overlap.
  std::int64_t own_ns = 0;
  std::int64_t transfer_ns = 0;
  std::int64_t last_in = 0;    // collectives in which this rank was the last to arrive
  std::int64_t caused_ns = 0;  // what all others waited in these
  // What repairing this rank alone could save: how far it was behind the second latest, in these.
  std::int64_t alone_ns = 0;
  std::int64_t ranks = 0;  // number of given ranks
  bool all_ranks = false;  // of the job; with some missing, the transfer is an upper bound
  // The rank that caused the most waiting, and its last_in, caused_ns and alone_ns.
  std::int64_t last_rank = 0;
  std::int64_t late_in = 0;
  std::int64_t late_caused_ns = 0;
  std::optional<std::int64_t> late_alone_ns;

  [[nodiscard]] std::int64_t WaitedNs() const { return own_ns - transfer_ns; }
  // Whether all ranks are given and nearly all of this rank's collectives match: nine in ten, and 95 % of their time.
  [[nodiscard]] bool Conclusive() const {
    return all_ranks && 10 * unmatched <= matched && 20 * unmatched_ns <= own_ns + unmatched_ns;
  }
};

// One for each profile. Absent if waiting cannot be told: fewer than two profiles, a rank that is missing in a
// header or given twice, jobs of different sizes, captures of different times, several devices in a file, or no
// common collective.
//
// Collectives are matched by group, operation and sequence number; sends and receives by the two ranks and their
// order. If both saw as many, the ordinal stands for a missing sequence number.
std::vector<std::optional<PeerWait>> JoinRanks(std::span<const Profile> profiles);

// Why several profiles cannot be ranks of one job, by their headers: "rank 0 is given twice: a.json and
// b.json". Empty if nothing contradicts it.
std::string WhyApart(std::span<const Profile> profiles);

// How fast collectives of one kind and size were. Bus bandwidth is what each link carries, whatever the number of
// ranks (NCCL's tests): bytes / time, times 2(n-1)/n for an all-reduce, (n-1)/n for an all-gather, a reduce-scatter
// and an all-to-all, and 1 otherwise. Example: 1 GB all-reduced by 8 ranks in 10 ms is 100 GB/s, 175 GB/s on the bus.
struct CollectiveSpeed {
  std::string_view operation;   // "all_reduce"
  std::int64_t from_bytes = 0;  // a power of two; messages of that and up to twice as much
  std::int64_t count = 0;
  std::int64_t bytes = 0;  // of all, as a rank sends them
  std::int64_t ns = 0;     // of all; one rank's own time, so it contains waiting
  double bus_gb_per_s = 0;
};
// By operation, then size. Only collectives whose size and number of ranks the file tells.
std::vector<CollectiveSpeed> MeasureCollectives(const Profile& profile, const ProfiledDevice& device);

// The rate of all links of a GPU to its peers in one direction, in GB/s (10^9), by the profiler's name of the device:
// NVLink, Infinity Fabric. Absent for models without, or unlisted.
std::optional<double> PeerLinkGBs(std::string_view model);

}  // namespace idleburn
