#include "agent/node_meter.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "telemetry/link_speed.h"
#include "text/figures.h"

namespace idleburn {
namespace {

// Less than this is slewing and jitter of two clock readings, not a step.
constexpr std::int64_t kStepNs = 250'000'000;
constexpr std::int64_t kLongestStepBack = 3600;            // seconds
constexpr std::int64_t kLongestStepForward = 24 * 3600;    // seconds
constexpr std::int64_t kLongestDowntime = 60 * 24 * 3600;  // seconds that are counted as unobserved, one by one
constexpr std::size_t kMostNotes = 64;

std::int64_t CeilSecond(std::int64_t ns) { return -FloorSecond(-ns); }

NodeGpuShare CountedFrom(const Device& device) {
  NodeGpuShare gpu;
  gpu.uuid = device.uuid.empty() ? "index-" + std::to_string(device.index.value_or(-1)) : device.uuid;
  gpu.name = device.name;
  gpu.index = device.index.value_or(-1);
  if (device.mig) {
    gpu.slices = device.mig->slices;
    gpu.of_slices = std::max(BoardSlices(device.name), device.mig->slices);
  }
  return gpu;
}

// "12 of the last readings came too late": the number, 0 without one.
std::int64_t LeadingNumber(const std::string& text) {
  std::int64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

}  // namespace

NodeMeter::NodeMeter(const Thresholds& thresholds, NodeCounters counters, RateFinder find_rates, Instant now)
    : thresholds_(thresholds), find_rates_(std::move(find_rates)), counters_(std::move(counters)), started_(now) {}

NodeMeter::Gpu& NodeMeter::GpuOf(DeviceId device) {
  if (device >= gpus_.size()) gpus_.resize(device + 1);
  Gpu& gpu = gpus_[device];
  if (gpu.meter == nullptr) gpu.meter = std::make_unique<SecondMeter>(thresholds_);
  return gpu;
}

// Enters devices that are new in the table. A board with instances is counted by them.
void NodeMeter::EnterNew() {
  const bool changed = devices_.size() != entered_;
  entered_ = devices_.size();
  for (DeviceId id = 0; id < devices_.size(); ++id) {
    Gpu& gpu = GpuOf(id);
    if (devices_[id].has_instances) {
      gpu.place.reset();
    } else if (!gpu.place) {
      gpu.place = counters_.Enter(CountedFrom(devices_[id]));
    }
  }
  if (!changed) return;
  SetLinkSpeeds();
  if (Result<RateCard> rates = find_rates_(devices_)) {
    rates_ = std::move(*rates);
  } else {
    notes_.push_back(rates.error().message);
    ++health_.errors["price"];
  }
}

void NodeMeter::SetLinkSpeeds() {
  links_ = LinksOf(devices_, link_facts_);
  for (DeviceId id = 0; id < links_.size(); ++id) GpuOf(id).meter->set_link_speed(links_[id].pcie);
}

// A signal that one GPU cannot tell is not known for the jobs of the node.
std::array<bool, kJobSignalCount> NodeMeter::TellableSignals(Instant utc) const {
  std::array<bool, kJobSignalCount> tells{};
  for (const JobSignalRow& row : kJobSignals) {
    bool& all = tells[Index(row.id)];
    all = row.id == JobSignal::kNodeCpuPressure  ? pressure_.reads_cpu()
          : row.id == JobSignal::kNodeIoPressure ? pressure_.reads_io()
                                                 : true;
    for (const Gpu& gpu : gpus_) all = all && (!gpu.place || gpu.meter->CanTell(row.id, utc.nanos()));
  }
  return tells;
}

void NodeMeter::OnSamples(std::span<const Sample> samples) {
  const std::lock_guard lock(mutex_);
  for (const Sample& sample : samples) {
    Gpu& gpu = GpuOf(sample.device);
    const std::int64_t utc = UtcOf(sample.time);
    if (sample.present != 0) {
      gpu.meter->set_gone(false);
      hangs_since_.reset();
      health_.newest_sample = Instant::FromNanos(utc);
      health_.up["nvml"] = true;
    } else if (lost_noted_ && sample.unavailable != 0 && sample.reason == Unobserved::kGap) {
      gpu.meter->set_gone(true);
    }
    if (first_) gpu.meter->Feed(sample, utc);
  }
}

// A counter of the host that steps back began again; what it rose before that stays.
void NodeMeter::OnHost(std::span<const HostSample> samples) {
  const std::lock_guard lock(mutex_);
  for (const HostSample& sample : samples) {
    if (sample.scope != HostScope::kMachine) continue;
    health_.up["host"] = true;
    if (first_) pressure_.Feed(sample, UtcOf(sample.time));
    for (const HostSignalInfo& info : kHostSignals) {
      if (!info.counter || !sample.Has(info.id)) continue;
      const std::size_t i = Index(info.id);
      const std::int64_t value = sample.Get(info.id);
      if (!host_.rise[i]) host_.rise[i] = 0;
      if (host_last_[i] && value > *host_last_[i]) *host_.rise[i] += value - *host_last_[i];
      host_last_[i] = value;
    }
  }
}

// The first ports keep their series, also when a new session lists other ports before them.
void NodeMeter::OnPorts(std::span<const PortTraffic> ports) {
  const std::lock_guard lock(mutex_);
  for (auto& [name, port] : host_.ports) port.known = {};
  for (const PortTraffic& traffic : ports) {
    auto port = host_.ports.find(traffic.port);
    const std::size_t apart = host_.ports.size() - host_.ports.count(std::string(kOtherPorts));
    if (port == host_.ports.end())
      port = host_.ports.try_emplace(apart < kMostPorts ? traffic.port : std::string(kOtherPorts)).first;
    const std::array<std::optional<std::int64_t>, 2> rises = {traffic.received, traffic.sent};
    for (std::size_t i = 0; i < rises.size(); ++i) {
      if (!rises[i]) continue;
      port->second.bytes[i] += *rises[i];
      port->second.known[i] = true;
    }
  }
}

void NodeMeter::OnNote(const Note& note) {
  const std::lock_guard lock(mutex_);
  if (note.kind == NoteKind::kMissedTicks) {
    health_.missed_ticks += LeadingNumber(note.text);
    return;
  }
  // They tell what a jump means for a recording. Jump tells what it means here.
  if (note.kind == NoteKind::kSuspend || note.kind == NoteKind::kClockStep) return;
  if (note.kind == NoteKind::kDeviceLost) lost_noted_ = true;
  if (note.kind == NoteKind::kDriverHang) hangs_since_ = Instant::FromNanos(UtcOf(note.time));
  if (note.kind == NoteKind::kFailure || note.kind == NoteKind::kDriverHang || note.kind == NoteKind::kDeviceLost)
    ++health_.errors["nvml"];
  if (note.kind == NoteKind::kSettled || notes_.size() >= kMostNotes) return;
  notes_.push_back(note.text);
}

void NodeMeter::OnFact(const RunFact& fact) {
  const std::lock_guard lock(mutex_);
  if (TellsLink(fact.key)) {
    link_facts_[fact.key] = fact.value;
    SetLinkSpeeds();
  }
  if (fact.key != kMeasuringFailedFact) return;
  ++health_.errors["nvml"];
  if (notes_.size() < kMostNotes) notes_.push_back(fact.value);
}

void NodeMeter::OnHolders(const GpuHolders& holders) {
  const std::lock_guard lock(mutex_);
  GpuOf(holders.device).holders = holders;
}

void NodeMeter::Hold(const Holdings& holdings, Instant utc) {
  const std::lock_guard lock(mutex_);
  counters_.Hold(utc.nanos() / 1'000'000, holdings);
  for (const std::string& error : holdings.errors) {
    ++health_.errors["owners"];
    if (notes_.size() < kMostNotes) notes_.push_back(error);
  }
}

void NodeMeter::Restart(std::int64_t second) {
  counters_ = NodeCounters(second, counters_.period());
  for (Gpu& gpu : gpus_) {
    gpu.meter = std::make_unique<SecondMeter>(thresholds_);
    gpu.place.reset();
  }
  SetLinkSpeeds();
  skips_.clear();
  ++health_.resets;
}

void NodeMeter::CountDowntime(Instant to) {
  const std::lock_guard lock(mutex_);
  const std::int64_t until = CeilSecond(to.nanos());
  if (until < counters_.next() - kLongestStepBack || until - counters_.next() > kLongestDowntime) {
    Restart(until);
  } else {
    counters_.AddWithout(until, kAgentDown);
  }
}

// Somebody set the wall clock.
void NodeMeter::SetWall(std::int64_t before_ns, std::int64_t after_ns) {
  const std::int64_t before = FloorSecond(before_ns);
  const std::int64_t after = FloorSecond(after_ns);
  const std::string size = DurationForPeople(Nanos(std::abs(after_ns - before_ns)));
  ++health_.errors["clock"];
  if (before - after > kLongestStepBack || after - before > kLongestStepForward) {
    notes_.push_back("the wall clock was set by " + size + "; all counts start from zero");
    return Restart(CeilSecond(after_ns));
  }
  if (after_ns < before_ns) {
    notes_.push_back("the wall clock was set back by " + size + "; nothing is counted for that long");
  } else {
    notes_.push_back("the wall clock was set forward by " + size + "; that time is unobserved (clock)");
    skips_.push_back({before + 1, after, static_cast<std::size_t>(Unobserved::kClock)});
  }
}

// The wall clock went `step` farther than the monotonic clock. The machine may have slept, and the clock may have been
// set. When the sleep began is known to the last Advance, a quarter of a second before. What came after that has
// readings of both sides of the sleep, so it is unobserved too.
void NodeMeter::Jump(const ClockReading& clocks, std::int64_t step) {
  const Nanos slept = (clocks.boot - clocks.monotonic) - (last_.boot - last_.monotonic);
  std::int64_t woke = clocks.wall.nanos() - step;
  if (slept.count() >= kStepNs) {
    woke += slept.count();
    if (slept.count() / kNanosPerSecond > kLongestDowntime) {
      notes_.push_back("the machine slept for " + DurationForPeople(slept) + "; all counts start from zero");
      Restart(CeilSecond(woke));
    } else {
      notes_.push_back("the machine slept for " + DurationForPeople(slept) + "; that time is unobserved (suspend)");
      skips_.push_back({FloorSecond(last_.wall.nanos()) + 1, FloorSecond(woke), kSlept});
    }
  }
  if (std::abs(clocks.wall.nanos() - woke) >= kStepNs) SetWall(woke, clocks.wall.nanos());
  if (hangs_since_) *hangs_since_ = *hangs_since_ + Nanos(step);
}

// Jumps are found by the clocks alone. The time line of a new session begins at the wall clock and tells none.
void NodeMeter::Advance(Instant line, const ClockReading& clocks) {
  const std::lock_guard lock(mutex_);
  const std::int64_t wall = clocks.wall.nanos();
  const std::int64_t step = first_ ? wall - clocks.monotonic.count() - wall_ns_ : 0;
  const bool jumped = std::abs(step) >= kStepNs;
  if (jumped) Jump(clocks, step);
  if (!first_ || jumped) wall_ns_ = wall - clocks.monotonic.count();
  const std::int64_t offset = wall - line.nanos();
  if (!first_ || std::abs(offset - offset_ns_) >= kStepNs) offset_ns_ = offset;
  if (!first_) first_ = clocks;
  last_ = clocks;
  health_.clock_offset_ns = ((clocks.wall - first_->wall) - (clocks.boot - first_->boot)).count();
  EnterNew();
  CountSeconds(FloorSecond(wall) - kSettleSeconds);
}

// Counts all seconds before `until`.
void NodeMeter::CountSeconds(std::int64_t until) {
  std::vector<GpuSecond> seconds;
  while (counters_.next() < until) {
    const std::int64_t second = counters_.next();
    const auto skip =
        std::ranges::find_if(skips_, [second](const Skip& each) { return second >= each.from && second < each.to; });
    const bool skipped = skip != skips_.end();
    seconds.assign(counters_.gpus().size(), GpuSecond::Without(kDriverGone));
    for (Gpu& gpu : gpus_) {
      if (!gpu.place) continue;
      const GpuSecond closed = gpu.meter->Close(second);
      seconds[*gpu.place] = skipped ? GpuSecond::Without(skip->reason) : closed;
    }
    counters_.Add(seconds, {skipped && skip->reason != kSlept, pressure_.Take(second)});
  }
  std::erase_if(skips_, [this](const Skip& each) { return each.to <= counters_.next(); });
}

void NodeMeter::OnScrape() {
  const std::lock_guard lock(mutex_);
  counters_.OnScrape();
}

void NodeMeter::CountError(const std::string& source) {
  const std::lock_guard lock(mutex_);
  ++health_.errors[source];
}

void NodeMeter::SetUp(const std::string& source, bool up) {
  const std::lock_guard lock(mutex_);
  health_.up[source] = up;
}

std::int64_t NodeMeter::NextSecond() const {
  const std::lock_guard lock(mutex_);
  return counters_.next();
}

// A MIG instance shares the link of its board, so it has none of its own.
void NodeMeter::PutGauges(DeviceId id, std::int64_t utc_ns, GpuGauges* gauges) const {
  const auto latest = [&](Signal signal) { return gpus_[id].meter->Latest(signal, utc_ns); };
  gauges->utilization = latest(Signal::kUtilization);
  if (!gauges->utilization) gauges->utilization = latest(Signal::kGrEngineActive);
  gauges->memory_used = latest(Signal::kMemoryUsed);
  gauges->memory_total = latest(Signal::kMemoryTotal);
  gauges->power = latest(Signal::kPower);
  gauges->temperature = latest(Signal::kTemperature);
  gauges->sm_active = latest(Signal::kSmActive);
  if (id < links_.size() && !devices_[id].mig) {
    if (links_[id].pcie > 0) gauges->pcie_link = links_[id].pcie;
    if (links_[id].nvlink > 0) gauges->nvlink_link = links_[id].nvlink;
  }
  if (!rates_) return;
  const Rate& rate = rates_->Of(id);
  gauges->price = rate.per_gpu_hour;
  gauges->currency = rate.currency;
  gauges->price_source = rate.key.empty() ? rate.source : rate.key;
}

NodeView NodeMeter::View(Instant utc) const {
  const std::lock_guard lock(mutex_);
  NodeView view{counters_, {}, host_, health_, utc, started_, {}};
  for (DeviceId id = 0; id < gpus_.size(); ++id) {
    if (!gpus_[id].place) continue;
    view.health.late_samples += gpus_[id].meter->late_samples();
    GpuGauges gauges;
    gauges.place = *gpus_[id].place;
    PutGauges(id, utc.nanos(), &gauges);
    view.gauges.push_back(std::move(gauges));
  }
  view.tells = TellableSignals(utc);
  const Instant fresh = utc + Nanos(-10 * kNanosPerSecond);
  if (!health_.newest_sample || *health_.newest_sample < fresh) view.health.up["nvml"] = false;
  return view;
}

std::string NodeMeter::StateBytes() const {
  const std::lock_guard lock(mutex_);
  return counters_.ToBytes();
}

std::vector<NodeDevice> NodeMeter::Devices() const {
  const std::lock_guard lock(mutex_);
  std::vector<NodeDevice> devices;
  for (DeviceId id = 0; id < gpus_.size() && id < devices_.size(); ++id) {
    const Device& device = devices_[id];
    devices.push_back({device, device.board ? devices_[*device.board].uuid : "", gpus_[id].holders.holders});
  }
  return devices;
}

std::vector<std::pair<Owner, JobCounters>> NodeMeter::TakeEndedJobs() {
  const std::lock_guard lock(mutex_);
  return counters_.TakeEnded();
}

std::vector<std::string> NodeMeter::TakeNotes() {
  const std::lock_guard lock(mutex_);
  return std::exchange(notes_, {});
}

std::optional<Nanos> NodeMeter::HangingFor(Instant utc) const {
  const std::lock_guard lock(mutex_);
  if (!hangs_since_) return std::nullopt;
  return utc - *hangs_since_;
}

}  // namespace idleburn
