#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
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
#include "profile/step_finder.h"
#include "profile/trace_reader.h"
#include "telemetry/data_quality.h"
#include "text/number.h"
#include "text/strings.h"

namespace idleburn {
namespace {

// rocprofv3 of the ROCprofiler SDK writes one JSON document: an object for each process, with tables (agents, kernels,
// names of calls, texts of markers) and lists of records that refer to the tables by number. RocprofWalk delivers
// entries of tables and lists one by one, RocprofRows turns them into rows of a profile.

// A container that the walk enters. All but the first five are arrays of entries to deliver.
enum class RocprofAt : std::uint8_t {
  kRoot,
  kProcesses,
  kProcess,
  kStrings,
  kRecords,
  kAgents,
  kKernels,
  kNames,
  kMessages,
  kRows
};

// A member that the walk enters, if its value opens like that. All others may name users, hosts and files, and are
// skipped.
struct RocprofEdge {
  RocprofAt from;
  std::string_view key;
  char opens;
  RocprofAt to;
};
constexpr std::string_view kRocprofRoot = "rocprofiler-sdk-tool";
constexpr auto kRocprofEdges = std::to_array<RocprofEdge>({
    {RocprofAt::kRoot, kRocprofRoot, '[', RocprofAt::kProcesses},
    {RocprofAt::kRoot, kRocprofRoot, '{', RocprofAt::kProcess},
    {RocprofAt::kProcess, "agents", '[', RocprofAt::kAgents},
    {RocprofAt::kProcess, "kernel_symbols", '[', RocprofAt::kKernels},
    {RocprofAt::kProcess, "strings", '{', RocprofAt::kStrings},
    {RocprofAt::kProcess, "buffer_records", '{', RocprofAt::kRecords},
    {RocprofAt::kStrings, "buffer_records", '[', RocprofAt::kNames},
    {RocprofAt::kStrings, "marker_api", '[', RocprofAt::kMessages},
});

// What the rows of a list are.
enum class RocprofRole : std::uint8_t { kKernel, kCopy, kCall, kMarker };
struct RocprofList {
  std::string_view key;
  RocprofRole role;
};
constexpr auto kRocprofLists = std::to_array<RocprofList>({
    {"kernel_dispatch", RocprofRole::kKernel},
    {"memory_copy", RocprofRole::kCopy},
    {"hip_api", RocprofRole::kCall},
    {"hsa_api", RocprofRole::kCall},
    {"rccl_api", RocprofRole::kCall},
    {"marker_api", RocprofRole::kMarker},
});

// Walks over the document in constant memory, as TraceReader does over a Chrome trace. `in` must outlive it.
class RocprofWalk {
 public:
  enum class Item : std::uint8_t { kMetadata, kAgent, kKernel, kName, kMessage, kRow, kProcessEnd, kEnd };

  RocprofWalk(ByteSource& in, const TraceLimits& limits) : window_(in, limits.window), longest_(limits.longest) {}

  // Moves to the next entry. Nothing follows kEnd or an error of the source, which is the only error.
  Result<Item> Next();
  // The entry as written: an object, with kScanPad readable bytes behind it. Valid until the next call.
  [[nodiscard]] std::string_view value() const { return value_; }
  // What a row is.
  [[nodiscard]] RocprofRole role() const { return role_; }
  // Whether the tables of the process came already, so that the numbers in a row have a meaning.
  [[nodiscard]] bool HasTables() const {
    return passed_[RocprofAt::kAgents] && passed_[RocprofAt::kKernels] && passed_[RocprofAt::kStrings];
  }
  // Whether there was a member rocprofiler-sdk-tool.
  [[nodiscard]] bool found() const { return passed_[RocprofAt::kProcesses] || passed_[RocprofAt::kProcess]; }
  [[nodiscard]] const TraceTally& tally() const { return tally_; }

 private:
  enum class Step : std::uint8_t { kItem, kOn, kCut };
  struct Passed {
    std::array<bool, 10> at{};
    bool& operator[](RocprofAt place) { return at[static_cast<std::size_t>(place)]; }
    bool operator[](RocprofAt place) const { return at[static_cast<std::size_t>(place)]; }
  };

  // Each takes one step from the beginning of the window. kCut: more text is needed.
  Step Take();
  Step TakeMember(const char* p);
  Step TakeElement(const char* p);
  Step TakeWhole(const char* p, Item item);
  Step TakeSkipped();
  Step Leave(const char* p);
  Step Enter(const char* p, RocprofAt at);
  Step StartSkipping(const char* p);
  Step DropTo(const char* p, Step step = Step::kOn);
  // Nothing can be read from here on.
  Step GiveUp(const char* p);
  bool TooLong(const char* p, const char* end);
  [[nodiscard]] bool InArray() const {
    return path_.back() == RocprofAt::kProcesses || path_.back() >= RocprofAt::kAgents;
  }

  ScanWindow window_;
  std::size_t longest_;
  std::vector<RocprofAt> path_;
  const char* cut_ = nullptr;  // where the last step needed more text
  bool after_ = false;         // behind the document
  bool skipping_ = false;
  ValueSkipper skipper_;
  std::int64_t skipped_bytes_ = 0;
  Item item_ = Item::kEnd;
  std::string_view value_;
  RocprofRole role_ = RocprofRole::kKernel;
  Passed passed_;
  TraceTally tally_;
};

Result<RocprofWalk::Item> RocprofWalk::Next() {
  while (true) {
    const Step step = Take();
    if (step == Step::kItem) return item_;
    if (step == Step::kOn) continue;
    if (!skipping_ && !after_ && TooLong(cut_, window_.end())) {
      tally_.events += !path_.empty() && path_.back() == RocprofAt::kRows ? 1 : 0;
      StartSkipping(cut_);
      continue;
    }
    const bool more = TRY(window_.More());
    if (more) continue;
    if (after_) return Item::kEnd;
    tally_.unclosed = true;
    tally_.lost_bytes += static_cast<std::int64_t>(window_.size()) + (skipping_ ? skipped_bytes_ : 0);
    return Item::kEnd;
  }
}

RocprofWalk::Step RocprofWalk::Take() {
  if (skipping_) return TakeSkipped();
  const char* const end = window_.end();
  if (after_) {
    const char* const p = tally_.lost_bytes > 0 ? window_.begin() : SkipBlanks(window_.begin(), end);
    tally_.lost_bytes += static_cast<std::int64_t>(end - p);
    return DropTo(end, Step::kCut);
  }
  const char* const p = SkipBlanksAndCommas(window_.begin(), end);
  window_.DropTo(p);
  cut_ = p;
  if (p == end) return Step::kCut;
  if (path_.empty()) return *p == '{' ? Enter(p, RocprofAt::kRoot) : GiveUp(p);
  if (*p == (InArray() ? ']' : '}')) return Leave(p);
  return InArray() ? TakeElement(p) : TakeMember(p);
}

RocprofWalk::Step RocprofWalk::TakeMember(const char* p) {
  const char* const end = window_.end();
  if (*p != '"') return GiveUp(p);
  const char* const key_end = StringEnd(p + 1, end);
  if (key_end == nullptr) return Step::kCut;
  const std::string_view key(p + 1, static_cast<std::size_t>(key_end - p - 1));
  p = SkipBlanks(key_end + 1, end);
  if (p < end && *p != ':') return GiveUp(p);
  if (p < end) p = SkipBlanks(p + 1, end);
  if (p == end) return Step::kCut;
  cut_ = p;
  const RocprofAt at = path_.back();
  if (at == RocprofAt::kProcess && key == "metadata" && *p == '{') return TakeWhole(p, Item::kMetadata);
  for (const RocprofEdge& edge : kRocprofEdges) {
    if (edge.from == at && edge.key == key && edge.opens == *p) return Enter(p, edge.to);
  }
  for (const RocprofList& list : kRocprofLists) {
    if (at != RocprofAt::kRecords || list.key != key || *p != '[') continue;
    role_ = list.role;
    return Enter(p, RocprofAt::kRows);
  }
  return StartSkipping(p);
}

// An entry that is no object is dropped, and the next one is tried.
RocprofWalk::Step RocprofWalk::TakeElement(const char* p) {
  if (*p == '{' && path_.back() == RocprofAt::kProcesses) return Enter(p, RocprofAt::kProcess);
  if (*p != '{') {
    const char* const after = SkipValue(p, window_.end());
    if (after == nullptr) return Step::kCut;
    ++tally_.malformed;
    return DropTo(std::max(after, p + 1));  // a stray bracket is not a value
  }
  switch (path_.back()) {
    case RocprofAt::kAgents:
      return TakeWhole(p, Item::kAgent);
    case RocprofAt::kKernels:
      return TakeWhole(p, Item::kKernel);
    case RocprofAt::kNames:
      return TakeWhole(p, Item::kName);
    case RocprofAt::kMessages:
      return TakeWhole(p, Item::kMessage);
    default:
      return TakeWhole(p, Item::kRow);
  }
}

RocprofWalk::Step RocprofWalk::TakeWhole(const char* p, Item item) {
  const char* const after = SkipValue(p, window_.end());
  if (after == nullptr) return Step::kCut;
  tally_.events += item == Item::kRow ? 1 : 0;
  if (TooLong(p, after)) return DropTo(after);
  item_ = item;
  value_ = std::string_view(p, static_cast<std::size_t>(after - p));
  return DropTo(after, Step::kItem);
}

RocprofWalk::Step RocprofWalk::TakeSkipped() {
  if (window_.size() == 0) return Step::kCut;
  const char* const after = skipper_.Skip(window_.begin(), window_.end());
  if (after == nullptr) {
    skipped_bytes_ += static_cast<std::int64_t>(window_.size());
    return DropTo(window_.end(), Step::kCut);
  }
  skipping_ = false;
  return DropTo(after);
}

RocprofWalk::Step RocprofWalk::Leave(const char* p) {
  const bool process = path_.back() == RocprofAt::kProcess;
  path_.pop_back();
  after_ = path_.empty();
  item_ = Item::kProcessEnd;
  return DropTo(p + 1, process ? Step::kItem : Step::kOn);
}

RocprofWalk::Step RocprofWalk::Enter(const char* p, RocprofAt at) {
  if (at == RocprofAt::kProcess) passed_ = {};
  passed_[at] = true;
  path_.push_back(at);
  return DropTo(p + 1);
}

RocprofWalk::Step RocprofWalk::StartSkipping(const char* p) {
  skipper_ = {};
  skipped_bytes_ = 0;
  skipping_ = true;
  return DropTo(p);
}

RocprofWalk::Step RocprofWalk::DropTo(const char* p, Step step) {
  window_.DropTo(p);
  return step;
}

RocprofWalk::Step RocprofWalk::GiveUp(const char* p) {
  after_ = true;
  tally_.unclosed = !path_.empty();
  return DropTo(p);
}

bool RocprofWalk::TooLong(const char* p, const char* end) {
  const bool too_long = static_cast<std::size_t>(end - p) > longest_;
  tally_.too_long += too_long ? 1 : 0;
  return too_long;
}

// The members of an agent. Its type is 1 for a CPU, 2 for a GPU. The number counts GPUs of the machine. The name is
// that of the architecture ("gfx942"), the product that of the data sheet ("AMD Instinct MI300X").
struct AgentFields {
  std::string_view id;
  std::string_view type;
  std::string_view name;
  std::string_view product;
  std::string_view number;
};
constexpr auto kAgentFields = std::to_array<JsonField<AgentFields>>({
    {"id", &AgentFields::id},
    {"type", &AgentFields::type},
    {"name", &AgentFields::name},
    {"product_name", &AgentFields::product},
    {"logical_node_type_id", &AgentFields::number},
});

struct KernelFields {
  std::string_view id;
  std::string_view symbol;
  std::string_view formatted;
  std::string_view demangled;
};
constexpr auto kKernelFields = std::to_array<JsonField<KernelFields>>({
    {"kernel_id", &KernelFields::id},
    {"kernel_name", &KernelFields::symbol},
    {"formatted_kernel_name", &KernelFields::formatted},
    {"demangled_kernel_name", &KernelFields::demangled},
});

// The names of the operations of one kind of record, by number.
struct NameFields {
  std::string_view operations;
};
constexpr auto kNameFields = std::to_array<JsonField<NameFields>>({{"operations", &NameFields::operations}});

// The text of a marker, by the correlation id of its record.
struct MessageFields {
  std::string_view key;
  std::string_view value;
};
constexpr auto kMessageFields =
    std::to_array<JsonField<MessageFields>>({{"key", &MessageFields::key}, {"value", &MessageFields::value}});

struct MetadataFields {
  std::string_view pid;
};
constexpr auto kMetadataFields = std::to_array<JsonField<MetadataFields>>({{"pid", &MetadataFields::pid}});

struct RecordFields {
  std::string_view kind;
  std::string_view operation;
  std::string_view thread;
  std::string_view correlation;  // an object
  std::string_view start;        // nanoseconds, like the end
  std::string_view end;
  std::string_view dispatch;  // an object, of kernels
  std::string_view to;        // of copies
  std::string_view from;
  std::string_view bytes;
  std::string_view stream;
};
constexpr auto kRecordFields = std::to_array<JsonField<RecordFields>>({
    {"kind", &RecordFields::kind},
    {"operation", &RecordFields::operation},
    {"thread_id", &RecordFields::thread},
    {"correlation_id", &RecordFields::correlation},
    {"start_timestamp", &RecordFields::start},
    {"end_timestamp", &RecordFields::end},
    {"dispatch_info", &RecordFields::dispatch},
    {"dst_agent_id", &RecordFields::to},
    {"src_agent_id", &RecordFields::from},
    {"bytes", &RecordFields::bytes},
    {"stream_id", &RecordFields::stream},
});

struct DispatchFields {
  std::string_view agent;
  std::string_view queue;
  std::string_view kernel;
};
constexpr auto kDispatchFields = std::to_array<JsonField<DispatchFields>>({
    {"agent_id", &DispatchFields::agent},
    {"queue_id", &DispatchFields::queue},
    {"kernel_id", &DispatchFields::kernel},
});

// An id is a number, or an object with one: {"handle": 7}, {"internal": 7}.
struct IdFields {
  std::string_view handle;
  std::string_view internal;
};
constexpr auto kIdFields =
    std::to_array<JsonField<IdFields>>({{"handle", &IdFields::handle}, {"internal", &IdFields::internal}});
std::string_view RocprofId(std::string_view text) {
  if (text.empty() || text.front() != '{') return text;
  const IdFields id = ReadObject(text, kIdFields);
  return id.handle.empty() ? id.internal : id.handle;
}

// Kernels with which the HIP runtime copies and sets memory.
struct RuntimeKernel {
  std::string_view prefix;
  DeviceOp op;
};
constexpr auto kRuntimeKernels = std::to_array<RuntimeKernel>(
    {{"__amd_rocclr_copyBuffer", DeviceOp::kMemcpy}, {"__amd_rocclr_fillBuffer", DeviceOp::kMemset}});

// A longer text of a marker is cut.
constexpr std::size_t kLongestMessage = 512;

// Turns entries into rows of a profile. `file` is its name. All references outlive the rows.
class RocprofRows {
 public:
  RocprofRows(const std::string& file, ProfileBuilder& builder, DataQuality& quality)
      : place_{&file}, builder_(builder), quality_(quality) {}

  // Adds an entry. Rows that come before the tables of their process wait for them.
  void Add(const RocprofWalk& walk, RocprofWalk::Item item);
  // Call after the last entry, before the profile is built. True if copies must be missing.
  bool Finish();

 private:
  // A record without its texts.
  struct Row {
    Interval at;
    std::int64_t correlation = kNoCorrelation;
    std::int64_t bytes = 0;
    std::int64_t kernel = -1;
    std::uint64_t kind = 0;
    std::uint64_t operation = 0;
    std::uint32_t from = 0;  // agents; of a kernel: where it ran
    std::uint32_t to = 0;
    std::uint32_t thread = 0;
    std::uint32_t stream = 0;
    RocprofRole role = RocprofRole::kKernel;
  };
  struct Agent {
    bool known = false;
    bool gpu = false;
    std::int64_t device = 0;
  };
  struct Kernel {
    NameId name = kNoName;
    DeviceOp op = DeviceOp::kKernel;
  };
  struct Operation {
    std::string name;
    CallKind kind = CallKind::kOther;
  };
  // A range of ROCTX. All are known before steps can be found among them.
  struct Marker {
    Interval at;
    std::uint32_t text = 0;  // index into texts_
    std::uint32_t thread = 0;
    std::uint16_t process = 0;
  };

  void AddAgent(std::string_view text);
  void AddKernelName(std::string_view text);
  void AddNames(std::string_view text);
  void AddMessage(std::string_view text);
  // Absent, and counted, if it is not a record with times.
  std::optional<Row> Parse(std::string_view text, RocprofRole role);
  void AddRow(const Row& row);
  void AddKernel(const Row& row);
  void AddCopy(const Row& row);
  void AddCall(const Row& row);
  void AddMarker(const Row& row);
  void AddDeviceEvent(const Row& row, const Agent& agent, DeviceEvent event);
  // Adds the rows that waited, and forgets the tables of the process.
  void EndProcess();
  std::uint32_t FindAgent(std::string_view id);
  std::uint32_t FindText(std::string_view text);
  [[nodiscard]] const Operation* FindOperation(const Row& row) const;
  void CountBadRow() { quality_.Count(QualityId::kBadRow, place_); }

  Place place_;
  ProfileBuilder& builder_;
  DataQuality& quality_;
  StepFinder steps_;
  std::string scratch_;
  // Of the file.
  RowBlocks<Marker> markers_;
  std::vector<std::string> texts_;
  std::unordered_map<std::string, std::uint32_t, TextHash, std::equal_to<>> text_ids_;
  std::int64_t copies_ = 0;
  std::int64_t copy_calls_ = 0;
  // Of the process.
  std::uint16_t process_ = 0;
  bool named_ = false;
  std::map<std::string, std::uint32_t, std::less<>> agent_ids_;
  std::vector<Agent> agents_;
  std::int64_t gpus_ = 0;
  std::unordered_map<std::int64_t, Kernel> kernels_;
  std::vector<std::vector<Operation>> operations_;
  std::unordered_map<std::int64_t, std::uint32_t> messages_;  // by correlation id
  RowBlocks<Row> waiting_;
};

void RocprofRows::Add(const RocprofWalk& walk, RocprofWalk::Item item) {
  switch (item) {
    case RocprofWalk::Item::kMetadata:
      process_ = builder_.Process(ReadObject(walk.value(), kMetadataFields).pid);
      named_ = true;
      return;
    case RocprofWalk::Item::kAgent:
      return AddAgent(walk.value());
    case RocprofWalk::Item::kKernel:
      return AddKernelName(walk.value());
    case RocprofWalk::Item::kName:
      return AddNames(walk.value());
    case RocprofWalk::Item::kMessage:
      return AddMessage(walk.value());
    case RocprofWalk::Item::kRow: {
      const std::optional<Row> row = Parse(walk.value(), walk.role());
      if (row && named_ && walk.HasTables()) return AddRow(*row);
      if (row) waiting_.Add(*row);
      return;
    }
    case RocprofWalk::Item::kProcessEnd:
    case RocprofWalk::Item::kEnd:
      return EndProcess();
  }
}

std::uint32_t RocprofRows::FindAgent(std::string_view id) {
  if (const auto found = agent_ids_.find(id); found != agent_ids_.end()) return found->second;
  agents_.emplace_back();
  return agent_ids_.emplace(std::string(id), static_cast<std::uint32_t>(agents_.size() - 1)).first->second;
}

// GPUs have the number of the file, or without one their place among the GPUs.
void RocprofRows::AddAgent(std::string_view text) {
  constexpr std::int64_t kGpu = 2;
  const AgentFields fields = ReadObject(text, kAgentFields);
  Agent& agent = agents_[FindAgent(RocprofId(fields.id))];
  agent.known = true;
  agent.gpu = ParseInteger(fields.type) == kGpu;
  if (!agent.gpu) return;
  agent.device = ParseInteger(fields.number).value_or(gpus_);
  ++gpus_;
  ProfiledDevice& device = builder_.Device(agent.device);
  const std::string_view product = Unescape(fields.product, scratch_);
  // The driver of another vendor has no agents here.
  device.model = product.empty() ? "AMD " + std::string(Unescape(fields.name, scratch_)) : std::string(product);
}

// The readable name, without the suffix of its descriptor.
void RocprofRows::AddKernelName(std::string_view text) {
  const KernelFields fields = ReadObject(text, kKernelFields);
  const std::optional<std::int64_t> id = ParseInteger(fields.id);
  if (!id) return CountBadRow();
  const std::string_view written = !fields.demangled.empty()   ? fields.demangled
                                   : !fields.formatted.empty() ? fields.formatted
                                                               : fields.symbol;
  std::string_view name = Unescape(written, scratch_);
  if (constexpr std::string_view kDescriptor = ".kd"; name.ends_with(kDescriptor)) {
    name.remove_suffix(kDescriptor.size());
  }
  Kernel& kernel = kernels_[*id];
  kernel.name = builder_.Intern(name);
  for (const RuntimeKernel& row : kRuntimeKernels) {
    if (name.starts_with(row.prefix)) kernel.op = row.op;
  }
}

void RocprofRows::AddNames(std::string_view text) {
  std::vector<Operation>& names = operations_.emplace_back();
  const std::string_view list = ReadObject(text, kNameFields).operations;
  if (list.empty() || list.front() != '[') return;
  const char* const end = list.data() + list.size();
  for (const char* p = list.data() + 1; (p = SkipBlanksAndCommas(p, end)) < end && *p == '"';) {
    std::string_view name;
    p = ReadText(p, end, name);
    if (p == nullptr) return;
    names.push_back({std::string(Unescape(name, scratch_)), CallKindOf(name)});
  }
}

std::uint32_t RocprofRows::FindText(std::string_view text) {
  if (const auto found = text_ids_.find(text); found != text_ids_.end()) return found->second;
  texts_.emplace_back(text);
  return text_ids_.emplace(texts_.back(), static_cast<std::uint32_t>(texts_.size() - 1)).first->second;
}

void RocprofRows::AddMessage(std::string_view text) {
  const MessageFields fields = ReadObject(text, kMessageFields);
  const std::optional<std::int64_t> key = ParseInteger(fields.key);
  if (!key) return CountBadRow();
  messages_[*key] = FindText(Unescape(fields.value, scratch_).substr(0, kLongestMessage));
}

// A record without times, such as of a kernel that never ran, has zeros.
std::optional<RocprofRows::Row> RocprofRows::Parse(std::string_view text, RocprofRole role) {
  RecordFields fields;
  const char* p = text.data();
  const Scan scan = ReadFields(p, p + text.size(), kRecordFields, fields);
  const std::optional<std::int64_t> start = ParseInteger(fields.start);
  const std::optional<std::int64_t> end = ParseInteger(fields.end);
  if (scan != Scan::kWhole || !start || !end || *start <= 0 || *end <= 0) return CountBadRow(), std::nullopt;
  const std::optional<Interval> at = EventRange(*start, *end, quality_, place_);
  if (!at) return std::nullopt;
  Row row;
  row.at = *at;
  row.role = role;
  const std::int64_t correlation = ParseInteger(RocprofId(fields.correlation)).value_or(0);
  row.correlation = correlation > 0 ? correlation : kNoCorrelation;
  constexpr auto kNone = std::numeric_limits<std::int64_t>::max();
  row.kind = static_cast<std::uint64_t>(ParseInteger(fields.kind).value_or(kNone));
  row.operation = static_cast<std::uint64_t>(ParseInteger(fields.operation).value_or(kNone));
  std::string_view stream = RocprofId(fields.stream);
  if (role == RocprofRole::kKernel) {
    const DispatchFields dispatch = ReadObject(fields.dispatch, kDispatchFields);
    row.from = row.to = FindAgent(RocprofId(dispatch.agent));
    row.kernel = ParseInteger(dispatch.kernel).value_or(-1);
    if (stream.empty()) stream = RocprofId(dispatch.queue);
  } else if (role == RocprofRole::kCopy) {
    row.from = FindAgent(RocprofId(fields.from));
    row.to = FindAgent(RocprofId(fields.to));
    row.bytes = std::max<std::int64_t>(ParseInteger(fields.bytes).value_or(0), 0);
  } else {
    row.thread = builder_.Thread(fields.thread);
  }
  // Streams need only be told apart; handles of one process differ in their low bits.
  row.stream = static_cast<std::uint32_t>(ParseInteger(stream).value_or(0));
  return row;
}

void RocprofRows::AddRow(const Row& row) {
  switch (row.role) {
    case RocprofRole::kKernel:
      return AddKernel(row);
    case RocprofRole::kCopy:
      return AddCopy(row);
    case RocprofRole::kCall:
      return AddCall(row);
    case RocprofRole::kMarker:
      return AddMarker(row);
  }
}

void RocprofRows::AddKernel(const Row& row) {
  const auto found = kernels_.find(row.kernel);
  const Kernel kernel = found == kernels_.end() ? Kernel() : found->second;
  DeviceEvent event;
  event.name = kernel.name;
  event.op = kernel.op;
  if (kernel.op == DeviceOp::kMemcpy) event.copy = CopyKind::kOther;
  copies_ += kernel.op == DeviceOp::kMemcpy ? 1 : 0;
  const Agent& agent = agents_[row.from];
  if (!agent.gpu) return CountBadRow();
  AddDeviceEvent(row, agent, event);
}

// The agents tell the direction. A copy between two GPUs counts on the one that it reads. A copy within the host is no
// work of a GPU.
void RocprofRows::AddCopy(const Row& row) {
  ++copies_;
  const Agent& from = agents_[row.from];
  const Agent& to = agents_[row.to];
  if (!from.known || !to.known) return CountBadRow();
  if (!from.gpu && !to.gpu) return;
  DeviceEvent event;
  event.op = DeviceOp::kMemcpy;
  event.copy = !from.gpu            ? CopyKind::kHtoD
               : !to.gpu            ? CopyKind::kDtoH
               : row.from == row.to ? CopyKind::kDtoD
                                    : CopyKind::kPtoP;
  event.from = from.gpu ? MemoryKind::kDevice : MemoryKind::kUnknown;
  event.to = to.gpu ? MemoryKind::kDevice : MemoryKind::kUnknown;
  event.bytes = row.bytes;
  event.name = builder_.Intern("Memcpy " + std::string(Name(event.copy)));
  AddDeviceEvent(row, from.gpu ? from : to, event);
}

void RocprofRows::AddDeviceEvent(const Row& row, const Agent& agent, DeviceEvent event) {
  event.start_ns = row.at.start;
  event.end_ns = row.at.end;
  event.correlation = row.correlation;
  event.stream = row.stream;
  event.process = process_;
  builder_.AddDeviceEvent(agent.device, event);
}

const RocprofRows::Operation* RocprofRows::FindOperation(const Row& row) const {
  if (row.kind >= operations_.size() || row.operation >= operations_[row.kind].size()) return nullptr;
  return &operations_[row.kind][row.operation];
}

void RocprofRows::AddCall(const Row& row) {
  const Operation* const operation = FindOperation(row);
  const CallKind kind = operation == nullptr ? CallKind::kOther : operation->kind;
  builder_.AddCall(operation == nullptr ? std::string_view() : operation->name,
                   {row.at.start, row.at.end, row.correlation, row.thread, process_, kind});
  copy_calls_ += kind == CallKind::kMemcpy ? 1 : 0;
  if (kind == CallKind::kLaunchKernel || kind == CallKind::kLaunchGraph) steps_.AddLaunch(row.thread, row.at.start);
}

// A record with a text is a range from push to pop, or from start to stop, or a mark. Others pause the profiler or name
// a thread.
void RocprofRows::AddMarker(const Row& row) {
  const auto message = messages_.find(row.correlation);
  const Operation* const operation = FindOperation(row);
  const bool mark = operation != nullptr && operation->name.starts_with("roctxMark");
  if (message == messages_.end() || mark) return;
  markers_.Add({row.at, message->second, row.thread, process_});
  steps_.AddRange(texts_[message->second], row.at, row.thread, process_);
}

void RocprofRows::EndProcess() {
  if (!named_ && waiting_.size() > 0) process_ = builder_.Process("");
  for (const Row& row : waiting_.Take()) AddRow(row);
  named_ = false;
  agent_ids_.clear();
  agents_.clear();
  gpus_ = 0;
  kernels_.clear();
  operations_.clear();
  messages_.clear();
}

bool RocprofRows::Finish() {
  steps_.Choose();
  for (const ProfiledStep& step : steps_.steps()) builder_.AddStep(step);
  for (const Marker& marker : markers_.Take()) {
    const std::string& name = texts_[marker.text];
    if (steps_.IsStep(name, marker.thread)) continue;
    builder_.AddHostRange(name, marker.at, marker.thread);
    builder_.AddScope(name, marker.at, marker.thread, ScopeOfNvtx(name));
  }
  if (copy_calls_ == 0 || copies_ > 0) return false;
  quality_.CountNamed(QualityId::kProfilerWarning, "calls copy, but no copy is in the file", place_);
  return true;
}

}  // namespace

// The first member decides. A Chrome trace may have the same word anywhere else.
bool SniffRocprof(std::string_view head) {
  const char* const end = head.data() + head.size();
  const char* p = SkipBlanks(head.data(), end);
  if (p == end || *p != '{') return false;
  p = SkipBlanks(p + 1, end);
  return std::string_view(p, static_cast<std::size_t>(end - p)).starts_with("\"" + std::string(kRocprofRoot) + "\"");
}

Result<Profile> ReadRocprof(ByteSource& in, DataQuality& quality) { return ReadRocprof(in, quality, TraceLimits()); }

Result<Profile> ReadRocprof(ByteSource& in, DataQuality& quality, const TraceLimits& limits) {
  ProfileBuilder builder;
  RocprofWalk walk(in, limits);
  RocprofRows rows(in.name(), builder, quality);
  RocprofWalk::Item item = RocprofWalk::Item::kRow;
  while (item != RocprofWalk::Item::kEnd) {
    item = TRY(walk.Next());
    rows.Add(walk, item);
  }
  if (!walk.found()) {
    return Fail(in.name() + ": holds no records of rocprofv3; record again with rocprofv3 --output-format json");
  }
  const bool copies_missing = rows.Finish();
  Profile profile = builder.Build();
  profile.file = in.name();
  profile.kind = ProfilerKind::kRocprof;
  profile.profiler = "rocprofv3";
  profile.counter = "rocprof.device_activity";
  profile.events_total = walk.tally().events;
  profile.events_missing = CountLosses(walk.tally(), in, quality) || copies_missing;
  quality.Count(QualityId::kAmbiguousLaunch, {&in.name()}, DropReusedIds(profile));
  return profile;
}

}  // namespace idleburn
