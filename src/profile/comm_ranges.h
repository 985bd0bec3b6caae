#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "profile/interval_set.h"
#include "profile/range_terms.h"

namespace idleburn {

// Which collective a launch belongs to, by the ranges of its thread. Names of kernels do not always tell: NCCL runs
// all-to-all by the kernel SendRecv, and a custom kernel may have any name.
//
// Only the innermost range counts for "communicates", because an outer one also holds casts and staging kernels. To
// know it in little memory, ranges must come in the order of their starts, as profilers write them. A thread whose
// ranges do not is left out: then only names of kernels tell.
class CommRanges {
 public:
  // What a launch is under.
  struct Under {
    bool communicates = false;    // the innermost range is one of communication
    std::string_view collective;  // of the innermost range that tells one; "" if none does
  };

  // Adds any range of a thread, in file order.
  void Add(std::uint32_t thread, Interval at, const RangeTerms& terms) {
    if (thread >= threads_.size()) threads_.resize(thread + std::size_t{1});
    Track& track = threads_[thread];
    track.ordered = track.ordered && at.start >= track.last_start;
    track.last_start = at.start;
    if (!terms.comm && at.start >= track.until) return;
    if (terms.comm) track.until = std::max(track.until, at.end);
    track.ranges.push_back({at, terms.comm, terms.collective});
  }

  // Whether any thread has a range of communication.
  [[nodiscard]] bool any() const;
  // What a call at that time is under. Absent: under no range of communication, or not known.
  [[nodiscard]] std::optional<Under> At(std::uint32_t thread, std::int64_t time) const;

 private:
  struct Range {
    Interval at;
    bool comm = false;
    std::string_view collective;
  };
  struct Track {
    std::vector<Range> ranges;  // of communication, and those that begin inside one
    std::int64_t last_start = INT64_MIN;
    std::int64_t until = INT64_MIN;  // the end of the last range of communication
    bool ordered = true;
  };
  std::vector<Track> threads_;
};

}  // namespace idleburn
