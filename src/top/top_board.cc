#include "top/top_board.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "audit/run_inputs.h"
#include "base/money.h"
#include "measure/proc_files.h"
#include "telemetry/device.h"
#include "telemetry/reading_times.h"
#include "text/command_line.h"

namespace idleburn {
namespace {

// Enters one more GPU of a process. Memory that is not known of one GPU is not known of all.
void Hold(TopProcess& process, const HeldGpu& gpu, const GpuHolder& holder) {
  const bool first = process.gpus.empty();
  process.gpus.push_back(gpu.place);
  if (first) {
    process.memory = holder.memory;
  } else if (process.memory && holder.memory) {
    *process.memory += *holder.memory;
  } else {
    process.memory.reset();
  }
  if (gpu.holders->size() > 1) {
    process.shares = true;
  } else if (gpu.per_hour) {
    process.per_hour = Add(process.per_hour, *gpu.per_hour).value_or(process.per_hour);
  }
}

// The first `count` devices in the order of the table: the instances of a board behind it.
std::vector<DeviceId> InOrder(const DeviceTable& devices, std::size_t count) {
  std::vector<DeviceId> ids;
  for (DeviceId id = 0; id < count; ++id) ids.push_back(id);
  std::sort(ids.begin(), ids.end(), [&](DeviceId a, DeviceId b) { return StandsBefore(a, b, devices); });
  return ids;
}

}  // namespace

TopProcesses ProcessesOn(const std::vector<HeldGpu>& gpus) {
  std::map<std::pair<std::int64_t, std::optional<std::int64_t>>, TopProcess> found;
  for (const HeldGpu& gpu : gpus) {
    for (const GpuHolder& holder : *gpu.holders) {
      TopProcess& process = found[{holder.pid, holder.start_ticks}];
      process.pid = holder.pid;
      process.start_ticks = holder.start_ticks;
      Hold(process, gpu, holder);
    }
  }
  TopProcesses processes;
  std::size_t unseen = 0;
  for (auto& [key, process] : found) {
    unseen += process.start_ticks ? 0U : 1U;
    processes.list.push_back(std::move(process));
  }
  // Some processes end just now and are not seen either, so a few that are missing prove nothing.
  processes.foreign = 2 * unseen > processes.list.size();
  std::stable_sort(processes.list.begin(), processes.list.end(), [](const TopProcess& a, const TopProcess& b) {
    return std::tie(a.gpus.front(), a.pid) < std::tie(b.gpus.front(), b.pid);
  });
  return processes;
}

// A user without a name in the system is shown by number.
std::string ProcessNames::UserOf(std::uint32_t id) {
  const auto known = users_.find(id);
  if (known != users_.end()) return known->second;
  return users_[id] = UserName(id).value_or(std::to_string(id));
}

void ProcessNames::Fill(TopProcesses& processes) {
  std::map<std::pair<std::int64_t, std::int64_t>, Known> now;
  for (TopProcess& process : processes.list) {
    if (!process.start_ticks || processes.foreign) continue;
    const std::pair key(process.pid, *process.start_ticks);
    // A process that is ending has a name but no arguments any more, so what was known of it stays.
    std::optional<Known> who;
    if (const auto before = known_.find(key); before != known_.end()) who = before->second;
    if (const auto identity = IdentityOf(proc_, process.pid, *process.start_ticks)) {
      if (!who) who.emplace(Known{"unknown", {}});
      if (identity->user) who->user = UserOf(*identity->user);
      // One that is ending has a name and no arguments any more.
      const bool named = !identity->command.empty();
      if (named) who->command = ShownCommand(identity->command);
      if (who->command.empty()) who->command = "[" + identity->name + "]";
    }
    if (!who) continue;
    process.user = who->user;
    process.command = who->command;
    now.emplace(key, *who);
  }
  known_ = std::move(now);
}

TopBoard::TopBoard(const Thresholds& thresholds, RateFinder find_rates)
    : thresholds_(thresholds),
      find_rates_(std::move(find_rates)),
      classifier_(thresholds, devices_, quality_, FactsOf) {}

void TopBoard::OnSamples(std::span<const Sample> samples) {
  classifier_.OnSamples(samples);
  for (const Sample& s : samples) {
    if (s.device >= gpus_.size()) gpus_.resize(s.device + 1);
    Keep(s);
  }
  const std::int64_t second = newest_.nanos() / kNanosPerSecond;
  // To price a run takes longer than a sample, so it is done once a second.
  if (second == built_second_) return;
  built_second_ = second;
  TopView view = Build();
  const std::lock_guard lock(mutex_);
  view_ = std::move(view);
}

void TopBoard::Keep(const Sample& sample) {
  Gpu& gpu = gpus_[sample.device];
  newest_ = std::max(newest_, sample.time);
  for (const SignalInfo& info : kSignals) {
    if (sample.Has(info.id)) gpu.last[Index(info.id)] = sample.Get(info.id);
    if (sample.Lacks(info.id)) gpu.last[Index(info.id)].reset();
  }
  // The seconds of one counter must not be mixed with those of another.
  if (sample.Has(Signal::kUtilization) && gpu.by_engine) {
    gpu.by_engine = false;
    gpu.seconds = {};
  }
  const Signal counter = gpu.by_engine ? Signal::kGrEngineActive : Signal::kUtilization;
  if (sample.Lacks(counter) || sample.Lacks(Signal::kUtilization)) gpu.why = sample.reason;
  if (!sample.Has(counter)) return;
  const std::int64_t number = sample.time.nanos() / kNanosPerSecond;
  Second& second = gpu.seconds[static_cast<std::size_t>(number) % gpu.seconds.size()];
  if (second.number != number) second = {number, 0, 0};
  second.sum += sample.Get(counter);
  ++second.count;
}

void TopBoard::OnHolders(const GpuHolders& holders) {
  if (holders.device >= gpus_.size()) gpus_.resize(holders.device + 1);
  gpus_[holders.device].holders = holders;
}

void TopBoard::OnNote(const Note& note) {
  if (note.kind == NoteKind::kSettled) return;
  const std::lock_guard lock(mutex_);
  notes_.push_back(note.text);
}

// Decides as the classifier does: by the band of the mean of the second's readings. A GPU that renews its utilization
// once a second may have no reading in the last one, so the one before stands in for it.
std::optional<Phase> TopBoard::PhaseOfLastSecond(const Gpu& gpu) const {
  const std::int64_t now = newest_.nanos() / kNanosPerSecond;
  for (const std::int64_t number : {now - 1, now - 2}) {
    const Second& second = gpu.seconds[static_cast<std::size_t>(number) % gpu.seconds.size()];
    if (second.number == number && second.count > 0) return PhaseOf(second.sum, second.count, thresholds_);
  }
  return std::nullopt;
}

TopView TopBoard::Build() {
  TopView view;
  view.time = newest_;
  if (!rates_) {
    // Not before, because prices depend on which GPUs there are.
    rates_ = find_rates_(devices_);
    const std::lock_guard lock(mutex_);
    if (*rates_) notes_.insert(notes_.end(), (*rates_)->remarks().begin(), (*rates_)->remarks().end());
  }
  // The same code as in an audit prices the run so far, so the last view and the audit agree.
  const Result<CostReport> cost =
      PriceRun(classifier_.SoFar(), devices_, {}, *rates_ ? **rates_ : RateCard(), {}, {}, kUsualMonthHours);
  view.fault = !*rates_ ? rates_->error().message : !cost ? cost.error().message : "";
  if (cost) {
    view.whole = cost->whole;
    view.rate = cost->rate;
  }
  const std::vector<DeviceId> ids = InOrder(devices_, gpus_.size());
  for (const DeviceId id : ids) {
    const Gpu& gpu = gpus_[id];
    TopGpu row;
    row.name = ShortName(devices_[id]);
    row.split = devices_[id].has_instances;
    row.phase = PhaseOfLastSecond(gpu);
    row.unobserved = kUnobservedNames[static_cast<std::size_t>(gpu.why)];
    row.last = gpu.last;
    if (const CostReport::DeviceCost* priced = cost ? cost->Of(id) : nullptr) {
      row.since_start = priced->usage;
      if (const std::optional<Money>& rate = cost->RateOf(*priced).per_gpu_hour) {
        if (const Result<Money> share = Estimate(*rate, priced->gpu_share)) row.per_hour = *share;
      }
    }
    view.gpus.push_back(std::move(row));
  }
  view.processes = ProcessesOn(Held(ids, view));
  return view;
}

// A list of processes that is too old to be true is left out. For the others this fills in how many processes hold
// each.
std::vector<HeldGpu> TopBoard::Held(const std::vector<DeviceId>& ids, TopView& view) const {
  std::vector<HeldGpu> held;
  for (std::size_t place = 0; place < ids.size(); ++place) {
    const GpuHolders& holders = gpus_[ids[place]].holders;
    if (view.gpus[place].split || !holders.listed || newest_ - holders.time > thresholds_.side_hold) continue;
    view.gpus[place].holders = holders.holders.size();
    held.push_back({place, &holders.holders, view.gpus[place].per_hour});
  }
  return held;
}

TopView TopBoard::Latest() const {
  const std::lock_guard lock(mutex_);
  return view_;
}

std::vector<std::string> TopBoard::TakeNotes() {
  const std::lock_guard lock(mutex_);
  return std::exchange(notes_, {});
}

}  // namespace idleburn
