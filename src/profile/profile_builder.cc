#include "profile/profile_builder.h"

#include <algorithm>
#include <limits>
#include <set>
#include <tuple>
#include <utility>

#include "base/result.h"
#include "profile/profile.h"
#include "profile/trace_terms.h"

namespace idleburn {

// Everything is kept in the order of the file and in compact rows, because a trace may have many millions of entries.
// Names are stored once; host ranges are united as they come.

std::optional<Interval> EventRange(std::int64_t start_ns, std::int64_t end_ns, DataQuality& quality, Place place) {
  constexpr std::int64_t kFarthest = std::int64_t{1} << 61;  // beyond this, differences of times could overflow
  if (start_ns < -kFarthest || start_ns > kFarthest || end_ns < -kFarthest || end_ns > kFarthest) {
    quality.Count(QualityId::kBadRow, place);
    return std::nullopt;
  }
  if (end_ns - start_ns > kLongestEventNs) {
    quality.Count(QualityId::kLongDuration, place);
    return std::nullopt;
  }
  if (end_ns < start_ns) {
    quality.Count(QualityId::kNegativeDuration, place);
    end_ns = start_ns;
  }
  return Interval{start_ns, end_ns};
}

namespace {

// A process may have a step twice, because some profilers write one more than once. The longest is kept.
void KeepLongest(std::vector<ProfiledStep>& steps) {
  std::map<std::tuple<std::uint16_t, std::int64_t, std::int64_t>, ProfiledStep> longest;
  for (const ProfiledStep& step : steps) {
    const auto [at, is_new] = longest.try_emplace({step.process, step.device, step.number}, step);
    if (!is_new && step.end_ns - step.start_ns > at->second.end_ns - at->second.start_ns) at->second = step;
  }
  steps.clear();
  for (const auto& [key, step] : longest) steps.push_back(step);
  std::sort(steps.begin(), steps.end(),
            [](const ProfiledStep& a, const ProfiledStep& b) { return a.start_ns < b.start_ns; });
}

// Stands for the thread that waits for its input, whichever it is. TensorFlow runs that wait in any thread of a pool.
constexpr std::uint32_t kConsumer = std::numeric_limits<std::uint32_t>::max();

// Names whose terms are kept. A trace has some hundreds of operators; annotations with numbers could be many.
constexpr std::size_t kMostNames = 8192;
constexpr std::size_t kMostMarks = std::size_t{1} << 20;
// A compiler works for longer than that, and shorter frames are not worth their look-up.
constexpr std::int64_t kShortestCompileNs = 100'000;

// The order of the heap of frames, with the shortest on top.
bool Longer(const HostFrame& a, const HostFrame& b) { return a.end_ns - a.start_ns > b.end_ns - b.start_ns; }

}  // namespace

NameId ProfileBuilder::Intern(std::string_view name) {
  if (const auto found = names_.find(name); found != names_.end()) return found->second;
  const auto id = static_cast<NameId>(profile_.names.size());
  profile_.names.emplace_back(name);
  names_.emplace(std::string(name), id);
  return id;
}

std::uint32_t ProfileBuilder::Thread(std::string_view name) {
  if (const auto found = threads_.find(name); found != threads_.end()) return found->second;
  const auto id = static_cast<std::uint32_t>(profile_.threads.size());
  profile_.threads.emplace_back(name);
  threads_.emplace(std::string(name), id);
  return id;
}

std::uint16_t ProfileBuilder::Process(std::string_view name) {
  if (const auto found = processes_.find(name); found != processes_.end()) {
    return static_cast<std::uint16_t>(found->second);
  }
  // No capture has more processes than that. If one did, the last ones would share an index.
  const std::size_t id = std::min<std::size_t>(profile_.processes.size(), std::numeric_limits<std::uint16_t>::max());
  if (id == profile_.processes.size()) profile_.processes.emplace_back(name);
  processes_.emplace(std::string(name), static_cast<std::uint32_t>(id));
  return static_cast<std::uint16_t>(id);
}

ProfiledDevice& ProfileBuilder::Device(std::int64_t id) {
  ProfiledDevice& device = devices_[id].device;
  device.id = id;
  return device;
}

// Caches IsCommKernel by name.
bool ProfileBuilder::Communicates(NameId kernel) {
  if (communicates_.size() <= kernel) communicates_.resize(profile_.names.size());
  std::optional<bool>& known = communicates_[kernel];
  if (!known) known = IsCommKernel(profile_.names[kernel]);
  return *known;
}

const RangeTerms& ProfileBuilder::TermsOf(std::string_view name) {
  if (const auto found = terms_.find(name); found != terms_.end()) return found->second;
  if (terms_.size() == kMostNames) return other_terms_ = ReadRangeTerms(name);
  return terms_.emplace(std::string(name), ReadRangeTerms(name)).first->second;
}

CallKind ProfileBuilder::KindOf(std::string_view call) {
  if (const auto found = call_kinds_.find(call); found != call_kinds_.end()) return found->second;
  const CallKind kind = CallKindOf(call);
  if (call_kinds_.size() < kMostNames) call_kinds_.emplace(std::string(call), kind);
  return kind;
}

// The index is final, because Build keeps the order of the file. Collectives refer to it.
std::size_t ProfileBuilder::AddDeviceEvent(std::int64_t id, DeviceEvent event) {
  CHECK(event.end_ns >= event.start_ns && event.name < profile_.names.size());
  if (event.op == DeviceOp::kKernel && Communicates(event.name)) event.op = DeviceOp::kComm;
  Cover(event.start_ns, event.end_ns);
  PendingDevice& pending = devices_[id];
  pending.device.id = id;
  pending.events.Add(event);
  return pending.events.size() - 1;
}

void ProfileBuilder::AddCall(std::string_view name, HostCall call) {
  call.kind = KindOf(name);
  Cover(call.start_ns, call.end_ns);
  calls_.Add(call);
}

void ProfileBuilder::AddReserved(std::int64_t id, std::int64_t bytes) {
  std::optional<std::int64_t>& most = devices_[id].device.most_reserved_bytes;
  devices_[id].device.id = id;
  most = std::max(most.value_or(0), bytes);
}

// The same range may be an operator, a loader and a scalar read: the sets answer different questions.
void ProfileBuilder::AddHostRange(std::string_view name, Interval range, std::uint32_t thread) {
  const RangeTerms& terms = TermsOf(name);
  cpu_op_.Add(range);
  Cover(range.start, range.end);
  if (terms.loader) {
    dataloader_.Add(range);
    loaders_[terms.input_pipeline ? kConsumer : thread].Add(range);
    ++profile_.dataloader_events;
  }
  if (terms.scalar_read) scalar_read_.Add(range);
  if (terms.compiling) compiling_.Add(range);
  if (terms.optimizer) {
    optimizer_.Add(range);
    std::vector<std::int64_t>& starts = marks_[std::string(name)];
    if (starts.size() < kMostMarks) starts.push_back(range.start);
  }
  comm_.Add(thread, range, terms);
  if (!TooShort(range)) KeepFrame({range.start, range.end, Intern(name), thread, false});
}

void ProfileBuilder::AddPythonFrame(std::string_view name, Interval range, std::uint32_t thread) {
  Cover(range.start, range.end);
  if (range.Ns() >= kShortestCompileNs && IsCompilerFrame(name)) compiling_.Add(range);
  if (!TooShort(range)) KeepFrame({range.start, range.end, Intern(name), thread, true});
}

// A range without length holds no launch.
void ProfileBuilder::AddScope(std::string_view name, Interval range, std::uint32_t thread, ScopeKind kind) {
  constexpr std::uint32_t kMostThreads = std::uint32_t{1} << 30;
  if (range.Ns() <= 0) return;
  name = name.substr(0, kLongestScopeName);
  auto known = scope_names_.find(name);
  const bool full = scopes_.size() == kKeptScopes || thread >= kMostThreads;
  if (full || (known == scope_names_.end() && scope_names_.size() == kScopeNames)) {
    ++profile_.scopes_left_out;
    return;
  }
  if (known == scope_names_.end()) known = scope_names_.emplace(std::string(name), Intern(name)).first;
  NamedScope scope{range.start, range.end, known->second};
  scope.thread = thread & (kMostThreads - 1);
  scope.kind = static_cast<std::uint32_t>(kind) & (kScopeKinds - 1);
  scopes_.Add(scope);
}

void ProfileBuilder::AddShapedOp(std::string_view name, Interval range, std::uint32_t thread,
                                 const std::optional<OpWork>& work) {
  if (!work || shaped_.size() == kKeptShapedOps) {
    ++profile_.shapes_missing;
    return;
  }
  shaped_.Add({range.start, range.end, *work, Intern(name), thread});
}

void ProfileBuilder::AddStep(const ProfiledStep& step) {
  Cover(step.start_ns, step.end_ns);
  profile_.steps.push_back(step);
}

// Asked before a name is interned, so that names of short frames take no memory.
bool ProfileBuilder::TooShort(Interval range) const {
  return range.Ns() <= 0 ||
         (frames_.size() == kKeptFrames && range.Ns() <= frames_.front().end_ns - frames_.front().start_ns);
}

// Keeps the kKeptFrames longest frames. The heap is made when it is full, so a short trace needs none.
void ProfileBuilder::KeepFrame(const HostFrame& frame) {
  if (frames_.size() == kKeptFrames) {
    std::pop_heap(frames_.begin(), frames_.end(), Longer);
    frames_.back() = frame;
    std::push_heap(frames_.begin(), frames_.end(), Longer);
    return;
  }
  frames_.push_back(frame);
  if (frames_.size() == kKeptFrames) std::make_heap(frames_.begin(), frames_.end(), Longer);
}

// A thread that launches kernels waits in its loader. If no thread launches, every loader counts as waited for.
IntervalSet ProfileBuilder::TakeLoaderAhead() {
  std::set<std::uint32_t> launching = {kConsumer};
  bool any = false;
  for (const HostCall& call : profile_.calls) {
    const bool launch = call.kind == CallKind::kLaunchKernel || call.kind == CallKind::kLaunchGraph;
    if (launch && loaders_.contains(call.thread)) launching.insert(call.thread);
    any = any || launch;
  }
  IntervalSet waited;
  IntervalSet ahead;
  for (auto& [thread, loader] : loaders_) {
    IntervalSet& of = !any || launching.contains(thread) ? waited : ahead;
    of = Union(of, loader.Take());
  }
  return Difference(ahead, waited);
}

// Ranges of a graph launch tell nothing: one launch has compute and communication.
void ProfileBuilder::TakeCollectives() {
  if (!comm_.any() || profile_.processes.size() > 1) return;
  std::unordered_map<std::int64_t, CommRanges::Under> under;  // by correlation id
  for (const HostCall& call : profile_.calls) {
    if (call.kind != CallKind::kLaunchKernel || call.correlation == kNoCorrelation) continue;
    if (const auto found = comm_.At(call.thread, call.start_ns)) under.emplace(call.correlation, *found);
  }
  for (ProfiledDevice& device : profile_.devices) NameCollectives(device, under);
}

// A collective that the file describes keeps its description, which says more.
void ProfileBuilder::NameCollectives(ProfiledDevice& device,
                                     const std::unordered_map<std::int64_t, CommRanges::Under>& under) {
  std::vector<Collective> all;
  auto described = device.collectives.begin();  // by event
  for (std::size_t i = 0; i < device.events.size(); ++i) {
    DeviceEvent& event = device.events[i];
    if (described != device.collectives.end() && described->event == i) {
      all.push_back(*described++);
      continue;
    }
    if (event.op != DeviceOp::kKernel && event.op != DeviceOp::kComm) continue;
    const auto found = under.find(event.correlation);
    if (found == under.end()) continue;
    if (found->second.communicates) event.op = DeviceOp::kComm;
    if (event.op != DeviceOp::kComm || found->second.collective.empty()) continue;
    all.push_back({i, kNoName, Intern(found->second.collective), std::nullopt, -1});
  }
  device.collectives = std::move(all);
}

void ProfileBuilder::TakeMarks() {
  if (!profile_.steps.empty()) return;
  for (auto& [name, starts] : marks_) {
    if (starts.size() <= profile_.step_marks.size()) continue;
    profile_.step_marks = starts;
    profile_.step_mark_name = name;
  }
  std::sort(profile_.step_marks.begin(), profile_.step_marks.end());
}

// Devices that were only described, or only have memory, are left out.
Profile ProfileBuilder::Build() {
  if (profile_.processes.empty()) Process("");  // for rows of a file that names none
  std::sort(frames_.begin(), frames_.end(),
            [](const HostFrame& a, const HostFrame& b) { return a.start_ns < b.start_ns; });
  profile_.frames = std::move(frames_);
  profile_.calls = calls_.Take();
  profile_.scopes = scopes_.Take();
  profile_.shaped = shaped_.Take();
  for (auto& [id, pending] : devices_) {
    if (pending.events.size() == 0) {
      if (pending.watched) profile_.without_events.push_back(id);
      continue;
    }
    pending.device.events = pending.events.Take();
    profile_.devices.push_back(std::move(pending.device));
  }
  KeepLongest(profile_.steps);
  profile_.host = {dataloader_.Take(), TakeLoaderAhead(), cpu_op_.Take(),   scalar_read_.Take(),
                   overhead_.Take(),   compiling_.Take(), optimizer_.Take()};
  if (recorded_.start <= recorded_.end) profile_.recorded = recorded_;
  TakeCollectives();
  TakeMarks();
  Profile done = std::move(profile_);
  *this = ProfileBuilder();
  return done;
}

}  // namespace idleburn
