#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "profile/profile.h"

namespace idleburn {

// What the traces of several ranks show together: how much of a rank's collectives is transfer, and how much is
// waiting for the last rank to arrive. The transfer is the shortest duration over the ranks; what a rank's own lasts
// longer it waited, at the start.
struct PeerWait {
  IntervalSet waiting;         // of this rank's collectives
  std::int64_t matched = 0;    // collectives found on every rank given
  std::int64_t unmatched = 0;  // of this rank
  std::int64_t own_ns = 0;     // sum over the matched; collectives may overlap each other
  std::int64_t transfer_ns = 0;
  std::int64_t ranks = 0;      // given
  bool all_ranks = false;      // of the job: with some missing the transfer is an upper bound
  std::int64_t last_rank = 0;  // that waited least: the others wait for it

  // Every rank agrees on nearly all of this rank's collectives.
  [[nodiscard]] bool Conclusive() const { return all_ranks && 10 * unmatched <= matched; }
};

// One for each profile, absent where waiting cannot be told: fewer than two profiles, a rank missing in a header or
// given twice, jobs of different size, captures of different times, several devices in a file, or no collective that
// all of them have.
std::vector<std::optional<PeerWait>> JoinRanks(std::span<const Profile> profiles);

// Why several profiles cannot be ranks of one job, by what their headers say: "rank 0 is given twice: a.json and
// b.json". Empty where nothing speaks against it.
std::string WhyApart(std::span<const Profile> profiles);

}  // namespace idleburn
