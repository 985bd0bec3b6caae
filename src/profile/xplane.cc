#include "profile/xplane.h"

#include <google/protobuf/arena.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "profile/event_range.h"
#include "profile/profile_builder.h"
#include "profile/xplane.pb.h"

namespace idleburn {
namespace {

namespace io = google::protobuf::io;

// Wire format: a field number and how its value is laid out.
constexpr std::uint32_t Delimited(std::uint32_t field) { return field << 3U | 2U; }
constexpr std::uint32_t kPlanesField = Delimited(1);
constexpr std::uint32_t kErrorsField = Delimited(2);
constexpr std::uint32_t kWarningsField = Delimited(3);

constexpr std::int64_t kPicos = 1000;  // of a nanosecond

enum class PlaneRole { kGpu, kHost, kForeign, kNoWork };
struct PlaneRow {
  std::string_view prefix;
  PlaneRole role;
};
constexpr auto kPlanes = std::to_array<PlaneRow>({
    {"/device:GPU:", PlaneRole::kGpu},
    {"/device:", PlaneRole::kForeign},
    {"#Chip", PlaneRole::kForeign},
    {"/host:TPU-runtime", PlaneRole::kForeign},
    {"/host:CPU", PlaneRole::kHost},
    {"/host:CUPTI", PlaneRole::kHost},
    {"/host:ROCTRACER", PlaneRole::kHost},
    {"/host:python-tracer", PlaneRole::kHost},
    {"/host:metadata", PlaneRole::kNoWork},
    {"/host:tfstreamz", PlaneRole::kNoWork},
    {"/host:__", PlaneRole::kNoWork},
    {"Task Environment", PlaneRole::kNoWork},
    {"Host CPUs", PlaneRole::kNoWork},
});

constexpr std::string_view kStreamLine = "Stream #";
constexpr std::string_view kOverheadLine = "CUPTI overhead";
constexpr std::string_view kStepLine = "Steps";
// Of a GPU's plane, derived from its streams.
constexpr auto kDerivedLines = std::to_array<std::string_view>(
    {"XLA Modules", "XLA Ops", "Async XLA Ops", "TensorFlow Name Scope", "TensorFlow Ops", "Framework Name Scope",
     "Framework Ops", "Launch Stats", "Source code", "Host Offload Ops", "_counters_"});

// What a stream's events are by their names; all others are kernels.
struct StreamRow {
  std::string_view name;
  std::optional<DeviceOp> op;  // absent: no work of the device
  CopyKind copy;
};
constexpr auto kStreamEvents = std::to_array<StreamRow>({
    {"MemcpyH2D", DeviceOp::kMemcpy, CopyKind::kHtoD},
    {"MemcpyD2H", DeviceOp::kMemcpy, CopyKind::kDtoH},
    {"MemcpyD2D", DeviceOp::kMemcpy, CopyKind::kDtoD},
    {"MemcpyP2P", DeviceOp::kMemcpy, CopyKind::kPtoP},
    {"MemcpyOther", DeviceOp::kMemcpy, CopyKind::kOther},
    {"Memset", DeviceOp::kMemset, CopyKind::kNone},
    {"MemoryAlloc", std::nullopt, CopyKind::kNone},
    {"MemoryFree", std::nullopt, CopyKind::kNone},
    {"MemoryResidency", std::nullopt, CopyKind::kNone},
    {"UnifiedMemory", std::nullopt, CopyKind::kNone},
    {"HostRegister", std::nullopt, CopyKind::kNone},
    {"HostUnregister", std::nullopt, CopyKind::kNone},
    {"Overhead", std::nullopt, CopyKind::kNone},
});

struct MemoryRow {
  std::string_view name;
  MemoryKind kind;
};
constexpr auto kMemory = std::to_array<MemoryRow>({
    {"pageable", MemoryKind::kPageable},
    {"pinned", MemoryKind::kPinned},
    {"device", MemoryKind::kDevice},
    {"array", MemoryKind::kDevice},
    {"device_static", MemoryKind::kDevice},
    {"managed", MemoryKind::kManaged},
    {"managed_static", MemoryKind::kManaged},
});

bool StartsWith(std::string_view text, std::string_view prefix) { return text.substr(0, prefix.size()) == prefix; }

std::optional<PlaneRole> RoleOf(std::string_view plane) {
  const auto* const row = std::find_if(kPlanes.begin(), kPlanes.end(),
                                       [plane](const PlaneRow& known) { return StartsWith(plane, known.prefix); });
  return row == kPlanes.end() ? std::nullopt : std::optional(row->role);
}

// The number a text starts with.
std::optional<std::int64_t> LeadingNumber(std::string_view text) {
  std::int64_t number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  return read.ec == std::errc() ? std::optional(number) : std::nullopt;
}

// The word after `key` in "kind_src:pageable kind_dst:device size:4096 dest:0 async:1".
std::string_view Detail(std::string_view details, std::string_view key) {
  const std::size_t at = details.find(key);
  if (at == std::string_view::npos) return {};
  details.remove_prefix(at + key.size());
  return details.substr(0, details.find(' '));
}

MemoryKind MemoryOf(std::string_view name) {
  const auto* const row =
      std::find_if(kMemory.begin(), kMemory.end(), [name](const MemoryRow& known) { return known.name == name; });
  return row == kMemory.end() ? MemoryKind::kUnknown : row->kind;
}

// Feeds protobuf from a source and keeps the source's error.
class SourceStream final : public io::CopyingInputStream {
 public:
  explicit SourceStream(ByteSource& in) : in_(in) {}
  int Read(void* buffer, int size) override {
    const Result<std::size_t> got = in_.Read(std::span(static_cast<char*>(buffer), static_cast<std::size_t>(size)));
    if (got) return static_cast<int>(*got);
    error_ = got.error();
    return -1;
  }
  [[nodiscard]] const std::optional<Error>& error() const { return error_; }

 private:
  ByteSource& in_;
  std::optional<Error> error_;
};

// The stats of an event or a plane by their names.
class Stats {
 public:
  Stats(const xplane::XPlane& plane, const google::protobuf::RepeatedPtrField<xplane::XStat>& stats)
      : plane_(plane), stats_(stats) {}

  [[nodiscard]] std::optional<std::int64_t> Integer(std::int64_t id) const {
    const xplane::XStat* stat = Find(id);
    if (stat == nullptr) return std::nullopt;
    if (stat->has_int64_value()) return stat->int64_value();
    if (stat->has_uint64_value()) return static_cast<std::int64_t>(stat->uint64_value());
    return LeadingNumber(TextOf(*stat));
  }
  [[nodiscard]] std::string_view Text(std::int64_t id) const {
    const xplane::XStat* stat = Find(id);
    return stat == nullptr ? std::string_view() : TextOf(*stat);
  }

 private:
  // `id` 0: no stat of the plane has the name that was looked for.
  [[nodiscard]] const xplane::XStat* Find(std::int64_t id) const {
    if (id == 0) return nullptr;
    const auto at =
        std::find_if(stats_.begin(), stats_.end(), [id](const xplane::XStat& s) { return s.metadata_id() == id; });
    return at == stats_.end() ? nullptr : &*at;
  }
  [[nodiscard]] std::string_view TextOf(const xplane::XStat& stat) const {
    if (!stat.has_ref_value()) return stat.str_value();
    const auto name = plane_.stat_metadata().find(static_cast<std::int64_t>(stat.ref_value()));
    return name == plane_.stat_metadata().end() ? std::string_view() : name->second.name();
  }

  const xplane::XPlane& plane_;
  const google::protobuf::RepeatedPtrField<xplane::XStat>& stats_;
};

// Of one plane: the ids of the stats that are read, 0 for those that do not occur.
struct StatIds {
  explicit StatIds(const xplane::XPlane& plane) {
    for (const auto& [id, stat] : plane.stat_metadata()) {
      if (stat.name() == "correlation_id") correlation = id;
      if (stat.name() == "step_num") step = id;
      if (stat.name() == "memcpy_details") memcpy = id;
      if (stat.name() == "memset_details" || stat.name() == "Memset_details") memset = id;
      if (stat.name() == "device_type_string") model = id;
      if (stat.name() == "memory_size") memory = id;
    }
  }
  std::int64_t correlation = 0;
  std::int64_t step = 0;
  std::int64_t memcpy = 0;
  std::int64_t memset = 0;
  std::int64_t model = 0;
  std::int64_t memory = 0;
};

class XplaneReader {
 public:
  XplaneReader(ByteSource& in, DataQuality& quality) : in_(in), quality_(quality) {}

  Result<Profile> Read();

 private:
  Result<void> ReadSpace(io::CodedInputStream& space);
  Result<void> ReadPlane(io::CodedInputStream& space);
  bool ReadWarning(io::CodedInputStream& space);
  void AddPlane(const xplane::XPlane& plane);
  void AddGpu(const xplane::XPlane& plane);
  void AddStream(const xplane::XPlane& plane, const xplane::XLine& line, std::int64_t device, const StatIds& ids);
  void AddStepLine(const xplane::XPlane& plane, const xplane::XLine& line);
  void AddHost(const xplane::XPlane& plane);
  void AddHostEvent(const xplane::XPlane& plane, const xplane::XEvent& event, Interval range, std::uint32_t thread,
                    const StatIds& ids);
  std::optional<Interval> RangeOf(const xplane::XLine& line, const xplane::XEvent& event);
  void CountUnknown(std::string_view what, int events) {
    quality_.CountNamed(QualityId::kUnknownEvent, what, {&in_.name()}, events);
  }
  static std::string_view NameOf(const xplane::XPlane& plane, const xplane::XEvent& event) {
    const auto name = plane.event_metadata().find(event.metadata_id());
    return name == plane.event_metadata().end() ? std::string_view() : name->second.name();
  }

  ByteSource& in_;
  DataQuality& quality_;
  ProfileBuilder builder_;
  bool host_steps_ = false;
  std::vector<ProfiledStep> device_steps_;  // of the first device with a line of them
};

Result<Profile> XplaneReader::Read() {
  SourceStream source(in_);
  io::CopyingInputStreamAdaptor adaptor(&source);
  io::CodedInputStream space(&adaptor);
  space.SetTotalBytesLimit(std::numeric_limits<int>::max());
  builder_.header().file = in_.name();
  builder_.header().profiler = "TensorFlow or JAX profiler";
  builder_.header().counter = "xplane.device_activity";
  builder_.Process("");
  const Result<void> read = ReadSpace(space);
  if (source.error()) return tl::unexpected<Error>(*source.error());
  if (!read) return tl::unexpected<Error>(read.error());
  if (!host_steps_) {
    for (const ProfiledStep& step : device_steps_) builder_.AddStep(step);
  }
  return builder_.Build();
}

Result<void> XplaneReader::ReadSpace(io::CodedInputStream& space) {
  const std::string broken = in_.name() + ": the profile is damaged or cut off at byte ";
  while (true) {
    const int at = space.CurrentPosition();
    const std::uint32_t field = space.ReadTag();
    if (field == 0 && space.ConsumedEntireMessage()) return {};
    bool good = field != 0;
    if (field == kPlanesField) {
      TRY(ReadPlane(space));
    } else if (field == kErrorsField || field == kWarningsField) {
      good = ReadWarning(space);
    } else if ((field & 7U) == 2) {
      std::uint32_t size = 0;
      good = space.ReadVarint32(&size) && space.Skip(static_cast<int>(std::min<std::uint32_t>(size, INT32_MAX)));
    } else {
      good = false;  // XSpace has nothing but such fields
    }
    if (!good) return Fail(broken + std::to_string(at) + "; copy it again or record it anew");
  }
}

Result<void> XplaneReader::ReadPlane(io::CodedInputStream& space) {
  const int at = space.CurrentPosition();
  google::protobuf::Arena arena;
  auto* const plane = google::protobuf::Arena::CreateMessage<xplane::XPlane>(&arena);
  std::uint32_t size = 0;
  const bool sized = space.ReadVarint32(&size) && size <= INT32_MAX;
  const auto limit = space.PushLimit(sized ? static_cast<int>(size) : 0);
  const bool whole = sized && plane->MergeFromCodedStream(&space) && space.BytesUntilLimit() == 0;
  space.PopLimit(limit);
  if (!whole) {
    return Fail(in_.name() + ": the profile is damaged or cut off in the plane at byte " + std::to_string(at) +
                "; copy it again or record it anew");
  }
  AddPlane(*plane);
  return {};
}

// Its words may name a host; only that it dropped events is told.
bool XplaneReader::ReadWarning(io::CodedInputStream& space) {
  std::uint32_t size = 0;
  std::string words;
  if (!space.ReadVarint32(&size) || size > INT32_MAX || !space.ReadString(&words, static_cast<int>(size))) return false;
  const bool dropped = words.find("ropped") != std::string::npos;
  quality_.CountNamed(QualityId::kProfilerWarning, dropped ? "dropped" : "other", {&in_.name()});
  builder_.header().events_missing |= dropped;
  return true;
}

void XplaneReader::AddPlane(const xplane::XPlane& plane) {
  int events = 0;
  for (const xplane::XLine& line : plane.lines()) events += line.events_size();
  builder_.header().events_total += events;
  const std::optional<PlaneRole> role = RoleOf(plane.name());
  if (role == PlaneRole::kGpu) {
    AddGpu(plane);
  } else if (role == PlaneRole::kHost) {
    AddHost(plane);
  } else if (role == PlaneRole::kForeign && events > 0) {
    builder_.header().foreign_accelerators.push_back(plane.name());
  } else if (!role && events > 0) {
    CountUnknown(plane.name(), events);
  }
}

void XplaneReader::AddGpu(const xplane::XPlane& plane) {
  const std::string_view number = std::string_view(plane.name()).substr(kPlanes[0].prefix.size());
  const std::optional<std::int64_t> device = LeadingNumber(number);
  if (!device) return CountUnknown(plane.name(), 1);
  const StatIds ids(plane);
  const Stats stats(plane, plane.stats());
  ProfiledDevice& about = builder_.Device(*device);
  about.model = stats.Text(ids.model);
  about.memory_bytes = stats.Integer(ids.memory);
  for (const xplane::XLine& line : plane.lines()) {
    if (StartsWith(line.name(), kStreamLine)) {
      AddStream(plane, line, *device, ids);
    } else if (line.name() == kStepLine) {
      AddStepLine(plane, line);
    } else if (line.name() == kOverheadLine) {
      for (const xplane::XEvent& event : line.events()) {
        if (const std::optional<Interval> range = RangeOf(line, event)) builder_.AddOverhead(*range);
      }
    } else if (std::find(kDerivedLines.begin(), kDerivedLines.end(), line.name()) == kDerivedLines.end()) {
      CountUnknown(line.name(), line.events_size());
    }
  }
}

void XplaneReader::AddStream(const xplane::XPlane& plane, const xplane::XLine& line, std::int64_t device,
                             const StatIds& ids) {
  const std::int64_t stream = LeadingNumber(std::string_view(line.name()).substr(kStreamLine.size())).value_or(0);
  for (const xplane::XEvent& event : line.events()) {
    const std::string_view name = NameOf(plane, event);
    const auto* const row = std::find_if(kStreamEvents.begin(), kStreamEvents.end(),
                                         [name](const StreamRow& known) { return known.name == name; });
    const bool kernel = row == kStreamEvents.end();
    if (!kernel && !row->op) continue;
    const std::optional<Interval> range = RangeOf(line, event);
    if (!range) continue;
    const Stats stats(plane, event.stats());
    DeviceEvent added;
    added.start_ns = range->start;
    added.end_ns = range->end;
    added.stream = static_cast<std::uint32_t>(stream);
    added.name = builder_.Intern(name);
    added.correlation = stats.Integer(ids.correlation).value_or(kNoCorrelation);
    if (!kernel) {
      const std::string_view details = stats.Text(row->op == DeviceOp::kMemcpy ? ids.memcpy : ids.memset);
      added.op = *row->op;
      added.copy = row->copy;
      added.bytes = std::max<std::int64_t>(LeadingNumber(Detail(details, "size:")).value_or(0), 0);
      added.from = MemoryOf(Detail(details, "kind_src:"));
      added.to = MemoryOf(Detail(details, "kind_dst:"));
    }
    builder_.AddDeviceEvent(device, added);
  }
}

// Its events are named by the number of their step.
void XplaneReader::AddStepLine(const xplane::XPlane& plane, const xplane::XLine& line) {
  if (!device_steps_.empty()) return;
  for (const xplane::XEvent& event : line.events()) {
    const std::optional<Interval> range = RangeOf(line, event);
    const std::optional<std::int64_t> number = LeadingNumber(NameOf(plane, event));
    if (range && number) device_steps_.push_back({range->start, range->end, *number, 0});
    if (!number) CountUnknown(line.name(), 1);
  }
}

void XplaneReader::AddHost(const xplane::XPlane& plane) {
  const StatIds ids(plane);
  for (const xplane::XLine& line : plane.lines()) {
    const std::uint32_t thread = builder_.Thread(line.name() + "/" + std::to_string(line.id()));
    for (const xplane::XEvent& event : line.events()) {
      if (const std::optional<Interval> range = RangeOf(line, event)) AddHostEvent(plane, event, *range, thread, ids);
    }
  }
}

void XplaneReader::AddHostEvent(const xplane::XPlane& plane, const xplane::XEvent& event, Interval range,
                                std::uint32_t thread, const StatIds& ids) {
  const Stats stats(plane, event.stats());
  const std::string_view name = NameOf(plane, event);
  if (const std::optional<std::int64_t> step = stats.Integer(ids.step)) {
    host_steps_ = true;
    builder_.AddStep({range.start, range.end, *step, 0});
  } else if (const auto correlation = stats.Integer(ids.correlation)) {
    builder_.AddCall(name, {range.start, range.end, *correlation, thread, 0, CallKind::kOther});
  } else if (StartsWith(name, "$")) {
    builder_.AddPythonFrame(name, range, thread);
  } else {
    builder_.AddHostRange(name, range, thread);
  }
}

std::optional<Interval> XplaneReader::RangeOf(const xplane::XLine& line, const xplane::XEvent& event) {
  const Place place{&in_.name()};
  constexpr std::int64_t kFarthest = std::int64_t{1} << 61;
  if (event.has_num_occurrences()) {
    CountUnknown("events without times", 1);
    return std::nullopt;
  }
  const bool sums = std::abs(event.offset_ps() / 2) < kFarthest && std::abs(event.duration_ps() / 2) < kFarthest &&
                    std::abs(line.timestamp_ns() / 2) < kFarthest;
  if (!sums) {
    quality_.Count(QualityId::kBadRow, place);
    return std::nullopt;
  }
  const std::int64_t end_ps = event.offset_ps() + event.duration_ps();
  if (event.offset_ps() % kPicos != 0 || end_ps % kPicos != 0) quality_.Count(QualityId::kRoundedTime, place);
  return EventRange(line.timestamp_ns() + event.offset_ps() / kPicos, line.timestamp_ns() + end_ps / kPicos, quality_,
                    place);
}

}  // namespace

// The first plane of an XSpace: its size, perhaps its number, and a name that is one of a plane.
bool SniffXplane(std::string_view head) {
  const auto skip_varint = [&head] {
    while (!head.empty() && (static_cast<unsigned char>(head.front()) & 0x80U) != 0) head.remove_prefix(1);
    if (!head.empty()) head.remove_prefix(1);
  };
  if (!StartsWith(head, "\x0A")) return false;
  head.remove_prefix(1);
  skip_varint();
  if (StartsWith(head, "\x08")) {  // XPlane.id
    head.remove_prefix(1);
    skip_varint();
  }
  if (!StartsWith(head, "\x12") || head.size() < 2) return false;
  return RoleOf(head.substr(2)).has_value();
}

Result<Profile> ReadXplane(ByteSource& in, DataQuality& quality) { return XplaneReader(in, quality).Read(); }

}  // namespace idleburn
