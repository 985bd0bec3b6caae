// NodeCounters as bytes, and back.
#include <agent/state.pb.h>

#include <utility>

#include "agent/node_counters.h"

namespace idleburn {
namespace {

constexpr std::uint32_t kStateVersion = 1;

template <std::size_t N>
void Put(const std::array<std::int64_t, N>& values, google::protobuf::RepeatedField<std::int64_t>* out) {
  out->Assign(values.begin(), values.end());
}

// A longer list comes from a newer agent. Then its sums would not be ours.
template <std::size_t N>
bool Take(const google::protobuf::RepeatedField<std::int64_t>& in, std::array<std::int64_t, N>* values) {
  if (in.size() > static_cast<int>(N)) return false;
  for (int i = 0; i < in.size(); ++i) (*values)[static_cast<std::size_t>(i)] = in[i];
  return true;
}

void PutOwner(const Owner& owner, agent::Owner* out) {
  out->set_cluster(owner.cluster);
  out->set_job(owner.job);
  out->set_user(owner.user);
  out->set_team(owner.team);
  out->set_experiment(owner.experiment);
  if (owner.start) out->set_start_ns(owner.start->nanos());
}

Owner OwnerFrom(const agent::Owner& in) {
  Owner owner{in.cluster(), in.job(), in.user(), in.team(), in.experiment(), {}};
  if (in.has_start_ns()) owner.start = Instant::FromNanos(in.start_ns());
  return owner;
}

void PutGpu(const GpuCounters& gpu, agent::Gpu* out) {
  out->set_uuid(gpu.gpu.uuid);
  out->set_name(gpu.gpu.name);
  out->set_index(gpu.gpu.index);
  out->set_slices(gpu.gpu.slices);
  out->set_of_slices(gpu.gpu.of_slices);
  out->set_born(gpu.born);
  Put(gpu.live, out->mutable_live());
  Put(gpu.closed, out->mutable_closed());
  Put(gpu.reasons, out->mutable_reasons());
  Put(gpu.idle, out->mutable_idle());
  Put(gpu.deciles, out->mutable_deciles());
  out->set_spin(gpu.spin);
  Put(gpu.throttled, out->mutable_throttled());
  out->set_energy_counter_mj(gpu.energy_counter_mj);
  out->set_energy_power_mj(gpu.energy_power_mj);
  Put(gpu.link_bytes, out->mutable_link_bytes());
}

std::optional<GpuCounters> GpuFrom(const agent::Gpu& in) {
  GpuCounters gpu;
  gpu.gpu = {in.uuid(), in.name(), in.index(), in.slices(), in.of_slices()};
  gpu.born = in.born();
  gpu.spin = in.spin();
  gpu.energy_counter_mj = in.energy_counter_mj();
  gpu.energy_power_mj = in.energy_power_mj();
  const bool taken = in.of_slices() > 0 && Take(in.live(), &gpu.live) && Take(in.closed(), &gpu.closed) &&
                     Take(in.reasons(), &gpu.reasons) && Take(in.idle(), &gpu.idle) &&
                     Take(in.deciles(), &gpu.deciles) && Take(in.throttled(), &gpu.throttled) &&
                     Take(in.link_bytes(), &gpu.link_bytes);
  return taken ? std::optional(gpu) : std::nullopt;
}

void PutJob(const Owner& owner, const JobCounters& job, agent::Job* out) {
  PutOwner(owner, out->mutable_owner());
  out->set_born(job.born);
  if (job.ended) out->set_ended(*job.ended);
  if (job.edge) out->set_edge(*job.edge);
  out->set_scrapes_since_end(job.scrapes_since_end);
  out->set_told(job.told);
  Put(job.live, out->mutable_live());
  Put(job.closed, out->mutable_closed());
  out->set_idle_held(job.idle_held);
  out->set_spin(job.spin);
  out->set_busy_us_units(job.busy_us_units);
  Put(job.signals, out->mutable_signals());
}

std::optional<JobCounters> JobFrom(const agent::Job& in) {
  JobCounters job;
  job.born = in.born();
  if (in.has_ended()) job.ended = in.ended();
  if (in.has_edge()) job.edge = in.edge();
  job.scrapes_since_end = in.scrapes_since_end();
  job.told = in.told();
  job.idle_held = in.idle_held();
  job.spin = in.spin();
  job.busy_us_units = in.busy_us_units();
  const bool taken = Take(in.live(), &job.live) && Take(in.closed(), &job.closed) && Take(in.signals(), &job.signals);
  return taken ? std::optional(job) : std::nullopt;
}

}  // namespace

std::string NodeCounters::ToBytes() const {
  agent::NodeState state;
  state.set_version(kStateVersion);
  state.set_period(period_);
  state.set_epoch(epoch_);
  state.set_next(next_);
  if (closed_at_) state.set_closed_at(*closed_at_);
  state.set_capped(capped_);
  for (const GpuCounters& gpu : gpus_) PutGpu(gpu, state.add_gpus());
  for (const auto& [name, team] : teams_) {
    agent::Team* out = state.add_teams();
    out->set_name(name);
    out->set_born(team.born);
    Put(team.live, out->mutable_live());
    Put(team.closed, out->mutable_closed());
  }
  for (const auto& [owner, job] : jobs_) PutJob(owner, job, state.add_jobs());
  for (const Change& change : changes_) {
    agent::Change* out = state.add_changes();
    out->set_at_ms(change.at_ms);
    for (const Parts& parts : change.parts) {
      agent::Parts* gpu = out->add_gpus();
      for (const Part& part : parts) {
        agent::Part* each = gpu->add_parts();
        if (part.owner) PutOwner(*part.owner, each->mutable_owner());
        each->set_part(part.part);
        each->set_parts(part.parts);
      }
    }
  }
  return state.SerializeAsString();
}

Result<NodeCounters> NodeCounters::FromBytes(const std::string& bytes, std::int64_t period, OwnerCaps caps) {
  agent::NodeState state;
  if (!state.ParseFromString(bytes)) return Fail("the state is damaged");
  if (state.version() != kStateVersion) return Fail("the state is of version " + std::to_string(state.version()));
  if (state.period() != period) return Fail("the state has another closing period");
  NodeCounters counters(state.epoch(), period, caps);
  counters.next_ = state.next();
  if (state.has_closed_at()) counters.closed_at_ = state.closed_at();
  counters.capped_ = state.capped();
  for (const agent::Gpu& in : state.gpus()) {
    std::optional<GpuCounters> gpu = GpuFrom(in);
    if (!gpu) return Fail("the state has counters that this version does not know");
    counters.gpus_.push_back(std::move(*gpu));
  }
  for (const agent::Team& in : state.teams()) {
    TeamCounters& team = counters.teams_[in.name()];
    team.born = in.born();
    if (!Take(in.live(), &team.live) || !Take(in.closed(), &team.closed)) return Fail("the state is damaged");
  }
  for (const agent::Job& in : state.jobs()) {
    std::optional<JobCounters> job = JobFrom(in);
    if (!job) return Fail("the state is damaged");
    counters.jobs_[OwnerFrom(in.owner())] = *job;
  }
  counters.changes_.clear();
  for (const agent::Change& in : state.changes()) {
    Change change{in.at_ms(), {}};
    for (const agent::Parts& parts : in.gpus()) {
      change.parts.emplace_back();
      for (const agent::Part& part : parts.parts()) {
        if (part.parts() <= 0) return Fail("the state is damaged");
        change.parts.back().push_back(
            {part.has_owner() ? std::optional(OwnerFrom(part.owner())) : std::nullopt, part.part(), part.parts()});
      }
    }
    counters.changes_.push_back(std::move(change));
  }
  if (counters.changes_.empty()) counters.changes_.push_back({counters.next_ * kMsPerSecond, {}});
  return counters;
}

}  // namespace idleburn
