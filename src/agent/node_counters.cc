#include "agent/node_counters.h"

#include <algorithm>
#include <utility>

#include "classify/cause_limits.h"

namespace idleburn {
namespace {

constexpr std::int64_t kKeptScrapes = 3;    // of a job after its end
constexpr std::int64_t kKeptSeconds = 600;  // if nobody scrapes

std::int64_t UnitsOf(std::int64_t ms, const NodeGpuShare& gpu) { return ms * kUnitsPerMs * gpu.slices / gpu.of_slices; }

void AddTo(const PhaseUnits& amount, PhaseUnits* sum) {
  for (std::size_t i = 0; i < kAgentPhaseCount; ++i) (*sum)[i] += amount[i];
}

template <std::size_t N>
void AddUnits(const std::array<std::int64_t, N>& ms, const NodeGpuShare& gpu, std::array<std::int64_t, N>* sum) {
  for (std::size_t i = 0; i < N; ++i) (*sum)[i] += UnitsOf(ms[i], gpu);
}

// The piece of `amount` between two milliseconds of its second. Pieces that follow each other sum to the whole.
std::int64_t PieceOf(std::int64_t amount, std::int64_t from_ms, std::int64_t to_ms) {
  return amount * to_ms / kMsPerSecond - amount * from_ms / kMsPerSecond;
}

}  // namespace

NodeCounters::NodeCounters(std::int64_t born, std::int64_t period, OwnerCaps caps)
    : period_(period), caps_(caps), epoch_(born), next_(born), changes_{Change{born * kMsPerSecond, {}}} {
  for (const std::string_view team : {kUnallocatedTeam, kUnknownTeam}) teams_[std::string(team)].born = born;
}

std::size_t NodeCounters::Enter(const NodeGpuShare& gpu) {
  for (std::size_t i = 0; i < gpus_.size(); ++i) {
    if (gpus_[i].gpu.uuid != gpu.uuid) continue;
    gpus_[i].gpu = gpu;
    return i;
  }
  gpus_.emplace_back();
  gpus_.back().gpu = gpu;
  gpus_.back().born = next_;
  return gpus_.size() - 1;
}

// A job that began since the last call owns its GPUs from its own start. All else changes at the time of the call.
void NodeCounters::Hold(std::int64_t at_ms, const Holdings& holdings) {
  const Change& last = changes_.back();
  const std::int64_t before = std::max(last.at_ms, next_ * kMsPerSecond);
  const std::int64_t now = std::max(at_ms, before);
  std::vector<Parts> wanted(gpus_.size());
  std::map<std::int64_t, std::vector<std::size_t>> at;  // by time: the places that change then
  for (std::size_t place = 0; place < gpus_.size(); ++place) {
    const std::string& uuid = gpus_[place].gpu.uuid;
    std::int64_t from = now;
    for (const Holding& holding : holdings.held) {
      if (holding.uuid != uuid) continue;
      wanted[place].push_back({holding.owner, holding.part, std::max<std::int64_t>(holding.parts, 1)});
      if (!holding.owner.start) continue;
      const std::int64_t start = holding.owner.start->nanos() / 1'000'000;
      if (start > before && start < from) from = start;
    }
    if (wanted[place].empty() && std::ranges::find(holdings.unknown, uuid) != holdings.unknown.end())
      wanted[place].push_back({std::nullopt, 1, 1});
    const Parts none;
    if (wanted[place] != (place < last.parts.size() ? last.parts[place] : none)) at[from].push_back(place);
  }
  for (const auto& [time, places] : at) {
    Change change{time, changes_.back().parts};
    change.parts.resize(gpus_.size());
    for (const std::size_t place : places) change.parts[place] = wanted[place];
    changes_.push_back(std::move(change));
  }
}

TeamCounters& NodeCounters::TeamOf(std::string name) {
  const auto found = teams_.find(name);
  if (found != teams_.end()) return found->second;
  TeamCounters& team = teams_[name];
  team.born = next_;
  return team;
}

// A job counts within the team that it is shown with. What is beyond a cap is counted as "_other".
JobCounters& NodeCounters::JobOf(const Owner& owner) {
  auto found = jobs_.find(owner);
  if (found == jobs_.end() && jobs_.size() >= caps_.jobs) {
    Owner other;
    other.job = kOtherTeam;
    other.team = owner.team;
    if (!jobs_.contains(other)) ++capped_;
    found = jobs_.try_emplace(other).first;
  }
  if (found == jobs_.end()) found = jobs_.try_emplace(owner).first;
  JobCounters& job = found->second;
  if (job.born == 0) job.born = next_;
  job.ended.reset();
  return job;
}

JobCounters& NodeCounters::GiveTo(const Part& part, const GpuSecond& second, const PhaseUnits& units) {
  Owner counted = part.owner.value_or(Owner{{}, std::string(kUnknownTeam), {}, {}, {}, {}});
  if (counted.team.empty()) counted.team = kUnknownTeam;
  // _unallocated, _unknown and _other do not count against the cap.
  const std::size_t special = teams_.contains(std::string(kOtherTeam)) ? 3 : 2;
  if (!teams_.contains(counted.team) && teams_.size() >= caps_.teams + special) {
    counted.team = kOtherTeam;
    ++capped_;
  }
  AddTo(units, &TeamOf(counted.team).live);
  JobCounters& job = JobOf(counted);
  AddTo(units, &job.live);
  std::int64_t all = 0;
  for (const std::int64_t each : units) all += each;
  if (second.idle_ms[0] > 0)
    job.idle_held += units[0] * second.idle_ms[0] / std::max<std::int64_t>(second.phase_ms[0], 1);
  if (part.part == part.parts) {
    job.spin += all * second.spin_ms / kMsPerSecond;
  } else {
    job.signals[Index(JobSignal::kSharedGpu)] += all;
  }
  job.busy_us_units += all / kUnitsPerMs * second.busy_us / kMsPerSecond * kUnitsPerMs;
  return job;
}

// Splits a piece of a GPU's second among its owners. What nobody holds is unallocated. Returns the job that holds the
// whole GPU alone; null without one.
JobCounters* NodeCounters::Give(const Parts& parts, const GpuSecond& second, const PhaseUnits& units) {
  PhaseUnits left = units;
  std::int64_t sum_ppm = 0;
  for (const Part& part : parts) sum_ppm += part.part * 1'000'000 / part.parts;
  // Rounding of thirds and the like leaves less than one part in a million for each owner.
  const bool whole = sum_ppm + static_cast<std::int64_t>(parts.size()) >= 1'000'000;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    PhaseUnits mine{};
    const bool rest = whole && i + 1 == parts.size();
    for (std::size_t p = 0; p < kAgentPhaseCount; ++p) {
      mine[p] = rest ? left[p] : std::min(left[p], units[p] * parts[i].part / parts[i].parts);
      left[p] -= mine[p];
    }
    JobCounters& job = GiveTo(parts[i], second, mine);
    if (parts[i].owner && parts.size() == 1 && parts[i].part == parts[i].parts) return &job;
  }
  AddTo(left, &TeamOf(std::string(kUnallocatedTeam)).live);
  return nullptr;
}

bool NodeCounters::HasOneJob(const Change& change) {
  const Owner* first = nullptr;
  for (const Parts& parts : change.parts) {
    for (const Part& part : parts) {
      if (!part.owner || (first != nullptr && *first != *part.owner)) return false;
      first = &*part.owner;
    }
  }
  return true;
}

// What of the low time of a piece has another cause than idleness. One cause only, in the order of an audit.
SignalUnits NodeCounters::LowSignals(const GpuSecond& second, const Piece& piece) {
  SignalUnits units{};
  const std::int64_t low = piece.units[0] + piece.units[1];
  if (second.link_full) {
    units[Index(JobSignal::kPcieFull)] = low;
  } else if (piece.pressed.cpu) {
    units[Index(JobSignal::kNodeCpuPressure)] = low;
  } else if (piece.pressed.io) {
    units[Index(JobSignal::kNodeIoPressure)] = low;
  }
  return units;
}

// Signals of a GPU that one job holds alone. A stretch of idle time counts from its begin once it is long enough. Until
// then its seconds may be a pause, and count as whatever else they show.
void NodeCounters::CountSignals(const Owner& owner, const GpuSecond& second, const Piece& piece, IdleRun* run,
                                JobCounters* job) {
  const auto add = [job](const SignalUnits& units) {
    for (std::size_t i = 0; i < kJobSignalCount; ++i) job->signals[i] += units[i];
  };
  const bool goes_on = run->owner == owner;
  const SignalUnits low = LowSignals(second, piece);
  if (second.phase_ms[0] == kMsPerSecond) {
    if (!goes_on) *run = {owner, 0, {}, {}};
    run->ms += piece.ms;
    for (std::size_t i = 0; i < kIdleMemoryCount; ++i)  // signals of idle stretches are the first, in the same order
      run->as_stretch[i] += piece.units[0] * second.idle_ms[i] / kMsPerSecond;
    for (std::size_t i = 0; i < kJobSignalCount; ++i) run->as_pause[i] += low[i];
    if (run->ms >= kIdleStretchSeconds * kMsPerSecond) {
      add(run->as_stretch);
      run->as_stretch = run->as_pause = {};
    }
  } else {
    if (goes_on) add(run->as_pause);
    if (run->owner) *run = {};
    add(low);
  }
  std::int64_t all = 0;
  for (const std::int64_t each : piece.units) all += each;
  SignalUnits settled{};
  settled[Index(JobSignal::kSpinWait)] = all * second.spin_ms / kMsPerSecond;
  settled[Index(JobSignal::kThrottled)] = all * second.slowed_ms / kMsPerSecond;
  settled[Index(JobSignal::kClockLost)] = all * second.clock_lost_ms / kMsPerSecond;
  add(settled);
  // These tell of a few seconds ago, when another job may have held the GPU.
  for (const JobSignalRow& row : kJobSignals) {
    std::int64_t most = 0;
    for (std::size_t p = 0; p < kAgentPhaseCount; ++p) most += (row.phases >> p & 1) != 0 ? job->live[p] : 0;
    job->signals[Index(row.id)] = std::min(job->signals[Index(row.id)], most);
  }
}

// The holders may change within a second. Its time is spread evenly over its milliseconds.
void NodeCounters::CountOwners(std::size_t place, const GpuSecond& second, const PhaseUnits& units,
                               const SecondFlags& flags) {
  const std::int64_t begin = next_ * kMsPerSecond;
  for (std::size_t i = 0; i < changes_.size(); ++i) {
    const std::int64_t from = std::clamp<std::int64_t>(changes_[i].at_ms - begin, 0, kMsPerSecond);
    const std::int64_t to = i + 1 < changes_.size()
                                ? std::clamp<std::int64_t>(changes_[i + 1].at_ms - begin, 0, kMsPerSecond)
                                : kMsPerSecond;
    if (from >= to) continue;
    Piece piece{to - from, {}, {}};
    for (std::size_t p = 0; p < kAgentPhaseCount; ++p) piece.units[p] = PieceOf(units[p], from, to);
    const Parts none;
    const Parts& parts = place < changes_[i].parts.size() ? changes_[i].parts[place] : none;
    JobCounters* job = Give(parts, second, piece.units);
    if (job == nullptr) {
      idle_runs_[place] = {};
      continue;
    }
    if ((flags.pressed.cpu || flags.pressed.io) && HasOneJob(changes_[i])) piece.pressed = flags.pressed;
    CountSignals(*parts.front().owner, second, piece, &idle_runs_[place], job);
  }
}

void NodeCounters::Count(std::size_t place, const GpuSecond& second, const SecondFlags& flags) {
  GpuCounters& gpu = gpus_[place];
  PhaseUnits units{};
  AddUnits(second.phase_ms, gpu.gpu, &units);
  AddTo(units, &gpu.live);
  AddUnits(second.reason_ms, gpu.gpu, &gpu.reasons);
  AddUnits(second.idle_ms, gpu.gpu, &gpu.idle);
  AddUnits(second.throttled_ms, gpu.gpu, &gpu.throttled);
  gpu.spin += UnitsOf(second.spin_ms, gpu.gpu);
  if (second.decile) gpu.deciles[*second.decile] += UnitsOf(kMsPerSecond - second.phase_ms[kUnobservedPhase], gpu.gpu);
  gpu.energy_counter_mj += second.energy_counter_mj;
  gpu.energy_power_mj += second.energy_power_mj;
  for (std::size_t i = 0; i < kLinkFlowCount; ++i) gpu.link_bytes[i] += second.link_bytes[i];
  CountOwners(place, second, units, flags);
}

void NodeCounters::Add(std::span<const GpuSecond> gpus, SecondFlags flags) {
  idle_runs_.resize(gpus_.size());
  for (std::size_t place = 0; place < gpus_.size(); ++place) {
    if (gpus_[place].born > next_) continue;
    Count(place, place < gpus.size() ? gpus[place] : GpuSecond::Without(static_cast<std::size_t>(Unobserved::kGap)),
          flags);
  }
  EndSecond(flags);
}

void NodeCounters::AddWithout(std::int64_t to, std::size_t reason, SecondFlags flags) {
  const std::vector<GpuSecond> seconds(gpus_.size(), GpuSecond::Without(reason));
  while (next_ < to) Add(seconds, flags);
}

namespace {

// A job whatever its team is counted as.
Owner WithoutTeam(Owner owner) {
  owner.team.clear();
  return owner;
}

}  // namespace

// The owners that hold a GPU at the end of the second, without their teams.
std::set<Owner> NodeCounters::Holders() const {
  std::set<Owner> holders;
  for (const Parts& parts : changes_.front().parts) {
    for (const Part& part : parts) {
      if (part.owner) holders.insert(WithoutTeam(*part.owner));
    }
  }
  return holders;
}

void NodeCounters::EndSecond(SecondFlags flags) {
  ++next_;
  while (changes_.size() > 1 && changes_[1].at_ms <= next_ * kMsPerSecond) changes_.erase(changes_.begin());
  const std::set<Owner> holders = Holders();
  for (auto& [owner, job] : jobs_) {
    const bool bucket = owner.job == kOtherTeam || owner.job == kUnknownTeam;
    if (!bucket && !job.ended && !holders.contains(WithoutTeam(owner))) job.ended = next_;
  }
  if (next_ % period_ == 0 && !flags.skipped_by_clock) CloseEdge();
  DropOldJobs();
}

// A job that ended before the edge has been read at the edge before; its final live value told the rest.
void NodeCounters::CloseEdge() {
  closed_at_ = next_;
  for (GpuCounters& gpu : gpus_) gpu.closed = gpu.live;
  for (auto& [name, team] : teams_) team.closed = team.live;
  for (auto& [owner, job] : jobs_) {
    if (job.ended && *job.ended < next_) {
      job.edge.reset();
    } else {
      job.edge = next_;
      job.closed = job.live;
    }
  }
}

void NodeCounters::DropOldJobs() {
  std::erase_if(jobs_, [this](const auto& each) {
    const JobCounters& job = each.second;
    return job.told && !job.edge && !job.LiveShown(next_);
  });
}

bool JobCounters::LiveShown(std::int64_t now) const {
  return !ended || (scrapes_since_end < kKeptScrapes && now - *ended < kKeptSeconds);
}

void NodeCounters::OnScrape() {
  for (auto& [owner, job] : jobs_) job.scrapes_since_end += job.ended ? 1 : 0;
}

std::vector<std::pair<Owner, JobCounters>> NodeCounters::TakeEnded() {
  std::vector<std::pair<Owner, JobCounters>> ended;
  for (auto& [owner, job] : jobs_) {
    if (!job.ended || job.told) continue;
    job.told = true;
    ended.emplace_back(owner, job);
  }
  return ended;
}

}  // namespace idleburn
