#include "measure/nvml_gpu.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "telemetry/sample.h"

namespace idleburn {
namespace {

// The two known lengths of a process record, in words: 24 bytes, and 32 of some drivers.
constexpr std::size_t kWord = sizeof(std::uint64_t);
constexpr std::size_t kShort = sizeof(nvml::ProcessInfo) / kWord;
constexpr std::size_t kLong = 32 / kWord;
// The pattern that fills the buffer. No driver writes it: no pid, size or instance id is so large.
constexpr std::uint64_t kUnwritten = 0xA5C35A3CA5C35A3C;

}  // namespace

ProcessRoom::ProcessRoom(std::uint32_t entries) : entries_(entries), words_(entries * kLong, kUnwritten) {}

// The last word that no longer has the pattern shows how far the driver wrote. That tells the length of a record.
std::optional<std::vector<nvml::ProcessInfo>> ProcessRoom::Read(std::uint32_t count) const {
  std::vector<nvml::ProcessInfo> list(count);
  if (count == 0) return list;
  if (count > entries_) return std::nullopt;
  const auto last = std::find_if(words_.rbegin(), words_.rend(), [](std::uint64_t word) { return word != kUnwritten; });
  const auto written = static_cast<std::size_t>(words_.rend() - last);
  // The driver may leave out the last word of a record (instance ids or protected memory) if it means nothing. A single
  // record begins the same way in both lengths.
  const auto fits = [&](std::size_t length) { return written + 1 == count * length || written == count * length; };
  const std::size_t length = fits(kShort) ? kShort : fits(kLong) ? kLong : 0;
  if (length == 0) return std::nullopt;
  for (std::size_t i = 0; i < count; ++i) {
    std::memcpy(&list[i], &words_[i * length], sizeof(nvml::ProcessInfo));
  }
  return list;
}

namespace {

// The fastest links of a GPU in one direction: 16 lanes of PCIe 6, and 18 links of NVLink 5.
constexpr std::int64_t kPcieMost = 128'000'000'000;
constexpr std::int64_t kNvlinkMost = 1'800'000'000'000;
// How long a reading waits for the driver's ring at most.
constexpr Nanos kHold(kNanosPerSecond);
// The windows that are assumed until one is measured, and when a dry ring is recognised.
constexpr Nanos kShortestWindow(kNanosPerSecond / 6);
// A ring without new values for two windows is dry. Some drivers let it run empty while a GPU idles. The limit also
// gives a ring that publishes once a second the time to do so.
constexpr Nanos kDryRing(kNanosPerSecond);
constexpr Nanos kAskedAgain(250'000'000);
constexpr Nanos kLongestWindow(kNanosPerSecond);
// GPM gives the traffic of links in MiB/s.
constexpr double kMib = 1024.0 * 1024.0;

}  // namespace

NvmlGpu::NvmlGpu(NvmlLibrary& nvml, Place place, const std::string& nvml_version, std::int64_t wall_us)
    : nvml_(nvml),
      ring_(wall_us),
      pcie_rx_(kPcieMost),
      pcie_tx_(kPcieMost),
      nvlink_rx_(kNvlinkMost),
      nvlink_tx_(kNvlinkMost),
      slowdowns_(nvml_version) {
  Attach(std::move(place));
}

// Forgets what depends on handles and on the driver's state: switched-off queries, the loss, and the counters' last
// values. A counter may have been reset meanwhile, and a rate across the reset would be wrong.
void NvmlGpu::Attach(Place place) {
  place_ = std::move(place);
  off_ = {};
  lost_ = nvml::kSuccess;
  gpm_links_ = false;
  ring_read_.reset();
  for (CounterRate* rate : {&pcie_rx_, &pcie_tx_, &nvlink_rx_, &nvlink_tx_}) rate->Forget();
  // With MIG the driver has no ring. ReadGauge asks instances for the gauge, and GPM has a busy counter for them.
  if (place_.has_instances || place_.instance) {
    off_[static_cast<std::size_t>(NvmlQuery::kSamples)] = Unobserved::kUnsupported;
  }
  if (place_.has_instances) return;
  gpm_ = GpmPair::Open(nvml_, place_.board, place_.instance);
  if (gpm_ == nullptr) off_[static_cast<std::size_t>(NvmlQuery::kGpm)] = Unobserved::kUnsupported;
}

// Decides what a return code means for a query. True if the query gave a value. Missing permission is remarked,
// because the user can grant it; a missing feature is not.
bool NvmlGpu::Heard(NvmlQuery query, const char* function, nvml::Return code) {
  if (code != nvml::kUnknown) unknown_[static_cast<std::size_t>(query)].ticks = 0;
  switch (NvmlCodeOf(code).handling) {
    case NvmlHandling::kOk:
      return true;
    case NvmlHandling::kUnsupported:
      off_[static_cast<std::size_t>(query)] = Unobserved::kUnsupported;
      return false;
    case NvmlHandling::kPermission:
      off_[static_cast<std::size_t>(query)] = Unobserved::kPermission;
      remarks_.emplace_back(NoteKind::kFailure, place_.label + ": " + function + ": " + NvmlSentence(code));
      return false;
    case NvmlHandling::kLost:
    case NvmlHandling::kNoDriver:
    case NvmlHandling::kMismatch:
      lost_ = code;
      lost_in_ = function;
      return false;
    case NvmlHandling::kNothingNew:
      return false;
    case NvmlHandling::kPassing:
      if (code == nvml::kUnknown) HeardUnknown(query, function);
      return false;
  }
  return false;
}

// Handles code 999, which does not say whether one sensor or the GPU failed. If a query returns it at two ticks in a
// row, a query that every GPU supports decides.
void NvmlGpu::HeardUnknown(NvmlQuery query, const char* function) {
  UnknownFailures& unknown = unknown_[static_cast<std::size_t>(query)];
  if (unknown.ticks > 0 && unknown.last == row_.time) return;
  unknown.last = row_.time;
  if (++unknown.ticks < 2 || BaseFails()) return;
  off_[static_cast<std::size_t>(query)] = Unobserved::kGap;
  if (std::exchange(unknown.told, true)) return;
  remarks_.emplace_back(NoteKind::kFailure,
                        place_.label + ": " + function + ": " + NvmlSentence(nvml::kUnknown) +
                            "; the GPU answers other calls, and idleburn repeats this call once a minute");
}

// Whether the query that every GPU supports fails too. Then the GPU is lost.
bool NvmlGpu::BaseFails() {
  const auto fails = [this](nvml::Return code, const char* function) {
    const NvmlHandling handling = NvmlCodeOf(code).handling;
    if (handling == NvmlHandling::kOk || handling == NvmlHandling::kNothingNew ||
        handling == NvmlHandling::kUnsupported || handling == NvmlHandling::kPermission) {
      return false;
    }
    lost_ = code;
    lost_in_ = function;
    return true;
  };
  std::array<char, nvml::kNameSize> uuid{};
  nvml::Utilization rates{};
  return fails(nvml_.Call(nvml_.uuid, place_.handle, uuid.data(), nvml::kNameSize), nvml_.uuid.name) ||
         fails(nvml_.Call(nvml_.utilization, place_.handle, &rates), nvml_.utilization.name);
}

// Ends the rest of queries that failed for unknown reasons. ReadRare calls it once a minute.
void NvmlGpu::AskRestingAgain() {
  for (std::size_t i = 0; i < off_.size(); ++i) {
    if (off_[i] != Unobserved::kGap) continue;
    off_[i].reset();
    unknown_[i].ticks = 0;
  }
}

void NvmlGpu::DistrustUntilSettled(Instant now) {
  discard_until_ = now + Nanos(kNanosPerSecond) + ring_.window().value_or(kLongestWindow);
}

// Reads one field. The call and the field have separate return codes.
bool NvmlGpu::AskField(NvmlQuery query, std::uint32_t field, std::uint32_t scope, nvml::FieldValue* out) {
  if (Off(query) || lost()) return false;
  *out = {};
  out->field = field;
  out->scope = scope;
  nvml::Return code = nvml_.Call(nvml_.field_values, place_.handle, 1, out);
  if (code == nvml::kSuccess) code = out->result;
  return Heard(query, nvml_.field_values.name, code);
}

void NvmlGpu::Put(Signal signal, std::int64_t value, const char* counter) {
  SetInRange(signal, value, row_);
  if ((seen_ & Bit(signal)) == 0) names_.emplace_back(signal, counter);
  seen_ |= Bit(signal);
}

void NvmlGpu::Miss(Signal signal, NvmlQuery query) {
  row_.SetUnavailable(signal, off_[static_cast<std::size_t>(query)].value_or(Unobserved::kGap));
}

// Sets a percentage. Some drivers return impossible values, which are unobserved. Up to 100.5 counts as rounding.
void NvmlGpu::PutPercent(Signal signal, const std::optional<double>& percent, const char* counter) {
  if (!percent) {
    row_.SetUnavailable(signal, Unobserved::kUnsupported);
  } else if (*percent > 100.5) {
    row_.SetUnavailable(signal, Unobserved::kSentinel);
  } else {
    Put(signal, std::min(kFull, static_cast<std::int64_t>(std::llround(*percent * kPercent))), counter);
  }
}

void NvmlGpu::StartRow(const Moment& moment) {
  row_.time = moment.now;
  row_.device = place_.id;
  row_.present = 0;
  row_.unavailable = 0;
}

// Holds the row until the ring's readings have caught up, but no longer than kHold.
void NvmlGpu::EndRow(const Moment& moment, std::vector<Sample>& out) {
  const bool ring = !Off(NvmlQuery::kSamples) && !lost();
  const Instant until = ring ? std::max(ring_until_, moment.now + (Nanos(0) - kHold)) : moment.now;
  if ((row_.present | row_.unavailable) != 0) {
    held_.Pass(row_, until, out);
  } else {
    held_.Release(until, out);
  }
}

void NvmlGpu::PassUnread(Instant now, Unobserved why, std::vector<Sample>& out) {
  held_.Add(Unread(now, why));
  Flush(out);
}

// Utilization belongs to it even if it was never read, except for a board with instances. So a GPU that never
// answered is unobserved time and not no time.
Sample NvmlGpu::Unread(Instant now, Unobserved why) const {
  Sample sample;
  sample.time = now;
  sample.device = place_.id;
  const std::uint32_t wanted = place_.has_instances ? seen_ : seen_ | Bit(Signal::kUtilization);
  sample.unavailable = wanted;
  sample.reason = why;
  return sample;
}

void NvmlGpu::ReadFast(const Moment& moment) {
  if (place_.instance) return;
  ReadPower();
  ReadEnergy(moment);
  // An instance returned above: these are the board's, and would count once for each instance.
  std::uint32_t mhz = 0;
  if (Ask(NvmlQuery::kClock, nvml_.clock, nvml::kClockSm, &mhz) && mhz != nvml::kNone32) {
    Put(Signal::kSmClock, std::int64_t{mhz} * 1000, "nvml.clocks.sm");
  } else {
    Miss(Signal::kSmClock, NvmlQuery::kClock);
  }
  std::uint64_t mask = 0;
  if (Ask(NvmlQuery::kReasons, nvml_.event_reasons, &mask) && mask != nvml::kNone64) {
    Put(Signal::kEventReasons, static_cast<std::int64_t>(mask), "nvml.clocks_event_reasons");
  } else {
    Miss(Signal::kEventReasons, NvmlQuery::kReasons);
  }
}

// Prefers the instantaneous power. The older function returns an average over a second on some GPUs.
void NvmlGpu::ReadPower() {
  nvml::FieldValue field;
  if (AskField(NvmlQuery::kPowerInstant, nvml::kFieldPowerInstant, 0, &field)) {
    if (const auto milliwatts = IntegerOf(field.value, field.type)) {
      return Put(Signal::kPower, static_cast<std::int64_t>(*milliwatts), "nvml.power.instant");
    }
  }
  std::uint32_t milliwatts = 0;
  if (Ask(NvmlQuery::kPowerUsage, nvml_.power_usage, &milliwatts) && milliwatts != nvml::kNone32) {
    return Put(Signal::kPower, milliwatts, "nvml.power.usage");
  }
  Miss(Signal::kPower, NvmlQuery::kPowerUsage);
}

// An energy counter that falls shows that the driver was loaded again.
void NvmlGpu::ReadEnergy(const Moment& moment) {
  std::uint64_t millijoules = nvml::kNone64;
  if (!Ask(NvmlQuery::kEnergy, nvml_.energy, &millijoules)) {
    nvml::FieldValue field;
    if (Off(NvmlQuery::kEnergy) && AskField(NvmlQuery::kEnergyField, nvml::kFieldEnergy, 0, &field)) {
      millijoules = IntegerOf(field.value, field.type).value_or(nvml::kNone64);
    }
  }
  if (millijoules == nvml::kNone64) return Miss(Signal::kEnergy, NvmlQuery::kEnergyField);
  if (energy_ && millijoules < *energy_) {
    remarks_.emplace_back(NoteKind::kSettled, place_.label +
                                                  ": the driver was reloaded: its energy counter fell from " +
                                                  std::to_string(*energy_) + " to " + std::to_string(millijoules) +
                                                  " mJ; idleburn counts on from 0");
    DistrustUntilSettled(moment.now);
  }
  energy_ = millijoules;
  Put(Signal::kEnergy, static_cast<std::int64_t>(millijoules), "nvml.total_energy_consumption");
}

// Reads utilization from the gauge if there is no ring, or while the ring is dry.
void NvmlGpu::ReadGauge(const Moment& moment) {
  if (place_.has_instances) return;
  if (Off(NvmlQuery::kSamples)) return ReadRates(moment);
  if (!RingIsDry(moment.now)) return;
  if (!std::exchange(ring_was_dry_, true)) {  // what the gauge said before then is no change now
    rates_last_ = -1;
    changed_before_ = false;
  }
  ReadRates(moment);
}

// Dry after two windows, but after a second at most, and never before one window and a quarter of a second passed.
// With a window of 167 ms that is 417 ms; with one of a second, 1.25 s.
bool NvmlGpu::RingIsDry(Instant now) const {
  const Nanos window = ring_.window().value_or(kLongestWindow);
  return ring_read_ && now - *ring_read_ > std::max(std::min(2 * window, kDryRing), window + kAskedAgain);
}

// The first reading starts the time after which the ring counts as dry.
void NvmlGpu::ReadRing(const Moment& moment) {
  if (Off(NvmlQuery::kSamples)) return;
  if (!ring_read_) ring_read_ = moment.now;
  TakeRing(moment);
}

// Reads new values of the ring. The first call asks for its length only.
void NvmlGpu::TakeRing(const Moment& moment) {
  std::uint32_t type = 0;
  std::uint32_t count = 0;
  if (ring_room_.empty()) {  // how long the ring is
    if (!Ask(NvmlQuery::kSamples, nvml_.samples, nvml::kSamplesGpuUtilization, std::uint64_t{0}, &type, &count,
             static_cast<nvml::DriverSample*>(nullptr))) {
      return;
    }
    // The ring may grow between two calls. Eight more entries are room enough.
    ring_room_.resize(std::size_t{count} + 8);
  }
  count = static_cast<std::uint32_t>(ring_room_.size());
  const auto seen = static_cast<std::uint64_t>(ring_.ask_from_us());
  if (!Ask(NvmlQuery::kSamples, nvml_.samples, nvml::kSamplesGpuUtilization, seen, &type, &count, ring_room_.data())) {
    return;
  }
  count = std::min(count, static_cast<std::uint32_t>(ring_room_.size()));
  const std::int64_t wall_us = moment.read.wall.nanos() / 1000;
  for (const UtilizationRing::Reading& reading : ring_.Take({ring_room_.data(), count}, type, wall_us)) {
    PlaceReading(reading, moment);
    ring_read_ = moment.now;
    ring_was_dry_ = false;
  }
  if (ring_.window() && !window_told_) Settled(*ring_.window(), false);
}

// Adds a value of the ring at its own time, on the run's time line. A gap before it becomes an unobserved reading one
// window earlier, unless the gauge was read in that time.
void NvmlGpu::PlaceReading(const UtilizationRing::Reading& reading, const Moment& moment) {
  const Instant at = moment.line->Place(Instant::FromNanos(1000 * reading.stamp_us), moment.read);
  Sample sample;
  sample.device = place_.id;
  sample.time = std::min(at, moment.now);  // the driver's clock is read a little differently
  if (reading.gap && !ring_was_dry_) {
    Sample gap = sample;
    gap.time = sample.time + (Nanos(0) - ring_.window().value_or(Nanos(kNanosPerSecond)));
    gap.SetUnavailable(Signal::kUtilization, Unobserved::kGap);
    held_.Add(gap);
  }
  if (sample.time <= discard_until_) {
    sample.SetUnavailable(Signal::kUtilization, Unobserved::kInvalidCounter);
  } else if (reading.value) {
    sample.Set(Signal::kUtilization, *reading.value);
    if ((seen_ & Bit(Signal::kUtilization)) == 0) names_.emplace_back(Signal::kUtilization, "nvml.utilization.gpu");
    seen_ |= Bit(Signal::kUtilization);
  } else {
    sample.SetUnavailable(Signal::kUtilization, Unobserved::kSentinel);
  }
  held_.Add(sample);
  ring_until_ = std::max(ring_until_, sample.time);
}

// A gauge that is polled faster than the driver updates it repeats its value. A reading is new if its value changed,
// or if the window passed since the last new one. Repeats are left out, because they would count one window several
// times.
void NvmlGpu::ReadRates(const Moment& moment) {
  nvml::Utilization rates{};
  if (!Ask(NvmlQuery::kRates, nvml_.utilization, &rates) || rates.gpu > 100) {
    return Miss(Signal::kUtilization, NvmlQuery::kRates);
  }
  const bool changed = rates.gpu != rates_last_;
  if (changed) {
    if (changed_before_ && !ring_.window() && change_meter_.Add(moment.now - change_at_)) {
      Settled(*change_meter_.window(), true);
    }
    changed_before_ = rates_last_ >= 0;
    change_at_ = moment.now;
  }
  const Nanos window = ring_.window().value_or(change_meter_.window().value_or(kShortestWindow));
  if (!changed && moment.now - rates_at_ < window) return;
  rates_last_ = rates.gpu;
  rates_at_ = moment.now;
  if (moment.now <= discard_until_) return row_.SetUnavailable(Signal::kUtilization, Unobserved::kInvalidCounter);
  Put(Signal::kUtilization, std::int64_t{rates.gpu} * kPercent, "nvml.utilization.gpu");
}

// Reports the window of utilization once it is known.
void NvmlGpu::Settled(Nanos window, bool estimated) {
  window_told_ = true;
  const std::string ms = std::to_string((window.count() + 500'000) / 1'000'000);
  remarks_.emplace_back(NoteKind::kSettled, place_.label + ": utilization is renewed every " + ms + " ms" +
                                                (estimated ? " (estimated from changes of its value)" : ""));
  facts_.push_back({"gpu." + place_.uuid + ".window_ns", std::to_string(window.count())});
}

// A device without GPM has no `gpm_`. Values that a metric lacks are unsupported, not 0.
void NvmlGpu::ReadGpm() {
  if (gpm_ == nullptr || Off(NvmlQuery::kGpm) || lost()) return;
  nvml::Return code = nvml::kSuccess;
  const std::optional<GpmPair::Activity> activity = gpm_->Take(&code);
  if (!Heard(NvmlQuery::kGpm, nvml_.gpm_sample.name, code) || !activity) return;
  PutPercent(Signal::kGrEngineActive, activity->graphics_percent, "nvml.gpm.graphics");
  PutPercent(Signal::kSmActive, activity->sm_percent, "nvml.gpm.sm");
  PutPercent(Signal::kTensorActive, activity->tensor_percent, "nvml.gpm.tensor");
  PutPercent(Signal::kDramActive, activity->dram_percent, "nvml.gpm.dram");
  if (place_.instance) return;  // links are the board's
  const auto bytes = [](double mib) { return static_cast<std::int64_t>(std::llround(mib * kMib)); };
  if (activity->pcie_rx_mib_s && activity->pcie_tx_mib_s) {
    gpm_links_ = true;
    Put(Signal::kPcieRx, bytes(*activity->pcie_rx_mib_s), "nvml.gpm.pcie_rx");
    Put(Signal::kPcieTx, bytes(*activity->pcie_tx_mib_s), "nvml.gpm.pcie_tx");
  }
  if (activity->nvlink_rx_mib_s && activity->nvlink_tx_mib_s) {
    Put(Signal::kNvlink, bytes(*activity->nvlink_rx_mib_s + *activity->nvlink_tx_mib_s), "nvml.gpm.nvlink");
  }
}

// The slower parts of NvmlGpu: memory, links, processes, limits.

namespace {

constexpr std::int64_t kContext = std::int64_t{64} << 20;  // less than any process takes
// The most memory that a desktop uses for drawing. A process with more is at work.
constexpr std::int64_t kDesktop = std::int64_t{1} << 30;

// A holder whose memory is absent if the driver does not tell it, as in a container or under WSL2.
GpuHolder HolderOf(std::uint32_t pid, std::uint64_t memory) {
  GpuHolder holder;
  holder.pid = pid;
  if (memory != nvml::kNone64) holder.memory = static_cast<std::int64_t>(memory);
  return holder;
}

// Merges the lists. A client of MPS is in two of them, and only one may know its memory.
void OnceEach(std::vector<GpuHolder>& holders) {
  std::sort(holders.begin(), holders.end(), [](const GpuHolder& a, const GpuHolder& b) {
    return a.pid != b.pid ? a.pid < b.pid : a.memory.value_or(-1) > b.memory.value_or(-1);
  });
  const auto same = [](const GpuHolder& a, const GpuHolder& b) { return a.pid == b.pid; };
  holders.erase(std::unique(holders.begin(), holders.end(), same), holders.end());
}

}  // namespace

void NvmlGpu::ReadMedium(const Moment& moment) {
  if (!place_.has_instances) {
    ReadMemory();
    DoubtHolders();
  }
  if (place_.instance) return;
  ReadTemperature();
  ReadLinks(moment);
  ReadSlowdowns(moment);
}

// "used" of version 2 leaves out what the driver reserves. "used" of version 1 includes it, so that an idle GPU seems
// to hold memory. The counter's name tells a reader which one it is.
void NvmlGpu::ReadMemory() {
  nvml::MemoryV2 v2{};
  v2.version = nvml::kMemoryV2Version;
  if (Ask(NvmlQuery::kMemoryV2, nvml_.memory_v2, &v2) && v2.used != nvml::kNone64) {
    memory_used_ = static_cast<std::int64_t>(v2.used);
    memory_is_net_ = true;
    Put(Signal::kMemoryUsed, memory_used_, "nvml.memory.used");
    return Put(Signal::kMemoryTotal, static_cast<std::int64_t>(v2.total), "nvml.memory.total");
  }
  memory_is_net_ = false;
  nvml::Memory v1{};
  if (Off(NvmlQuery::kMemoryV2) && Ask(NvmlQuery::kMemory, nvml_.memory, &v1) && v1.used != nvml::kNone64) {
    memory_used_ = static_cast<std::int64_t>(v1.used);
    Put(Signal::kMemoryUsed, memory_used_, "nvml.memory.used_with_reserved");
    return Put(Signal::kMemoryTotal, static_cast<std::int64_t>(v1.total), "nvml.memory.total");
  }
  Miss(Signal::kMemoryUsed, NvmlQuery::kMemory);
}

// Millidegrees Celsius. The older function is asked first, because every driver before NVML 13 has it.
void NvmlGpu::ReadTemperature() {
  std::uint32_t celsius = 0;
  if (Ask(NvmlQuery::kTemperature, nvml_.temperature, nvml::kSensorGpu, &celsius) && celsius != nvml::kNone32) {
    return Put(Signal::kTemperature, std::int64_t{celsius} * 1000, "nvml.temperature");
  }
  nvml::TemperatureV1 v1 = {nvml::kTemperatureV1Version, nvml::kSensorGpu, 0};
  if (Off(NvmlQuery::kTemperature) && Ask(NvmlQuery::kTemperatureV1, nvml_.temperature_v1, &v1)) {
    return Put(Signal::kTemperature, std::int64_t{v1.celsius} * 1000, "nvml.temperature");
  }
  Miss(Signal::kTemperature, NvmlQuery::kTemperatureV1);
}

// A 32-bit counter wraps in its own unit, so its rate is multiplied afterwards. A 64-bit one never wraps, so the
// counter itself is multiplied, which keeps the precision.
std::optional<std::int64_t> NvmlGpu::Link(NvmlQuery query, std::uint32_t field, std::uint32_t scope, CounterRate& rate,
                                          Instant at, std::int64_t unit) {
  nvml::FieldValue value;
  if (!AskField(query, field, scope, &value)) return std::nullopt;
  const std::optional<std::uint64_t> counter = IntegerOf(value.value, value.type);
  if (!counter) return std::nullopt;
  const int bits = BitsOf(value.type);
  if (unit == 1 || bits < 64) {
    const std::optional<std::int64_t> per_second = rate.Take(*counter, bits, at);
    return per_second ? std::optional(*per_second * unit) : std::nullopt;
  }
  return rate.Take(*counter * static_cast<std::uint64_t>(unit), bits, at);
}

// Where GPM gives the traffic, counters are not asked. NVLink has an older and a newer pair of fields. The newer pair
// is asked once the older one turned out to be unsupported.
void NvmlGpu::ReadLinks(const Moment& moment) {
  if (!gpm_links_ && !Off(NvmlQuery::kPcie)) {
    const auto tx = Link(NvmlQuery::kPcie, nvml::kFieldPcieTx, 0, pcie_tx_, moment.now, 1);
    const auto rx = Link(NvmlQuery::kPcie, nvml::kFieldPcieRx, 0, pcie_rx_, moment.now, 1);
    if (tx) Put(Signal::kPcieTx, *tx, "nvml.field.197");  // as the GPU sees it: to the host
    if (rx) Put(Signal::kPcieRx, *rx, "nvml.field.198");
  }
  if ((seen_ & Bit(Signal::kNvlink)) != 0 && gpm_links_) return;
  const bool older = !Off(NvmlQuery::kNvlink);
  const NvmlQuery query = older ? NvmlQuery::kNvlink : NvmlQuery::kNvlink5;
  const std::int64_t unit = older ? 1024 : 1;
  const auto tx =
      Link(query, older ? nvml::kFieldNvlinkTx : nvml::kFieldNvlink5Tx, nvml::kNone32, nvlink_tx_, moment.now, unit);
  const auto rx =
      Link(query, older ? nvml::kFieldNvlinkRx : nvml::kFieldNvlink5Rx, nvml::kNone32, nvlink_rx_, moment.now, unit);
  if (tx && rx) Put(Signal::kNvlink, *tx + *rx, older ? "nvml.field.138" : "nvml.field.202");
}

// Only finds out which field ids this driver uses for slowdown times, and tells them as a fact.
void NvmlGpu::ReadSlowdowns(const Moment& moment) {
  const std::optional<SlowdownFields::Ids> ids = slowdowns_.Candidate();
  if (!ids || Off(NvmlQuery::kSlowdowns) || lost()) return;
  std::array<nvml::FieldValue, 3> fields{};
  for (std::size_t i = 0; i < fields.size(); ++i) fields[i].field = (*ids)[i];
  if (!Ask(NvmlQuery::kSlowdowns, nvml_.field_values, static_cast<int>(fields.size()), fields.data())) return;
  slowdowns_.Judge(fields, moment.read.monotonic);
  if (slowdowns_.ids()) {
    facts_.push_back({"gpu." + place_.uuid + ".slowdown_fields",
                      std::to_string((*slowdowns_.ids())[0]) + "-" + std::to_string((*slowdowns_.ids())[2])});
  }
}

// Asking for the length of a list costs as much as the list. So a buffer is kept, and grows when a list is longer.
bool NvmlGpu::ListProcesses(NvmlQuery query, NvmlFunction<nvml::Device, std::uint32_t*, nvml::ProcessInfo*>& function,
                            std::vector<GpuHolder>& holders) {
  if (Off(query) || lost()) return false;
  for (const nvml::Device handle : place_.Handles()) {
    std::uint32_t count = 0;
    nvml::Return code = nvml::kInsufficientSize;
    std::optional<std::vector<nvml::ProcessInfo>> list;
    for (int attempt = 0; attempt < 4 && code == nvml::kInsufficientSize; ++attempt) {
      ProcessRoom room(holders_room_);
      count = holders_room_;
      code = nvml_.Call(function, handle, &count, room.Address());
      if (code == nvml::kInsufficientSize) holders_room_ = 2 * std::max(count, holders_room_);
      if (code == nvml::kSuccess) list = room.Read(count);
    }
    if (!Heard(query, function.name, code)) return false;
    if (!list) {
      off_[static_cast<std::size_t>(query)] = Unobserved::kUnsupported;
      remarks_.emplace_back(
          NoteKind::kFailure,
          place_.label + ": " + function.name +
              ": this driver's process records have an unknown length, so idleburn does not read that list");
      return false;
    }
    for (const nvml::ProcessInfo& process : *list) holders.push_back(HolderOf(process.pid, process.used_memory));
  }
  return true;
}

// The function of the oldest drivers. Its records have another layout, so it gets a buffer of its own.
bool NvmlGpu::ListProcessesV1(std::vector<GpuHolder>& holders) {
  if (Off(NvmlQuery::kProcessesV1) || lost()) return false;
  for (const nvml::Device handle : place_.Handles()) {
    std::uint32_t count = 64;  // the oldest drivers
    std::vector<nvml::ProcessInfoV1> list(count);
    const nvml::Return code = nvml_.Call(nvml_.processes_v1, handle, &count, list.data());
    if (!Heard(NvmlQuery::kProcessesV1, nvml_.processes_v1.name, code)) return false;
    list.resize(std::min<std::size_t>(count, list.size()));
    for (const nvml::ProcessInfoV1& process : list) holders.push_back(HolderOf(process.pid, process.used_memory));
  }
  return true;
}

// Compares memory with that at the last list. A change shows earlier than the next list that somebody took the GPU or
// left it. From then until the next list, the holders are unknown.
//
// Example: nobody held a GPU with 5 MiB in use, and now 900 MiB are used. Or: a process held 40 GiB, and now 2 GiB
// are used.
void NvmlGpu::DoubtHolders() {
  if (!is_held_) return;
  memory_then_ = *is_held_ ? std::max(memory_then_, memory_used_) : std::min(memory_then_, memory_used_);
  const std::int64_t moved = std::abs(memory_used_ - memory_then_);
  if (moved < kContext || (*is_held_ && memory_used_ > memory_then_ / 2)) return;
  is_held_.reset();
  MissHolders(Unobserved::kStale);
}

// A row has one reason for all its unavailable signals. The first one stays.
void NvmlGpu::MissHolders(Unobserved why) {
  if (row_.unavailable == 0) row_.reason = why;
  row_.unavailable |= Bit(Signal::kProcesses);
}

// Whether an unlisted process holds the GPU. The list leaves out processes of another pid namespace (in a container
// without the host's, under WSL2) and processes that only draw. Their use shows in the memory. "used" of version 1 is
// never small and tells nothing.
bool NvmlGpu::IsHeldUnlisted() {
  if (!memory_is_net_ || memory_used_ < kContext) return false;
  std::vector<GpuHolder> drawing;
  ListProcesses(NvmlQuery::kDrawingProcesses, nvml_.drawing_processes, drawing);
  std::int64_t drawn = 0;
  for (const GpuHolder& holder : drawing) drawn += holder.memory.value_or(0);
  if (memory_used_ - std::min(drawn, kDesktop) < kContext) return false;
  if (!std::exchange(unlisted_told_, true)) {
    remarks_.emplace_back(NoteKind::kSettled, place_.label + ": the driver lists no process, yet " +
                                                  std::to_string(memory_used_ >> 20) +
                                                  " MiB are in use: the process is in another PID namespace, or a "
                                                  "graphics process; memory in use decides whether the GPU is held");
  }
  return true;
}

// A client of MPS is in a list of its own too, so both lists are read and merged. If the first list fails, nothing is
// known, and the second is not asked.
void NvmlGpu::ReadProcesses(const Moment& moment) {
  is_held_.reset();
  if (place_.has_instances) return;
  GpuHolders& now = holders_.emplace();
  now.time = moment.now;
  now.device = place_.id;
  now.listed = ListProcesses(NvmlQuery::kProcesses, nvml_.processes, now.holders);
  if (Off(NvmlQuery::kProcesses)) now.listed = ListProcessesV1(now.holders);
  if (now.listed) ListProcesses(NvmlQuery::kMpsProcesses, nvml_.mps_processes, now.holders);
  OnceEach(now.holders);
  if (!now.listed) return Miss(Signal::kProcesses, NvmlQuery::kProcesses);
  if (now.holders.empty() && IsHeldUnlisted()) {
    now.listed = false;
    return MissHolders(Unobserved::kGap);
  }
  is_held_ = !now.holders.empty();
  memory_then_ = memory_used_;
  row_.unavailable &= ~Bit(Signal::kProcesses);
  Put(Signal::kProcesses, static_cast<std::int64_t>(now.holders.size()), "nvml.compute_processes");
}

// A handle can come to mean another GPU, when one was replaced or indices moved. So the UUID behind it is compared.
void NvmlGpu::ReadRare() {
  AskRestingAgain();
  if (place_.instance || lost()) return;
  std::uint32_t value = 0;
  if (Ask(NvmlQuery::kPowerLimit, nvml_.power_limit, &value) && value != nvml::kNone32) {
    Put(Signal::kPowerLimit, value, "nvml.enforced_power_limit");
  }
  nvml::FieldValue field;
  if (Ask(NvmlQuery::kDefaultLimit, nvml_.default_limit, &value) && value != nvml::kNone32) {
    Put(Signal::kPowerDefaultLimit, value, "nvml.power_default_limit");
  } else if (AskField(NvmlQuery::kDefaultLimitField, nvml::kFieldPowerDefaultLimit, 0, &field)) {
    const auto limit = IntegerOf(field.value, field.type);
    if (limit) Put(Signal::kPowerDefaultLimit, static_cast<std::int64_t>(*limit), "nvml.field.189");
  }
  if (Ask(NvmlQuery::kMaxClock, nvml_.max_clock, nvml::kClockSm, &value) && value != nvml::kNone32) {
    Put(Signal::kMaxSmClock, std::int64_t{value} * 1000, "nvml.clocks.max_sm");
  }
  std::uint64_t errors = 0;
  if (Ask(NvmlQuery::kEcc, nvml_.ecc_errors, nvml::kErrorUncorrected, nvml::kCounterVolatile, &errors)) {
    if (ecc_ != errors) facts_.push_back({"gpu." + place_.uuid + ".ecc_uncorrected", std::to_string(errors)});
    ecc_ = errors;
  }
  std::array<char, nvml::kNameSize> uuid{};
  const nvml::Return code = nvml_.Call(nvml_.uuid, place_.handle, uuid.data(), nvml::kNameSize);
  if (code == nvml::kSuccess && place_.uuid != uuid.data()) {  // the handle means another GPU now
    lost_ = nvml::kGpuIsLost;
    lost_in_ = nvml_.uuid.name;
  }
}

}  // namespace idleburn
