// The slower parts of NvmlGpu: memory, links, processes, limits.
#include <algorithm>
#include <cstdlib>

#include "measure/nvml_gpu.h"

namespace idleburn {
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
      remarks_.emplace_back(NoteKind::kFailure, place_.label + ": " + function.name +
                                                    ": this driver's records of processes have a length that is not "
                                                    "known here: that list is not read");
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
                                                  " MiB are used: whoever holds them is in another PID namespace, or "
                                                  "draws; memory tells whether the GPU is held");
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
