#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "profile/json_scan.h"
#include "profile/profile.h"
#include "profile/profile_builder.h"
#include "profile/profile_importers.h"
#include "profile/range_terms.h"
#include "profile/step_finder.h"
#include "profile/trace_reader.h"
#include "profile/trace_terms.h"
#include "telemetry/data_quality.h"
#include "text/number.h"
#include "text/strings.h"

namespace idleburn {

// PyTorch's profiler exports a Chrome trace. ReadKinetoHeader reads members beside the events, KinetoRows turns events
// into rows of a profile. What categories and names mean is in trace_terms.

namespace {

// Members of a trace beside its events that may be read. All other members may name users, hosts and jobs, and are
// never looked at.
inline constexpr std::array<std::string_view, 10> kKinetoHeaders = {
    "schemaVersion", "deviceProperties",    "distributedInfo",     "baseTimeNanoseconds", "cuda_runtime_version",
    "cupti_version", "cuda_driver_version", "hip_runtime_version", "hip_driver_version",  "roctracer_version"};

// Turns the entries of a PyTorch trace into rows of a profile. Entries are "X" with a duration, or pairs of "B" and
// "E".
class KinetoRows {
 public:
  // `file` is its name. All references outlive the rows.
  KinetoRows(const std::string& file, ProfileBuilder& builder, DataQuality& quality)
      : place_{&file}, builder_(builder), quality_(quality) {}

  void Add(const TraceEvent& event);
  // Call after the last entry.
  void Finish();
  // Finds steps among the annotations of a built profile that has none. Fewer than two show no rhythm, and with several
  // processes the owner of each step is unknown.
  void FindSteps(Profile& profile);

 private:
  // A category of the file, and how many entries it has.
  struct SeenCategory {
    std::optional<TraceRole> role;
    std::int64_t entries = 0;
  };
  // An entry that has begun and not ended. `arguments` has kScanPad bytes behind its text.
  struct OpenRange {
    std::string category;
    std::string name;
    std::string arguments;
    std::int64_t start_ns = 0;
  };
  struct OpenRanges {
    std::vector<OpenRange> stack;
    std::int64_t beyond = 0;  // begun when the stack was full
  };
  // Which processes name a device number. With several, the number may stand for several GPUs.
  struct DeviceUsers {
    std::string first;  // process that the entries name
    bool several = false;
  };

  // The tally of a category, with its role. Looked up once per entry.
  SeenCategory& Category(std::string_view category);
  // Adds an "X" entry.
  void AddComplete(const TraceEvent& event);
  void Open(const TraceEvent& event);
  void Close(const TraceEvent& event);
  // Adds an entry with start and length, by the role of its category.
  void AddRange(const TraceEvent& event, std::int64_t start_ns, std::int64_t length_ns);
  void AddDeviceEvent(const TraceEvent& event, TraceRole role, Interval span);
  void AddHostRange(const TraceEvent& event, Interval span);
  void AddPythonFrame(const TraceEvent& event, Interval span);
  // Adds a mark of the allocator: how much memory of a device it holds.
  void AddMemory(const TraceEvent& event);
  // Absent, and counted, if it is not a time.
  std::optional<std::int64_t> Time(std::string_view micros);
  std::string_view Name(std::string_view text) { return Unescape(text, scratch_); }
  // The process and thread of an entry as one text, "4711:4712", and their indices in the profile.
  const std::string& FindTrack(const TraceEvent& event);
  std::uint32_t FindThread(const TraceEvent& event);
  std::uint16_t FindProcess(const TraceEvent& event);
  // Counts entries of unknown categories, by the name of the most frequent one.
  void CountUnknown();

  Place place_;
  ProfileBuilder& builder_;
  DataQuality& quality_;
  std::unordered_map<std::string, SeenCategory, TextHash, std::equal_to<>> categories_;
  SeenCategory beyond_categories_;                    // all that came after too many
  std::unordered_map<std::string, OpenRanges> open_;  // by track
  std::map<std::int64_t, DeviceUsers> users_;
  std::optional<std::int64_t> earliest_ns_;
  StepFinder steps_;
  std::string scratch_;
  // The thread of the last entry, because neighbors in a file are mostly of one thread.
  std::string track_process_;
  std::string track_thread_;
  std::string track_;
  std::optional<std::uint32_t> thread_;
  std::optional<std::uint16_t> process_;
};

// A longer text is no version or backend, and might hold anything.
constexpr std::size_t kLongestFact = 40;
constexpr std::int64_t kLatestBase = std::int64_t{1} << 61;  // in 2043; sums of times beyond could overflow

// A header that becomes a fact of the profile, by another name.
struct Fact {
  std::string_view key;
  std::string_view name;
};
constexpr auto kFacts = std::to_array<Fact>({
    {"schemaVersion", "schema"},
    {"cuda_runtime_version", "cuda_runtime"},
    {"cuda_driver_version", "cuda_driver"},
    {"cupti_version", "cupti"},
    {"hip_runtime_version", "hip_runtime"},
    {"hip_driver_version", "hip_driver"},
    {"roctracer_version", "roctracer"},
});

// An entry of deviceProperties.
struct DeviceProperties {
  std::string_view id;
  std::string_view name;
  std::string_view memory;
};
constexpr auto kDeviceFields = std::to_array<JsonField<DeviceProperties>>({
    {"id", &DeviceProperties::id},
    {"name", &DeviceProperties::name},
    {"totalGlobalMem", &DeviceProperties::memory},
});

// The members of distributedInfo.
struct DistributedInfo {
  std::string_view backend;
  std::string_view rank;
  std::string_view world_size;
  std::string_view nccl;
};
constexpr auto kDistributedFields = std::to_array<JsonField<DistributedInfo>>({
    {"backend", &DistributedInfo::backend},
    {"rank", &DistributedInfo::rank},
    {"world_size", &DistributedInfo::world_size},
    {"nccl_version", &DistributedInfo::nccl},
});

// Keeps a short scalar as a fact. Containers and long texts are not facts.
void SetFact(std::string_view name, std::string_view text, ProfileBuilder& builder) {
  const bool container = !text.empty() && (text.front() == '{' || text.front() == '[');
  if (text.empty() || container || text.size() > kLongestFact) return;
  builder.header().facts[std::string(name)] = Printable(text);
}

// Reads deviceProperties: the model and memory of each device.
void ReadDevices(const char* p, const char* end, ProfileBuilder& builder) {
  for (++p; (p = SkipBlanksAndCommas(p, end)) < end && *p == '{';) {
    DeviceProperties properties;
    const char* const next = SkipValue(p, end);
    if (next == nullptr || ReadFields(p, end, kDeviceFields, properties) != Scan::kWhole) return;
    if (const std::optional<std::int64_t> id = ParseInteger(properties.id)) {
      std::string scratch;
      ProfiledDevice& device = builder.Device(*id);
      device.model = Unescape(properties.name, scratch);
      device.memory_bytes = ParseInteger(properties.memory);
    }
    p = next;
  }
}

// Reads distributedInfo: rank, world size and backend.
void ReadDistributed(const char* p, const char* end, ProfileBuilder& builder) {
  DistributedInfo info;
  ReadFields(p, end, kDistributedFields, info);
  Profile& header = builder.header();
  header.rank = ParseInteger(info.rank);
  header.world_size = ParseInteger(info.world_size);
  SetFact("backend", info.backend, builder);
  SetFact("nccl", info.nccl, builder);
}

// Stores one header member: device models, the rank, the relation to the wall clock, or a fact. `value` may be any
// JSON, with kScanPad readable bytes behind it; an unexpected form is ignored.
void ReadKinetoHeader(std::string_view key, std::string_view value, ProfileBuilder& builder) {
  const char* const end = value.data() + value.size();
  if (key == "deviceProperties" && value.front() == '[') return ReadDevices(value.data(), end, builder);
  if (key == "distributedInfo" && value.front() == '{') return ReadDistributed(value.data(), end, builder);
  std::string_view text;
  // ReadText is null if the text ends with the value; the whole value is then the text.
  if (ReadText(value.data(), end, text) == nullptr) text = value;
  if (key == "baseTimeNanoseconds") {
    const std::optional<std::int64_t> base = ParseInteger(text);
    if (base && *base >= 0 && *base <= kLatestBase) builder.header().wall_base_ns = base;
  }
  const auto fact = std::find_if(kFacts.begin(), kFacts.end(), [&](const Fact& f) { return f.key == key; });
  if (fact != kFacts.end()) SetFact(fact->name, text, builder);
}

// No profiler writes more categories or deeper ranges. The limits bound memory for files that are not traces.
constexpr std::size_t kMostCategories = 1024;
constexpr std::size_t kDeepest = 4096;

// The category of what the user marks. Traces of 2021 call annotations operators.
constexpr std::string_view kAnnotation = "user_annotation";

// The arguments of a kernel, copy or set.
struct KinetoArguments {
  std::string_view device;
  std::string_view stream;
  std::string_view correlation;
  std::string_view bytes;
  std::string_view kind;
  std::string_view collective;
  std::string_view elements;
  std::string_view received;
  std::string_view type;
  std::string_view ranks;
  std::string_view from;
  std::string_view to;
  std::string_view group;
  std::string_view sequence;
};
constexpr auto kKinetoArguments = std::to_array<JsonField<KinetoArguments>>({
    {"device", &KinetoArguments::device},
    {"stream", &KinetoArguments::stream},
    {"correlation", &KinetoArguments::correlation},
    {"kind", &KinetoArguments::kind},
    {"bytes", &KinetoArguments::bytes},
    {"Collective name", &KinetoArguments::collective},
    {"In msg nelems", &KinetoArguments::elements},
    {"Out msg nelems", &KinetoArguments::received},
    {"Group size", &KinetoArguments::ranks},
    {"dtype", &KinetoArguments::type},
    {"Process Group Name", &KinetoArguments::group},
    {"Seq", &KinetoArguments::sequence},
    {"Src Rank", &KinetoArguments::from},
    {"Dst Rank", &KinetoArguments::to},
});

// The inputs of an operator.
constexpr auto kOpInputs = std::to_array<JsonField<OpInputs>>({
    {"Input type", &OpInputs::types},
    {"Input Dims", &OpInputs::dims},
    {"Concrete Inputs", &OpInputs::concrete},
});

// A mark of PyTorch's allocator (profile_memory=True). Device type 0 is the host.
struct MemoryMark {
  std::string_view type;
  std::string_view device;
  std::string_view reserved;
};
constexpr auto kMemoryMark = std::to_array<JsonField<MemoryMark>>({
    {"Total Reserved", &MemoryMark::reserved},
    {"Device Id", &MemoryMark::device},
    {"Device Type", &MemoryMark::type},
});

// Parses the arguments of an entry. Only device events and calls pay for this: most of a trace is arguments that nobody
// needs.
KinetoArguments ReadArguments(const TraceEvent& event) { return ReadObject(event.arguments, kKinetoArguments); }

// An integer argument. Tools that pass a trace through floating point write "7.0", and some write "stream 7".
std::optional<std::int64_t> Integer(std::string_view text) {
  if (const std::optional<std::int64_t> plain = ParseInteger(text)) return plain;
  const ScaledNumber number = ParseScaled(text, 0);
  return number.fault == NumberFault::kNone ? std::optional(number.value) : TrailingNumber(text);
}

// The bytes of an element by PyTorch's name of its type. 0 if unknown.
std::int64_t ElementBytes(std::string_view type) {
  struct TypeBytes {
    std::string_view type;
    std::int64_t bytes;
  };
  constexpr auto kTypes = std::to_array<TypeBytes>({{"float", 4},
                                                    {"double", 8},
                                                    {"half", 2},
                                                    {"bfloat16", 2},
                                                    {"byte", 1},
                                                    {"char", 1},
                                                    {"bool", 1},
                                                    {"short", 2},
                                                    {"int", 4},
                                                    {"long", 8},
                                                    {"float8_e4m3fn", 1},
                                                    {"float8_e5m2", 1}});
  const auto* const row =
      std::find_if(kTypes.begin(), kTypes.end(), [&](const TypeBytes& t) { return EqualsIgnoreCase(t.type, type); });
  return row == kTypes.end() ? 0 : row->bytes;
}

// The collective that the arguments of a kernel describe. Sizes are those of NCCL's own tests: what a rank sends, but
// of an all-gather what it receives.
Collective ToCollective(const KinetoArguments& arguments, std::string_view name) {
  Collective c;
  c.sequence = Integer(arguments.sequence);
  c.elements = Integer(arguments.elements).value_or(-1);
  const auto small = [](std::string_view text) {
    const std::int64_t value = Integer(text).value_or(-1);
    return value < 0 || value > INT32_MAX ? -1 : static_cast<std::int32_t>(value);
  };
  c.ranks = small(arguments.ranks);
  c.from = small(arguments.from);
  c.to = small(arguments.to);
  const bool gathers = CollectiveOf(name) == "all_gather";
  const std::int64_t elements = gathers ? Integer(arguments.received).value_or(-1) : c.elements;
  const std::int64_t bytes = ElementBytes(arguments.type);
  constexpr std::int64_t kMost = std::int64_t{1} << 50;  // a larger message is an error of the file
  if (bytes > 0 && elements > 0 && elements < kMost) c.bytes = elements * bytes;
  return c;
}

// The operation of a role. A kernel may still turn out to communicate; ProfileBuilder decides that by its name.
DeviceOp ToDeviceOp(TraceRole role) {
  return role == TraceRole::kMemcpy   ? DeviceOp::kMemcpy
         : role == TraceRole::kMemset ? DeviceOp::kMemset
                                      : DeviceOp::kKernel;
}

// Sorts an entry by its phase, the field "ph" of the Chrome format.
void KinetoRows::Add(const TraceEvent& event) {
  if (event.phase == "X") return AddComplete(event);
  if (event.phase == "B") return Open(event);
  if (event.phase == "E") return Close(event);
  if (event.phase == "i" && event.name == "[memory]") return AddMemory(event);
  // Other marks, flows and metadata have no duration. Counters are only noted because they may reveal an accelerator.
  if (event.phase == "C" && FindTraceRole(event.category) == TraceRole::kForeign) Category(event.category);
}

// Classifies a category once, at its first entry. Beyond kMostCategories all further ones share a tally.
KinetoRows::SeenCategory& KinetoRows::Category(std::string_view category) {
  if (const auto found = categories_.find(category); found != categories_.end()) return found->second;
  if (categories_.size() == kMostCategories) return beyond_categories_;
  return categories_.try_emplace(std::string(category), SeenCategory{FindTraceRole(category), 0}).first->second;
}

void KinetoRows::AddComplete(const TraceEvent& event) {
  const std::optional<std::int64_t> start = Time(event.time);
  const std::optional<std::int64_t> length = start ? Time(event.duration) : std::nullopt;
  if (length) AddRange(event, *start, *length);
}

// Begins a range of a "B" entry. Its texts are copied, because the window moves on before the range ends.
void KinetoRows::Open(const TraceEvent& event) {
  const std::optional<std::int64_t> start = Time(event.time);
  if (!start) return;
  OpenRanges& open = open_[FindTrack(event)];
  if (open.stack.size() == kDeepest) {
    ++open.beyond;
    return quality_.Count(QualityId::kUnpairedRange, place_);
  }
  OpenRange& range = open.stack.emplace_back();
  range = {std::string(event.category), std::string(event.name), std::string(event.arguments), *start};
  range.arguments.append(kScanPad, '\0');
}

// Ends the innermost range of the track by an "E" entry, which may repeat or extend the arguments.
void KinetoRows::Close(const TraceEvent& event) {
  const std::optional<std::int64_t> end = Time(event.time);
  if (!end) return;
  OpenRanges& open = open_[FindTrack(event)];
  if (open.beyond > 0) {
    --open.beyond;
  } else if (open.stack.empty()) {
    quality_.Count(QualityId::kUnpairedRange, place_);
  } else {
    const OpenRange range = std::move(open.stack.back());
    open.stack.pop_back();
    TraceEvent whole = event;
    whole.category = range.category;
    whole.name = range.name;
    const std::string_view arguments(range.arguments.data(), range.arguments.size() - kScanPad);
    if (!arguments.empty()) whole.arguments = arguments;
    AddRange(whole, range.start_ns, *end - range.start_ns);
  }
}

// Adds an entry with start and length, by the role of its category. A step counts even if its category is unknown.
void KinetoRows::AddRange(const TraceEvent& event, std::int64_t start_ns, std::int64_t length_ns) {
  SeenCategory& seen = Category(event.category);
  ++seen.entries;
  const bool step_of_unknown = !seen.role && StepNumber(event.name);
  const TraceRole role = step_of_unknown ? TraceRole::kHostRange : seen.role.value_or(TraceRole::kNotWork);
  if (role == TraceRole::kNotWork || role == TraceRole::kForeign) return;
  const std::optional<Interval> range = EventRange(start_ns, start_ns + length_ns, quality_, place_);
  if (!range) return;
  const Interval span = *range;
  earliest_ns_ = std::min(earliest_ns_.value_or(start_ns), start_ns);
  switch (role) {
    case TraceRole::kCall:
      return builder_.AddCall(Name(event.name),
                              {span.start, span.end, Integer(ReadArguments(event).correlation).value_or(kNoCorrelation),
                               FindThread(event), FindProcess(event), CallKind::kOther});
    case TraceRole::kHostRange:
      return AddHostRange(event, span);
    case TraceRole::kPythonFrame:
      return AddPythonFrame(event, span);
    case TraceRole::kOverhead:
      return builder_.AddOverhead(span);
    default:
      return AddDeviceEvent(event, role, span);
  }
}

// Adds a kernel, copy or set, and the collective that its arguments describe. The device is an argument; old traces
// have it only as the process of the entry.
void KinetoRows::AddDeviceEvent(const TraceEvent& event, TraceRole role, Interval span) {
  const KinetoArguments arguments = ReadArguments(event);
  std::optional<std::int64_t> device = Integer(arguments.device);
  if (!device) device = Integer(event.process);
  if (!device) return quality_.Count(QualityId::kBadRow, place_);
  DeviceUsers& users = users_.try_emplace(*device, DeviceUsers{std::string(event.process), false}).first->second;
  users.several |= users.first != event.process;

  const std::string_view name = Name(event.name);
  DeviceEvent row;
  row.start_ns = span.start;
  row.end_ns = span.end;
  row.correlation = Integer(arguments.correlation).value_or(kNoCorrelation);
  row.bytes = std::max<std::int64_t>(Integer(arguments.bytes).value_or(0), 0);
  row.name = builder_.Intern(name);
  row.stream =
      static_cast<std::uint32_t>(Integer(arguments.stream.empty() ? event.thread : arguments.stream).value_or(0));
  row.op = ToDeviceOp(role);
  if (role == TraceRole::kMemcpy) {
    const CopyTerms terms = ReadCopyTerms(name, arguments.kind);
    row.copy = terms.copy;
    row.from = terms.from;
    row.to = terms.to;
  }
  const std::size_t index = builder_.AddDeviceEvent(*device, row);
  if (arguments.collective.empty() && arguments.group.empty()) return;
  const std::string_view operation = Name(arguments.collective);
  Collective collective = ToCollective(arguments, operation);
  collective.event = index;
  collective.operation = builder_.Intern(operation);
  collective.group = builder_.Intern(Name(arguments.group));
  builder_.Device(*device).collectives.push_back(collective);
}

// Marks of the host's allocator (type 0) are left out.
void KinetoRows::AddMemory(const TraceEvent& event) {
  const MemoryMark mark = ReadObject(event.arguments, kMemoryMark);
  const std::optional<std::int64_t> type = Integer(mark.type);
  const std::optional<std::int64_t> device = Integer(mark.device);
  const std::optional<std::int64_t> bytes = Integer(mark.reserved);
  if (type && *type != 0 && device && *device >= 0 && bytes) builder_.AddReserved(*device, *bytes);
}

// A step is an annotation by its name, "ProfilerStep#12".
void KinetoRows::AddHostRange(const TraceEvent& event, Interval span) {
  const std::string_view name = Name(event.name);
  if (const std::optional<std::int64_t> step = StepNumber(name)) {
    return builder_.AddStep({span.start, span.end, *step, FindProcess(event)});
  }
  const std::uint32_t thread = FindThread(event);
  // Annotations may mark the steps of a program that does not tell the profiler about them.
  if (event.category == kAnnotation) steps_.AddRange(name, span, thread, 0);
  builder_.AddHostRange(name, span, thread);
  builder_.AddScope(name, span, thread, event.category == kAnnotation ? ScopeKind::kRange : ScopeKind::kOperator);
  if (HasKnownWork(name))
    builder_.AddShapedOp(name, span, thread, WorkOf(name, ReadObject(event.arguments, kOpInputs)));
}

void KinetoRows::AddPythonFrame(const TraceEvent& event, Interval span) {
  const std::string_view name = Name(event.name);
  const std::uint32_t thread = FindThread(event);
  builder_.AddPythonFrame(name, span, thread);
  if (const std::optional<ScopeKind> kind = ScopeOfFrame(name)) builder_.AddScope(name, span, thread, *kind);
}

// A time that is finer than a nanosecond is rounded and counted.
std::optional<std::int64_t> KinetoRows::Time(std::string_view micros) {
  const std::optional<TraceNs> time = TraceMicrosToNs(micros);
  if (!time) {
    quality_.Count(QualityId::kBadRow, place_);
    return std::nullopt;
  }
  if (time->rounded) quality_.Count(QualityId::kRoundedTime, place_);
  return time->ns;
}

// Caches the last track. Building the text for every entry would cost more than reading it.
const std::string& KinetoRows::FindTrack(const TraceEvent& event) {
  if (track_.empty() || event.thread != track_thread_ || event.process != track_process_) {
    track_process_ = event.process;
    track_thread_ = event.thread;
    track_ = track_process_ + ":" + track_thread_;
    thread_.reset();
    process_.reset();
  }
  return track_;
}

std::uint32_t KinetoRows::FindThread(const TraceEvent& event) {
  const std::string& track = FindTrack(event);
  if (!thread_) thread_ = builder_.Thread(track);
  return *thread_;
}

std::uint16_t KinetoRows::FindProcess(const TraceEvent& event) {
  FindTrack(event);
  if (!process_) process_ = builder_.Process(track_process_);
  return *process_;
}

// Counts entries of unknown categories and names the most frequent one, so that a report says what a newer profiler
// wrote.
void KinetoRows::CountUnknown() {
  std::int64_t unknown = beyond_categories_.entries;
  std::string_view most;
  std::int64_t most_entries = 0;
  for (const auto& [category, seen] : categories_) {
    if (seen.role) continue;
    unknown += seen.entries;
    // Ties go to the first in the alphabet, because the order in a hash table is arbitrary.
    if (seen.entries < most_entries || (seen.entries == most_entries && category > most)) continue;
    most = category;
    most_entries = seen.entries;
  }
  if (unknown > 0) quality_.CountNamed(QualityId::kUnknownEvent, most.empty() ? "no category" : most, place_, unknown);
}

void KinetoRows::FindSteps(Profile& profile) {
  if (!profile.steps.empty() || profile.processes.size() > 1) return;
  for (const HostCall& call : profile.calls) {
    if (call.kind == CallKind::kLaunchKernel || call.kind == CallKind::kLaunchGraph) {
      steps_.AddLaunch(call.thread, call.start_ns);
    }
  }
  steps_.Choose();
  if (steps_.steps().size() < 2) return;
  profile.steps.assign(steps_.steps().begin(), steps_.steps().end());
  profile.step_marks.clear();
}

// What is only known at the end: unknown categories, ranges that never ended, shared device numbers. Without a base
// time a file relates to the wall clock if its stamps are on it.
void KinetoRows::Finish() {
  CountUnknown();
  Profile& header = builder_.header();
  for (const auto& [category, seen] : categories_) {
    if (seen.role == TraceRole::kForeign) header.foreign_accelerators.push_back(category);
  }
  std::sort(header.foreign_accelerators.begin(), header.foreign_accelerators.end());
  for (const auto& [track, open] : open_) {
    quality_.Count(QualityId::kUnpairedRange, place_, static_cast<std::int64_t>(open.stack.size()));
  }
  for (const auto& [number, users] : users_) {
    if (users.several) quality_.CountNamed(QualityId::kSharedDeviceNumber, std::to_string(number), place_);
  }
  if (!header.wall_base_ns && IsWallClock(earliest_ns_.value_or(0))) header.wall_base_ns = 0;
}

}  // namespace

// True for an object with one of the members that Kineto writes, or an array of entries. The list of events may begin
// beyond the first 64 KiB, so members that come before it count too.
bool SniffKineto(std::string_view head) {
  const auto has = [&](std::string_view word) { return head.find(word) != std::string_view::npos; };
  const char* const first = SkipBlanks(head.data(), head.data() + head.size());
  head.remove_prefix(static_cast<std::size_t>(first - head.data()));
  if (head.empty()) return false;
  if (head.front() == '{') return has("\"traceEvents\"") || has("\"deviceProperties\"") || has("\"schemaVersion\"");
  return head.front() == '[' && has("\"ph\"");
}

Result<Profile> ReadKineto(ByteSource& in, DataQuality& quality) { return ReadKineto(in, quality, TraceLimits()); }

// Entries and headers come in any order. What relates rows to each other is done after the last one.
Result<Profile> ReadKineto(ByteSource& in, DataQuality& quality, const TraceLimits& limits) {
  ProfileBuilder builder;
  TraceReader reader(in, kKinetoHeaders, limits);
  KinetoRows rows(in.name(), builder, quality);
  while (true) {
    const TraceReader::Item item = TRY(reader.Next());
    if (item == TraceReader::Item::kEnd) break;
    if (item == TraceReader::Item::kEvent) {
      rows.Add(reader.event());
    } else {
      ReadKinetoHeader(reader.header_key(), reader.header_value(), builder);
    }
  }
  const TraceTally& tally = reader.tally();
  if (!tally.found_events) {
    return Fail(in.name() + ": holds no traceEvents; export it again with prof.export_chrome_trace()");
  }
  rows.Finish();

  Profile profile = builder.Build();
  rows.FindSteps(profile);
  profile.file = in.name();
  profile.kind = ProfilerKind::kPyTorch;
  profile.profiler = "PyTorch profiler";
  profile.counter = "kineto.device_activity";
  profile.events_total = tally.events;
  profile.events_missing = CountLosses(tally, in, quality);
  quality.Count(QualityId::kAmbiguousLaunch, {&in.name()}, FindLaunchProcesses(profile));
  for (const ProfiledDevice& device : profile.devices) {
    if (!LaunchedBySeveral(device)) continue;
    quality.CountNamed(QualityId::kSharedDeviceNumber, std::to_string(device.id), {&in.name()});
  }
  quality.Count(QualityId::kAmbiguousLaunch, {&in.name()}, DropReusedIds(profile));
  return profile;
}

}  // namespace idleburn
