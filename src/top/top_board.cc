#include "top/top_board.h"

#include <algorithm>
#include <utility>

#include "audit/run_inputs.h"
#include "base/billing.h"
#include "telemetry/device.h"
#include "telemetry/reading_text.h"

namespace idleburn {
namespace {

// The first `count` devices, the instances of a board behind it.
std::vector<DeviceId> InOrder(const DeviceTable& devices, std::size_t count) {
  std::vector<DeviceId> ids;
  for (DeviceId id = 0; id < count; ++id) ids.push_back(id);
  std::sort(ids.begin(), ids.end(), [&](DeviceId a, DeviceId b) { return StandsBefore(a, b, devices); });
  return ids;
}

}  // namespace

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

// As the classifier: the band of the mean of the second's readings. A GPU that renews its utilization once a second
// may have none in the last one.
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
    rates_ = find_rates_(devices_);
    const std::lock_guard lock(mutex_);
    if (*rates_) notes_.insert(notes_.end(), (*rates_)->remarks().begin(), (*rates_)->remarks().end());
  }
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
    row.model = devices_[id].name;
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

// Those whose list is not too old to be true. Fills in how many hold each.
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

TopView TopBoard::Final() { return Build(); }

std::vector<std::string> TopBoard::TakeNotes() {
  const std::lock_guard lock(mutex_);
  return std::exchange(notes_, {});
}

}  // namespace idleburn
