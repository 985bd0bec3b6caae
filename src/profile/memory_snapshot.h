#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace idleburn {

// What torch.cuda.memory._dump_snapshot writes: the state of PyTorch's caching allocator, and, if its history was
// recorded, the trace of what it did. All sizes are in bytes, below kLargestBlock.
inline constexpr std::int64_t kLargestBlock = std::int64_t{1} << 39;  // 512 GiB, more than a GPU has

// A call site: an index into MemorySnapshot::sites. 0 means that no Python frame was recorded.
using CallSite = std::uint32_t;

struct MemoryBlock {
  // Pending: freed by the program, but a stream may still use it, so it cannot be given out again.
  enum class State : std::uint8_t { kAllocated, kPending, kFree };
  std::int64_t address = 0;
  std::int64_t size = 0;       // with rounding
  std::int64_t requested = 0;  // what the program asked for; at most `size`
  State state = State::kFree;
  CallSite site = 0;
};

// Memory that the allocator has reserved from the driver in one piece.
struct MemorySegment {
  std::int64_t device = 0;
  std::int64_t total = 0;
  bool expandable = false;
  std::int64_t stream = 0;
  std::pair<std::int64_t, std::int64_t> pool;  // (0, 0) is the common one; CUDA graphs have their own
  std::vector<MemoryBlock> blocks;
};

struct MemoryEvent {
  enum class Action : std::uint8_t {
    kAlloc,
    kFreeRequested,
    kFreeCompleted,
    kReserve,  // segment_alloc, segment_map
    kRelease,  // segment_free, segment_unmap
    kOutOfMemory,
    kNote,  // snapshot and whatever later versions add: moves no memory
  };
  Action action = Action::kNote;
  std::int64_t address = 0;  // of kOutOfMemory: what the driver had free, in bytes
  std::int64_t size = 0;     // allocations are as requested, without rounding
  CallSite site = 0;
};

struct MemorySnapshot {
  // Absent if the file lacks it, which differs from an empty one.
  std::optional<std::vector<MemorySegment>> segments;
  std::optional<std::vector<std::vector<MemoryEvent>>> traces;  // by device
  std::vector<std::string> sites;                               // "train.py:12"; the first is empty
  std::optional<bool> expandable;                               // the setting expandable_segments
};

// Whether a frame is of the program that used PyTorch, and not of PyTorch, its compiler or C++. It knows PyTorch by an
// installed package ("site-packages/torch/") or a source tree ("pytorch/torch/").
bool IsUsersFrame(std::string_view filename, std::int64_t line);

// Reads a snapshot. `pickle` has the file's bytes. An unknown shape is an error that says what is missing. So is a
// pickle that could run something, see ReadPickle. The error names no file.
Result<MemorySnapshot> ReadMemorySnapshot(std::string pickle);

}  // namespace idleburn
