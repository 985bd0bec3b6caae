#include "profile/xla_rows.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "profile/json_scan.h"
#include "profile/profile_builder.h"
#include "profile/profile_importers.h"
#include "profile/trace_reader.h"

// Meaning of the planes and lines of XLA's profiler, and the reader of its Chrome trace. The reader of the protobuf is
// in profile/xplane.cc. Both push events into XlaRows, so a name means the same in both formats.
//
// Names of planes and lines are the only evidence of what an event is. Tables therefore list all names that the
// profiler is known to write. A name that is missing is counted as unknown and not guessed, except on a stream: there,
// every unknown name is a kernel, because kernels have the names of the user's program.

namespace idleburn {
namespace {

// Planes by the start of their name. The first match counts, so "/device:GPU:" comes before "/device:".
struct PlaneRow {
  std::string_view prefix;
  XlaPlane role;
};
constexpr std::string_view kGpuPlane = "/device:GPU:";
constexpr auto kPlanes = std::to_array<PlaneRow>({
    {kGpuPlane, XlaPlane::kGpu},
    {"/device:", XlaPlane::kForeign},
    {"#Chip", XlaPlane::kForeign},
    {"/host:TPU-runtime", XlaPlane::kForeign},
    {"/host:CPU", XlaPlane::kHost},
    {"/host:CUPTI", XlaPlane::kHost},
    {"/host:ROCTRACER", XlaPlane::kHost},
    {"/host:python-tracer", XlaPlane::kHost},
    {"/host:metadata", XlaPlane::kNoWork},
    {"/host:tfstreamz", XlaPlane::kNoWork},
    {"/host:__", XlaPlane::kNoWork},
    {"Task Environment", XlaPlane::kNoWork},
    {"Host CPUs", XlaPlane::kNoWork},
});

// Lines by their name. A stream has its number after the "#".
constexpr std::string_view kStreamLine = "Stream #";
constexpr std::string_view kOverheadLine = "CUPTI overhead";
constexpr std::string_view kStepLine = "Steps";
// Lines of a GPU's plane that are derived from its streams.
constexpr auto kDerivedLines = std::to_array<std::string_view>(
    {"XLA Modules", "XLA Ops", "Async XLA Ops", "TensorFlow Name Scope", "TensorFlow Ops", "Framework Name Scope",
     "Framework Ops", "Launch Stats", "Source code", "Host Offload Ops", "_counters_"});

// Events of streams that are not kernels, by name.
struct StreamRow {
  std::string_view name;
  std::optional<DeviceOp> op;  // absent: not device work
  CopyKind copy;
};
constexpr auto kStreamEvents = std::to_array<StreamRow>({
    {"MemcpyH2D", DeviceOp::kMemcpy, CopyKind::kHtoD},
    {"MemcpyD2H", DeviceOp::kMemcpy, CopyKind::kDtoH},
    {"MemcpyD2D", DeviceOp::kMemcpy, CopyKind::kDtoD},
    {"MemcpyP2P", DeviceOp::kMemcpy, CopyKind::kPtoP},
    {"MemcpyOther", DeviceOp::kMemcpy, CopyKind::kOther},
    {"Memset", DeviceOp::kMemset, CopyKind::kNone},
    // Names in older versions of ROCm.
    {"CopyHostToDevice", DeviceOp::kMemcpy, CopyKind::kHtoD},
    {"CopyHostToDevice2D", DeviceOp::kMemcpy, CopyKind::kHtoD},
    {"CopyDeviceToHost", DeviceOp::kMemcpy, CopyKind::kDtoH},
    {"CopyDeviceToHost2D", DeviceOp::kMemcpy, CopyKind::kDtoH},
    {"CopyDeviceToDevice", DeviceOp::kMemcpy, CopyKind::kDtoD},
    {"CopyDeviceToDevice2D", DeviceOp::kMemcpy, CopyKind::kDtoD},
    {"FillBuffer", DeviceOp::kMemset, CopyKind::kNone},
    {"MemoryAllocation", std::nullopt, CopyKind::kNone},
    {"MemoryDeallocation", std::nullopt, CopyKind::kNone},
    {"MemoryAlloc", std::nullopt, CopyKind::kNone},
    {"MemoryFree", std::nullopt, CopyKind::kNone},
    {"MemoryResidency", std::nullopt, CopyKind::kNone},
    {"UnifiedMemory", std::nullopt, CopyKind::kNone},
    {"HostRegister", std::nullopt, CopyKind::kNone},
    {"HostUnregister", std::nullopt, CopyKind::kNone},
    {"Overhead", std::nullopt, CopyKind::kNone},
});

// A kind of memory as the details of a copy write it.
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

// The word after `key` in "kind_src:pageable kind_dst:device size:4096 dest:0 async:1".
std::string_view Detail(std::string_view details, std::string_view key) {
  const std::size_t at = details.find(key);
  if (at == std::string_view::npos) return {};
  details.remove_prefix(at + key.size());
  return details.substr(0, details.find(' '));
}

// The kind of memory of a word. kUnknown for any other word.
MemoryKind FindXlaMemory(std::string_view name) {
  const auto* const row =
      std::find_if(kMemory.begin(), kMemory.end(), [name](const MemoryRow& known) { return known.name == name; });
  return row == kMemory.end() ? MemoryKind::kUnknown : row->kind;
}

}  // namespace

std::optional<XlaPlane> FindXlaPlane(std::string_view plane) {
  const auto* const row = std::find_if(kPlanes.begin(), kPlanes.end(),
                                       [plane](const PlaneRow& known) { return plane.starts_with(known.prefix); });
  return row == kPlanes.end() ? std::nullopt : std::optional(row->role);
}

std::optional<std::int64_t> XlaDevice(std::string_view plane) {
  return plane.starts_with(kGpuPlane) ? LeadingNumber(plane.substr(kGpuPlane.size())) : std::nullopt;
}

std::optional<std::int64_t> LeadingNumber(std::string_view text) {
  std::int64_t number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  return read.ec == std::errc() ? std::optional(number) : std::nullopt;
}

XlaRows::XlaRows(const std::string& file, ProfileBuilder& builder, DataQuality& quality)
    : place_{&file}, builder_(builder), quality_(quality) {
  builder_.header().file = file;
  builder_.header().kind = ProfilerKind::kXla;
  builder_.header().profiler = "TensorFlow or JAX profiler";
  builder_.header().counter = "xplane.device_activity";
}

// A plane decides first. Within a GPU's plane the line's name decides.
XlaLine XlaRows::FindLine(std::string_view plane, std::string_view line, std::string_view id) {
  using Role = XlaLine::Role;
  XlaLine found;
  const std::optional<XlaPlane> role = FindXlaPlane(plane);
  const std::optional<std::int64_t> device = XlaDevice(plane);
  const bool derived = std::find(kDerivedLines.begin(), kDerivedLines.end(), line) != kDerivedLines.end();
  if (role == XlaPlane::kHost) {
    found.role = Role::kThread;
    found.thread = builder_.Thread(std::string(line) + "/" + std::string(id));
  } else if (role == XlaPlane::kForeign || role == XlaPlane::kNoWork) {
    found.role = role == XlaPlane::kForeign ? Role::kForeign : Role::kNoWork;
    found.name = plane;
  } else if (!device) {
    found.name = plane;
  } else if (line.starts_with(kStreamLine)) {
    found.role = Role::kStream;
    found.stream = static_cast<std::uint32_t>(LeadingNumber(line.substr(kStreamLine.size())).value_or(0));
    // Two hosts in one profile each have a GPU 0.
    if (!streams_.emplace(*device, line).second && shared_.insert(*device).second) {
      quality_.CountNamed(QualityId::kSharedDeviceNumber, std::to_string(*device), place_);
    }
  } else if (line == kStepLine || line == kOverheadLine || derived) {
    found.role = line == kStepLine ? Role::kSteps : line == kOverheadLine ? Role::kOverhead : Role::kNoWork;
  } else {
    found.name = line;
  }
  found.device = device.value_or(0);
  return found;
}

// The role was decided by FindLine; here each role has its rows.
void XlaRows::Add(const XlaLine& line, const XlaEvent& event) {
  switch (line.role) {
    case XlaLine::Role::kStream:
      return AddToStream(line, event);
    case XlaLine::Role::kSteps:
      return AddStepOfDevice(line, event);
    case XlaLine::Role::kOverhead:
      return builder_.AddOverhead(event.at);
    case XlaLine::Role::kThread:
      return AddToThread(line, event);
    case XlaLine::Role::kForeign: {
      std::vector<std::string>& foreign = builder_.header().foreign_accelerators;
      if (std::find(foreign.begin(), foreign.end(), line.name) == foreign.end()) foreign.push_back(line.name);
      return;
    }
    case XlaLine::Role::kUnknown:
      return CountUnknown(line.name);
    case XlaLine::Role::kNoWork:
      return;
  }
}

// Adds device work: a copy, a set or a kernel. Every name that the table lacks is a kernel.
void XlaRows::AddToStream(const XlaLine& line, const XlaEvent& event) {
  const auto* const row = std::find_if(kStreamEvents.begin(), kStreamEvents.end(),
                                       [&](const StreamRow& known) { return known.name == event.name; });
  const bool kernel = row == kStreamEvents.end();
  if (!kernel && !row->op) return;
  DeviceEvent added;
  added.start_ns = event.at.start;
  added.end_ns = event.at.end;
  added.stream = line.stream;
  added.name = builder_.Intern(event.name);
  added.correlation = event.correlation.value_or(kNoCorrelation);
  if (!kernel) {
    added.op = *row->op;
    added.copy = row->copy;
    added.bytes = std::max<std::int64_t>(LeadingNumber(Detail(event.details, "size:")).value_or(0), 0);
    added.from = FindXlaMemory(Detail(event.details, "kind_src:"));
    added.to = FindXlaMemory(Detail(event.details, "kind_dst:"));
  }
  builder_.AddDeviceEvent(line.device, added);
}

// Adds a step, a call, a Python frame or an operator. A step number decides first, then a correlation id.
void XlaRows::AddToThread(const XlaLine& line, const XlaEvent& event) {
  if (event.step) {
    host_steps_ = true;
    builder_.AddStep({event.at.start, event.at.end, *event.step, 0});
  } else if (event.correlation) {
    builder_.AddCall(event.name, {event.at.start, event.at.end, *event.correlation, line.thread, 0, CallKind::kOther});
  } else if (event.name.starts_with("$")) {
    builder_.AddPythonFrame(event.name, event.at, line.thread);
  } else {
    builder_.AddHostRange(event.name, event.at, line.thread);
  }
}

// The name of such an event is its step number.
void XlaRows::AddStepOfDevice(const XlaLine& line, const XlaEvent& event) {
  const std::optional<std::int64_t> number = LeadingNumber(event.name);
  if (!number) return CountUnknown(kStepLine);
  device_steps_.push_back({event.at.start, event.at.end, *number, 0, line.device});
}

// Marks of the host are the better steps: they begin when the program begins a step, and a device may start late.
void XlaRows::Finish() {
  if (host_steps_) return;
  for (const ProfiledStep& step : device_steps_) builder_.AddStep(step);
}

// A Chrome trace has events of threads and metadata that names the threads. Metadata may come last, so events of
// unnamed threads wait.

namespace {

// Events that the profiler writes at most. It leaves out the latest ones of a longer profile.
constexpr std::int64_t kMostWritten = 1'000'000;  // events; of a longer profile the latest are left out

// The arguments of an entry: of metadata, and of events.
struct XlaArguments {
  std::string_view name;  // of a process or thread
  std::string_view correlation;
  std::string_view step;
  std::string_view copy;
  std::string_view set;
};
constexpr auto kXlaArguments = std::to_array<JsonField<XlaArguments>>({
    {"name", &XlaArguments::name},
    {"correlation_id", &XlaArguments::correlation},
    {"step_num", &XlaArguments::step},
    {"memcpy_details", &XlaArguments::copy},
    {"memset_details", &XlaArguments::set},
});

// Turns the entries of a trace into events of lines. XlaRows knows what the lines mean.
class XlaTrace {
 public:
  XlaTrace(const std::string& file, ProfileBuilder& builder, DataQuality& quality)
      : place_{&file}, quality_(quality), rows_(file, builder, quality) {}

  // Adds metadata or an event. An event of a line without a name waits, up to a limit that bounds memory.
  void Add(const TraceEvent& event) {
    if (event.phase == "M") return AddName(event);
    if (event.phase != "X") return;
    const XlaArguments arguments = ReadObject(event.arguments, kXlaArguments);
    const std::optional<Interval> at = ReadRange(event);
    if (!at) return;
    XlaEvent row;
    row.name = Unescape(event.name, scratch_);
    row.at = *at;
    row.correlation = LeadingNumber(arguments.correlation);
    row.step = LeadingNumber(arguments.step);
    row.details = arguments.copy.empty() ? arguments.set : arguments.copy;
    if (!Named(event) && waiting_.size() < kMostWritten) {
      waiting_.push_back({std::string(event.process), std::string(event.thread), std::string(row.name),
                          std::string(row.details), row});
      return;
    }
    rows_.Add(FindLine(event.process, event.thread), row);
  }
  // Adds the events that waited. A line that is still without a name is then unknown.
  void Finish() {
    for (Waiting& late : waiting_) {
      late.row.name = late.name;
      late.row.details = late.details;
      rows_.Add(FindLine(late.process, late.thread), late.row);
    }
    rows_.Finish();
  }

 private:
  // Names a process (a plane) or a thread (a line).
  void AddName(const TraceEvent& event) {
    const std::string_view name = Unescape(ReadObject(event.arguments, kXlaArguments).name, scratch_);
    if (event.name == "process_name") planes_[std::string(event.process)] = name;
    if (event.name == "thread_name") threads_[Track(event.process, event.thread)] = name;
  }

  // An event whose names follow later, as when a tool has sorted the trace by time. It waits until all names are
  // known.
  struct Waiting {
    std::string process, thread, name, details;
    XlaEvent row;
  };

  static std::string Track(std::string_view process, std::string_view thread) {
    return std::string(process) + ":" + std::string(thread);
  }

  // Whether the event's process is known, and for a device also its stream.
  [[nodiscard]] bool Named(const TraceEvent& event) const {
    const std::string track = Track(event.process, event.thread);
    if (lines_.contains(track)) return true;
    const auto plane = planes_.find(std::string(event.process));
    return plane != planes_.end() && (!XlaDevice(plane->second) || threads_.contains(track));
  }

  // The line of a thread, found once. Names that come after its first event do not change it.
  const XlaLine& FindLine(std::string_view process, std::string_view id) {
    std::string track = Track(process, id);
    if (const auto found = lines_.find(track); found != lines_.end()) return found->second;
    const auto plane = planes_.find(std::string(process));
    const auto thread = threads_.find(track);
    XlaLine line = rows_.FindLine(plane == planes_.end() ? "a process without a name" : plane->second,
                                  thread == threads_.end() ? "" : std::string_view(thread->second), id);
    return lines_.emplace(std::move(track), std::move(line)).first->second;
  }

  // Absent, and counted, if an event has no times.
  std::optional<Interval> ReadRange(const TraceEvent& event) {
    const std::optional<TraceNs> start = TraceMicrosToNs(event.time);
    const std::optional<TraceNs> length = TraceMicrosToNs(event.duration);
    if (!start || !length) {
      quality_.Count(QualityId::kBadRow, place_);
      return std::nullopt;
    }
    if (start->rounded || length->rounded) quality_.Count(QualityId::kRoundedTime, place_);
    return EventRange(start->ns, start->ns + length->ns, quality_, place_);
  }

  Place place_;
  DataQuality& quality_;
  XlaRows rows_;
  std::unordered_map<std::string, std::string> planes_;   // by process
  std::unordered_map<std::string, std::string> threads_;  // by process and thread
  std::unordered_map<std::string, XlaLine> lines_;
  std::vector<Waiting> waiting_;
  std::string scratch_;
};

}  // namespace

// Both a list of events and a plane's name: a trace of PyTorch has only the former.
bool SniffXlaTrace(std::string_view head) {
  const auto has = [&](std::string_view word) { return head.find(word) != std::string_view::npos; };
  return has("\"traceEvents\"") && has("\"process_name\"") && (has("\"/device:GPU:") || has("\"/host:CPU\""));
}

// A trace of a million events or more was probably cut by the profiler, so events may be missing.
Result<Profile> ReadXlaTrace(ByteSource& in, DataQuality& quality) {
  ProfileBuilder builder;
  TraceReader reader(in, {});
  XlaTrace trace(in.name(), builder, quality);
  while (true) {
    const TraceReader::Item item = TRY(reader.Next());
    if (item == TraceReader::Item::kEnd) break;
    if (item == TraceReader::Item::kEvent) trace.Add(reader.event());
  }
  const TraceTally& tally = reader.tally();
  if (!tally.found_events) return Fail(in.name() + ": holds no traceEvents; record the profile again");
  trace.Finish();
  Profile profile = builder.Build();
  profile.events_total = tally.events;
  profile.events_missing = CountLosses(tally, in, quality) || tally.events >= kMostWritten;
  return profile;
}

}  // namespace idleburn
