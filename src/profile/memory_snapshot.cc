#include "profile/memory_snapshot.h"

#include <array>
#include <unordered_map>

#include "profile/pickle.h"

namespace idleburn {
namespace {

using PickleId = PickledData::Id;

struct ActionName {
  std::string_view name;
  MemoryEvent::Action action;
};
constexpr auto kActionNames = std::to_array<ActionName>({
    {"alloc", MemoryEvent::Action::kAlloc},
    {"free_requested", MemoryEvent::Action::kFreeRequested},
    {"free_completed", MemoryEvent::Action::kFreeCompleted},
    {"segment_alloc", MemoryEvent::Action::kReserve},
    {"segment_map", MemoryEvent::Action::kReserve},
    {"segment_free", MemoryEvent::Action::kRelease},
    {"segment_unmap", MemoryEvent::Action::kRelease},
    {"oom", MemoryEvent::Action::kOutOfMemory},
});

struct StateName {
  std::string_view name;
  MemoryBlock::State state;
};
constexpr auto kStateNames = std::to_array<StateName>({
    {"active_allocated", MemoryBlock::State::kAllocated},
    {"active_pending_free", MemoryBlock::State::kPending},
    {"active_awaiting_free", MemoryBlock::State::kPending},
    {"inactive", MemoryBlock::State::kFree},
});

class SnapshotReader {
 public:
  explicit SnapshotReader(const PickledData& data) : data_(data), visits_left_(data.size()) {
    snapshot_.sites.emplace_back();
  }

  Result<MemorySnapshot> Read() {
    std::optional<PickleId> segments = data_.root();  // torch.cuda.memory_snapshot() returns the bare list
    std::optional<PickleId> traces;
    if (data_.KindOf(data_.root()) == PickledData::Kind::kDict) {
      segments = data_.Find(data_.root(), "segments");
      traces = data_.Find(data_.root(), "device_traces");
    }
    if (!segments && !traces) {
      return Fail("is a pickle, but no memory snapshot of PyTorch: it has neither segments nor device_traces");
    }
    if (segments) TRY(ReadSegments(*segments));
    if (traces) TRY(ReadTraces(*traces));
    if (const auto settings = data_.Find(data_.root(), "allocator_settings")) {
      if (const auto value = data_.Find(*settings, "expandable_segments")) snapshot_.expandable = data_.Bool(*value);
    }
    return std::move(snapshot_);
  }

 private:
  // A genuine file has each block and event once. A crafted one may refer to a list of a million a million times.
  Result<void> Visit() {
    if (visits_left_ == 0) return Fail("repeats its own lists, which no memory snapshot does");
    --visits_left_;
    return {};
  }

  Result<void> ReadSegments(PickleId list) {
    if (!data_.IsSequence(list))
      return Fail("is a pickle, but no memory snapshot of PyTorch: its segments are not a list");
    snapshot_.segments.emplace();
    for (const PickleId item : data_.Items(list)) {
      const std::string where = "segments[" + std::to_string(snapshot_.segments->size()) + "]";
      MemorySegment segment = TRY(ReadSegment(item, where));
      snapshot_.segments->push_back(std::move(segment));
    }
    return {};
  }

  Result<MemorySegment> ReadSegment(PickleId id, const std::string& where) {
    TRY(Visit());
    MemorySegment segment;
    segment.total = TRY(Size(id, "total_size", where));
    segment.device = IntOr(id, "device", 0);
    segment.stream = IntOr(id, "stream", 0);
    if (segment.device < 0) return Fail(where + ": device is negative; the file is damaged");
    if (const auto flag = data_.Find(id, "is_expandable")) segment.expandable = data_.Bool(*flag).value_or(false);
    if (const auto pool = data_.Find(id, "segment_pool_id"); pool && data_.Items(*pool).size() == 2) {
      segment.pool = {data_.Int(data_.Items(*pool)[0]).value_or(0), data_.Int(data_.Items(*pool)[1]).value_or(0)};
    }
    const auto blocks = data_.Find(id, "blocks");
    if (!blocks || !data_.IsSequence(*blocks)) return Fail(where + ": has no list of blocks; dump the snapshot again");
    std::int64_t offset = 0;
    const std::int64_t start = IntOr(id, "address", 0);
    for (const PickleId item : data_.Items(*blocks)) {
      const std::string at = where + ".blocks[" + std::to_string(segment.blocks.size()) + "]";
      MemoryBlock block = TRY(ReadBlock(item, at));
      offset += block.size;
      if (offset > segment.total) return Fail(where + ": its blocks are larger than total_size; the file is damaged");
      // Older versions of PyTorch write no address. Blocks lie in order.
      const auto following = static_cast<std::uint64_t>(start) + static_cast<std::uint64_t>(offset - block.size);
      block.address = IntOr(item, "address", static_cast<std::int64_t>(following));
      segment.blocks.push_back(block);
    }
    if (offset != segment.total) return Fail(where + ": its blocks do not add up to total_size; the file is damaged");
    return segment;
  }

  Result<MemoryBlock> ReadBlock(PickleId id, const std::string& where) {
    TRY(Visit());
    MemoryBlock block;
    block.size = TRY(Size(id, "size", where));
    block.requested = block.size;
    const std::string_view state = TextOf(id, "state");
    const StateName* known = nullptr;
    for (const StateName& row : kStateNames) {
      if (row.name == state) known = &row;
    }
    if (known == nullptr) {
      return Fail(where + (state.empty() ? ": has no state; dump the snapshot again"
                                         : ": its state is none that idleburn knows"));
    }
    block.state = known->state;
    if (block.state != MemoryBlock::State::kFree && data_.Find(id, "requested_size")) {
      block.requested = TRY(Size(id, "requested_size", where));
      if (block.requested > block.size) return Fail(where + ": requested_size exceeds size; the file is damaged");
    }
    block.site = SiteOf(id);
    return block;
  }

  Result<void> ReadTraces(PickleId list) {
    if (!data_.IsSequence(list))
      return Fail("is a pickle, but no memory snapshot of PyTorch: its device_traces are not a list");
    snapshot_.traces.emplace();
    for (const PickleId trace : data_.Items(list)) {
      TRY(Visit());
      const std::string where = "device_traces[" + std::to_string(snapshot_.traces->size()) + "]";
      if (!data_.IsSequence(trace)) return Fail(where + ": is not a list; dump the snapshot again");
      std::vector<MemoryEvent> events;
      for (const PickleId item : data_.Items(trace)) {
        const MemoryEvent event = TRY(ReadEvent(item, where + "[" + std::to_string(events.size()) + "]"));
        events.push_back(event);
      }
      snapshot_.traces->push_back(std::move(events));
    }
    return {};
  }

  Result<MemoryEvent> ReadEvent(PickleId id, const std::string& where) {
    TRY(Visit());
    MemoryEvent event;
    const std::string_view action = TextOf(id, "action");
    if (action.empty()) return Fail(where + ": has no action; dump the snapshot again");
    for (const ActionName& row : kActionNames) {
      if (row.name == action) event.action = row.action;
    }
    if (event.action == MemoryEvent::Action::kNote) return event;
    event.size = TRY(Size(id, "size", where));
    const char* key = event.action == MemoryEvent::Action::kOutOfMemory ? "device_free" : "addr";
    const auto value = data_.Find(id, key);
    const auto address = value ? data_.Int(*value) : std::nullopt;
    if (!address) return Fail(where + ": has no " + key + "; dump the snapshot again");
    event.address = *address;
    if (event.action == MemoryEvent::Action::kOutOfMemory && (*address < 0 || *address > kLargestBlock)) {
      return Fail(where + ": device_free is not a size of memory; the file is damaged");
    }
    event.site = SiteOf(id);
    return event;
  }

  [[nodiscard]] Result<std::int64_t> Size(PickleId dict, std::string_view key, const std::string& where) const {
    const auto value = data_.Find(dict, key);
    const auto size = value ? data_.Int(*value) : std::nullopt;
    if (!size) return Fail(where + ": has no " + std::string(key) + "; dump the snapshot again");
    if (*size < 0 || *size > kLargestBlock) {
      return Fail(where + ": " + std::string(key) + " is not a size of memory; the file is damaged");
    }
    return *size;
  }
  [[nodiscard]] std::int64_t IntOr(PickleId dict, std::string_view key, std::int64_t otherwise) const {
    const auto value = data_.Find(dict, key);
    return value ? data_.Int(*value).value_or(otherwise) : otherwise;
  }
  [[nodiscard]] std::string_view TextOf(PickleId dict, std::string_view key) const {
    const auto value = data_.Find(dict, key);
    return value ? data_.Text(*value).value_or("") : std::string_view();
  }

  // The innermost frame of the program. Lists of frames are shared by many blocks, so each is searched once.
  CallSite SiteOf(PickleId dict) {
    const auto frames = data_.Find(dict, "frames");
    if (!frames) return 0;
    const auto [known, is_new] = site_by_frames_.try_emplace(*frames, 0);
    if (!is_new) return known->second;
    for (const PickleId frame : data_.Items(*frames)) {
      const std::string_view file = TextOf(frame, "filename");
      const std::int64_t line = IntOr(frame, "line", 0);
      if (!IsUsersFrame(file, line)) continue;
      std::string site = std::string(file) + ":" + std::to_string(line);
      const auto [row, is_new_site] = site_by_name_.try_emplace(site, static_cast<CallSite>(snapshot_.sites.size()));
      if (is_new_site) snapshot_.sites.push_back(std::move(site));
      known->second = row->second;
      break;
    }
    return known->second;
  }

  const PickledData& data_;
  std::size_t visits_left_;
  MemorySnapshot snapshot_;
  std::unordered_map<PickleId, CallSite> site_by_frames_;
  std::unordered_map<std::string, CallSite> site_by_name_;
};

}  // namespace

bool IsUsersFrame(std::string_view filename, std::int64_t line) {
  if (line <= 0 || !(filename.ends_with(".py") || filename.ends_with(".ipynb") || filename.starts_with("<ipython"))) {
    return false;
  }
  for (const std::string_view own : {"-packages/torch/", "pytorch/torch/", "/torchinductor_"}) {
    if (filename.find(own) != std::string_view::npos) return false;
  }
  return !filename.starts_with("torch/");
}

Result<MemorySnapshot> ReadMemorySnapshot(std::string pickle) {
  const PickledData data = TRY(ReadPickle(std::move(pickle)));
  return SnapshotReader(data).Read();
}

}  // namespace idleburn
