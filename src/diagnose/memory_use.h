#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "profile/memory_snapshot.h"

namespace idleburn {

// What a memory snapshot of PyTorch says of each GPU. All figures are in bytes.
// allocated: what the program asked for and has not freed, without rounding.
// reserved:  what the caching allocator has taken from the driver.

// Memory by the call site that allocated it.
struct MemoryHolder {
  std::string site;  // "train.py:12"; empty: no Python frame was recorded
  std::int64_t bytes = 0;
  std::int64_t blocks = 0;
  bool before_trace = false;  // allocated before the trace begins, and freed since; the site is unknown
};

// The largest levels over the trace.
struct MemoryPeak {
  // True if the trace, followed back from the final state, gives the level at each moment. If false, the figures are
  // what must have been there at least: the file has no final state, or the two contradict each other.
  bool exact = false;
  std::int64_t allocated = 0;
  std::int64_t reserved = 0;                  // the largest; at another moment than `allocated`, perhaps
  std::optional<std::int64_t> reserved_then;  // at the moment of the largest `allocated`; absent if not exact
  std::vector<MemoryHolder> holders;          // at that moment, the largest first; if exact they sum to `allocated`
};

// What is held at the moment of the snapshot, from its segments.
struct MemoryState {
  std::int64_t reserved = 0;
  std::int64_t allocated = 0;
  std::int64_t rounding = 0;      // size of blocks beyond what was asked for
  std::int64_t pending = 0;       // freed, but still awaited by a stream
  std::int64_t free_whole = 0;    // in segments without a used block: the allocator can give them back
  std::int64_t free_split = 0;    // between used blocks of segments of fixed size: it cannot
  std::int64_t free_mapped = 0;   // between used blocks of expandable segments: it can be unmapped
  std::int64_t largest_free = 0;  // block
  std::int64_t segments = 0;
  std::int64_t pools = 0;  // pairs of stream and memory pool, which do not lend each other memory
  std::vector<MemoryHolder> holders;

  [[nodiscard]] std::int64_t Free() const { return free_whole + free_split + free_mapped; }
};

struct OutOfMemory {
  std::int64_t asked = 0;
  std::int64_t device_free = 0;          // what the driver had left
  std::optional<std::int64_t> reserved;  // and the next: at that moment; absent without exact levels
  std::optional<std::int64_t> unused;    // reserved, and neither allocated nor pending

  enum class Cause : std::uint8_t {
    kNotKnown,   // no exact levels
    kInPieces,   // unused and free memory would have sufficed in one piece
    kExhausted,  // it would not have sufficed
    kRefused,    // the driver had enough: a limit of the process, or rounding up to a segment
  };
  // Rounding counts as unused, and so does what another stream's pool holds. So kInPieces says "enough in total", no
  // more.
  [[nodiscard]] Cause CauseOf() const;
};

struct GpuMemoryUse {
  std::int64_t device = 0;
  std::int64_t events = 0;          // that moved memory
  std::optional<MemoryPeak> peak;   // absent without a trace of this GPU
  std::optional<MemoryState> now;   // absent if the file has no segments
  std::vector<OutOfMemory> failed;  // in order
};

// From this share of the reserved memory on, free pieces between used blocks are worth a change of the allocator.
inline constexpr double kFragmentedShare = 0.10;
// Whether so much is lost in pieces now. Expandable segments do not count, because their free pieces can be unmapped.
bool IsFragmented(const MemoryState& state);

// One row for each GPU that the file has memory of, by number. Levels: the final state less the sum of all changes
// gives the start; a start below zero at any moment is a contradiction.
std::vector<GpuMemoryUse> GpuMemoryUseOf(const MemorySnapshot& snapshot);

}  // namespace idleburn
