// Compares the traces of several ranks of one job, to tell transfer from waiting in collectives.

#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "profile/profile.h"

namespace idleburn {

// How much of a rank's collectives is transfer, and how much is waiting for the last rank. Only the traces of
// several ranks together show this. The transfer is the shortest duration over the ranks. The rest of a rank's
// own duration is waiting, at its start. Example: an all-reduce takes 9 ms on rank 0 and 2 ms on rank 1, so
// rank 0 waited 7 ms.
struct PeerWait {
  IntervalSet waiting;  // in this rank's collectives
  // Collectives found on every given rank.
  std::int64_t matched = 0;
  std::int64_t unmatched = 0;  // other collectives of this rank
  // Sum over the matched ones, which may overlap.
  std::int64_t own_ns = 0;
  std::int64_t transfer_ns = 0;
  std::int64_t ranks = 0;  // number of given ranks
  bool all_ranks = false;  // of the job; with some missing, the transfer is an upper bound
  // The rank that waited least: the others wait for it.
  std::int64_t last_rank = 0;

  // Whether all ranks are given and nearly all of this rank's collectives match.
  [[nodiscard]] bool Conclusive() const { return all_ranks && 10 * unmatched <= matched; }
};

// One for each profile. Absent if waiting cannot be told: fewer than two profiles, a rank that is missing in a
// header or given twice, jobs of different sizes, captures of different times, several devices in a file, or no
// common collective.
std::vector<std::optional<PeerWait>> JoinRanks(std::span<const Profile> profiles);

// Why several profiles cannot be ranks of one job, by their headers: "rank 0 is given twice: a.json and
// b.json". Empty if nothing contradicts it.
std::string WhyApart(std::span<const Profile> profiles);

}  // namespace idleburn
