// The checks of GPUs and their drivers. They judge what a short measurement heard, not what a driver promises: a
// counter that is listed and never gives a value is of no use. A GPU without NVML is judged by the same rows.
#include <fmt/format.h>

#include <algorithm>

#include "doctor/doctor_checks.h"
#include "telemetry/reading_times.h"
#include "text/figures.h"
#include "text/strings.h"

namespace idleburn {
namespace {

// Part of the fix where there is no GPU: most of idleburn needs none.
constexpr std::string_view kStillWorks =
    "idleburn audit works here on files from other machines, and run and record measure the host";

// The devices that a signal is asked of. A board's values are asked of boards, an instance's of whatever computes.
std::vector<DeviceId> AskedOf(const DoctorReadings& readings, Signal signal) {
  std::vector<DeviceId> ids;
  for (DeviceId id = 0; id < readings.devices.size(); ++id) {
    const Device& device = readings.devices[id];
    const bool board = Info(signal).scope == Scope::kBoard;
    if (board ? !device.mig : !device.has_instances) ids.push_back(id);
  }
  return ids;
}

// Nothing to ask is not wrong by itself; the check gpu_count says what is.
CheckVerdict NoGpu() { return {CheckStatus::kSkipped, "no GPU to ask", {}}; }

// A driver that hangs leaves nothing known of its calls.
CheckVerdict Hung() { return {CheckStatus::kSkipped, "the driver hangs", {}}; }

// The counter that decides the phases of a device. Instances have no utilization, so theirs is engine activity.
Signal ReadAs(const Device& device, Signal signal) {
  return signal == Signal::kUtilization && device.mig ? Signal::kGrEngineActive : signal;
}

// The reason that the driver gave for a signal that is missing, behind the name of the GPU.
std::string WhyNot(const DoctorReadings& readings, DeviceId id, Signal signal) {
  const HeardOfGpu& gpu = readings.gpus[id];
  const bool asked = (gpu.lacking & Bit(signal)) != 0;
  const std::string_view reason =
      asked ? kUnobservedNames[static_cast<std::size_t>(gpu.reason[Index(signal)])] : "not reported";
  return ShortName(readings.devices[id]) + ": " + std::string(reason);
}

// By the counters it was read with.
bool IsAmd(const Device& device) {
  return std::any_of(device.counter.begin(), device.counter.end(),
                     [](const std::string& counter) { return counter.starts_with("amdgpu."); });
}

// How often a function of the driver was called while GPUs were read.
std::int64_t CallsOf(const DoctorReadings& readings, std::string_view function) {
  std::int64_t calls = 0;
  for (const CallTimes& times : readings.statistics.calls) calls += times.function == function ? times.calls : 0;
  return calls;
}

}  // namespace

// Without a library there may still be GPUs that need none, so only a library that was asked for is a failure.
CheckVerdict JudgeLibrary(const DoctorReadings& readings, const CheckInfo& /*check*/) {
  if (readings.library.empty()) {
    if (!readings.library_wanted.empty()) {
      return {CheckStatus::kFailure, readings.nvidia.why, "unset IDLEBURN_NVML_LIBRARY, or name a libnvidia-ml.so.1"};
    }
    return {readings.devices.size() > 0 ? CheckStatus::kSkipped : CheckStatus::kWarning, readings.nvidia.why,
            "on a machine with an NVIDIA GPU install its driver; start a container with its GPUs (--gpus all); " +
                std::string(kStillWorks)};
  }
  std::string evidence = fmt::format("{}: has {} of {} functions", readings.library,
                                     readings.functions - readings.missing_functions.size(), readings.functions);
  if (!readings.missing_functions.empty()) evidence += ", not " + ListText(readings.missing_functions);
  return {CheckStatus::kOk, evidence, {}};
}

// Each trouble has a fix of its own. A driver may also answer at first and hang later, which notes and calls tell.
CheckVerdict JudgeVersion(const DoctorReadings& readings, const CheckInfo& /*check*/) {
  const std::string& why = readings.nvidia.why;
  switch (readings.nvidia.trouble) {
    case NvidiaTrouble::kNone:
    case NvidiaTrouble::kNoGpu:
      break;
    case NvidiaTrouble::kNoLibrary:
      return {CheckStatus::kSkipped, "no library to ask", {}};
    case NvidiaTrouble::kNoDriver:
      return {CheckStatus::kWarning, why,
              "load the driver (modprobe nvidia); start a container with --gpus all; " + std::string(kStillWorks)};
    case NvidiaTrouble::kMismatch:
      return {CheckStatus::kFailure, why, "reboot, or unload and load the nvidia kernel modules"};
    case NvidiaTrouble::kSilent:
      return {CheckStatus::kFailure, why,
              "run nvidia-smi. If it answers after a while, nvidia-smi -pm 1 keeps the driver loaded; if not, look for "
              "Xid errors in dmesg and reboot"};
    case NvidiaTrouble::kRefused:
      return {CheckStatus::kFailure, why,
              "run nvidia-smi and see dmesg; if a container lost its GPUs, restart the container"};
  }
  const auto version = [&](const char* key) {
    const auto fact = readings.facts.find(key);
    return fact == readings.facts.end() || fact->second.empty() ? std::string("unknown") : fact->second;
  };
  for (const Note& note : readings.notes) {
    if (note.kind == NoteKind::kDriverHang) return {CheckStatus::kFailure, note.text, "see dmesg; reboot"};
  }
  if (readings.statistics.abandoned) {
    return {CheckStatus::kFailure, "a driver call did not return while idleburn read the GPUs",
            "look for Xid errors in dmesg; reboot if nvidia-smi hangs too"};
  }
  return {CheckStatus::kOk, "driver " + version("driver") + ", NVML " + version("nvml"), {}};
}

// Boards are counted, not their instances. A board that fell off the bus while it was read is a failure.
CheckVerdict JudgeCount(const DoctorReadings& readings, const CheckInfo& /*check*/) {
  std::vector<std::string> names;
  for (DeviceId id = 0; id < readings.devices.size(); ++id) {
    const Device& device = readings.devices[id];
    if (!device.mig) names.push_back(ShortName(device) + " " + device.name + " (" + device.uuid + ")");
  }
  if (names.empty()) {
    return {CheckStatus::kWarning, "none: " + readings.nvidia.why, std::string(kStillWorks)};
  }
  const std::string evidence = std::to_string(names.size()) + ": " + ListText(names);
  for (const Note& note : readings.notes) {
    if (note.kind == NoteKind::kDeviceLost) return {CheckStatus::kFailure, note.text, "see dmesg for Xid errors"};
  }
  return {CheckStatus::kOk, evidence, {}};
}

// The evidence is the first value that was read, and which GPUs gave none.
CheckVerdict JudgeSignal(const DoctorReadings& readings, const CheckInfo& check) {
  const std::vector<DeviceId> ids = AskedOf(readings, check.signal);
  if (ids.empty()) return NoGpu();
  // One GPU with a value is not enough: figures of the others would be missing from the whole.
  std::vector<std::string> without;
  std::string first;
  for (const DeviceId id : ids) {
    const Signal signal = ReadAs(readings.devices[id], check.signal);
    if ((readings.gpus[id].present & Bit(signal)) == 0) {
      without.push_back(WhyNot(readings, id, signal));
    } else if (first.empty()) {
      const std::string& counter = readings.devices[id].counter[Index(signal)];
      first = fmt::format("{} ({}: {})", counter, ShortName(readings.devices[id]),
                          ReadingText(Info(signal).unit, static_cast<double>(readings.gpus[id].last[Index(signal)])));
    }
  }
  if (without.empty()) return {CheckStatus::kOk, fmt::format("{}, {} of {}", first, ids.size(), ids.size()), {}};
  const std::string some = first.empty() ? "" : first + "; not ";
  return {CheckStatus::kWarning, some + ListText(without), std::string(check.fix)};
}

// Whether the ring gave anything follows from whether the gauge was polled in its place.
CheckVerdict JudgeRing(const DoctorReadings& readings, const CheckInfo& /*check*/) {
  bool boards = false;
  for (const DeviceId id : AskedOf(readings, Signal::kUtilization)) {
    boards = boards || (!readings.devices[id].mig && !IsAmd(readings.devices[id]));
  }
  if (!boards) return {CheckStatus::kSkipped, "no NVIDIA GPU with its own utilization", {}};
  if (readings.statistics.abandoned) return Hung();
  // The gauge is polled while a ring gives nothing that is stamped near now. So without a poll all stamps are the
  // ring's.
  const std::int64_t polled = CallsOf(readings, "nvmlDeviceGetUtilizationRates");
  std::size_t stamps = 0;
  for (const HeardOfGpu& gpu : readings.gpus) stamps += gpu.utilization_at.size();
  if (polled == 0 && stamps > 0) {
    return {CheckStatus::kOk, fmt::format("nvmlDeviceGetSamples gave {} stamped utilizations", stamps), {}};
  }
  if (polled == 0) {
    return {CheckStatus::kWarning, "nvmlDeviceGetSamples gave no utilization with a recent time stamp",
            "see the check utilization"};
  }
  return {CheckStatus::kWarning,
          fmt::format("nvmlDeviceGetSamples gives none, or only at times (some drivers while a GPU idles); idleburn "
                      "polled nvmlDeviceGetUtilizationRates {} times instead",
                      polled),
          "update the NVIDIA driver; until then idleburn can miss short bursts between two polls"};
}

// Three distances are the fewest whose median one late reading cannot move far.
CheckVerdict JudgeWindow(const DoctorReadings& readings, const CheckInfo& /*check*/) {
  std::vector<std::string> known;
  std::vector<std::string> unknown;
  for (const DeviceId id : AskedOf(readings, Signal::kUtilization)) {
    const Device& device = readings.devices[id];
    if (device.mig) continue;
    const std::vector<Instant>& at = readings.gpus[id].utilization_at;
    std::vector<Nanos> distances;
    for (std::size_t i = 1; i < at.size(); ++i) distances.push_back(at[i] - at[i - 1]);
    if (distances.size() < 3) {
      unknown.push_back(ShortName(device));
      continue;
    }
    const auto middle = distances.begin() + static_cast<std::ptrdiff_t>(distances.size() / 2);
    std::nth_element(distances.begin(), middle, distances.end());
    known.push_back(fmt::format("{}: every {} ms (median of {})", ShortName(device),
                                (middle->count() + 500'000) / 1'000'000, distances.size()));
  }
  if (known.empty() && unknown.empty()) return {CheckStatus::kSkipped, "no GPU with a utilization", {}};
  if (unknown.empty()) return {CheckStatus::kOk, ListText(known), {}};
  return {CheckStatus::kWarning, "fewer than four readings of " + ListText(unknown),
          "measure longer: idleburn record --for 1m"};
}

// Drivers keep the counters of slowdowns in fields of different numbers, so the evidence names them.
CheckVerdict JudgeReasons(const DoctorReadings& readings, const CheckInfo& check) {
  CheckVerdict verdict = JudgeSignal(readings, check);
  std::vector<std::string> fields;
  for (const DeviceId id : AskedOf(readings, check.signal)) {
    const auto fact = readings.facts.find("gpu." + readings.devices[id].uuid + ".slowdown_fields");
    if (fact != readings.facts.end()) fields.push_back(ShortName(readings.devices[id]) + " " + fact->second);
  }
  if (!fields.empty()) verdict.evidence += "; slowdown counters in fields " + ListText(fields);
  return verdict;
}

// Instances are told apart from a board that could have them and has none.
CheckVerdict JudgeMig(const DoctorReadings& readings, const CheckInfo& /*check*/) {
  std::vector<std::string> instances;
  for (DeviceId id = 0; id < readings.devices.size(); ++id) {
    if (readings.devices[id].mig) instances.push_back(ShortName(readings.devices[id]));
  }
  if (readings.devices.size() == 0) return NoGpu();
  if (instances.empty()) return {CheckStatus::kOk, "no GPU is split into instances", {}};
  return {CheckStatus::kOk, std::to_string(instances.size()) + ": " + ListText(instances), {}};
}

// Counters of memory errors rise only; an Xid event shows only while one waits for it.
CheckVerdict JudgeErrors(const DoctorReadings& readings, const CheckInfo& /*check*/) {
  if (AskedOf(readings, Signal::kXid).empty()) return NoGpu();
  if (readings.statistics.abandoned) return Hung();
  for (const Note& note : readings.notes) {
    if (note.kind == NoteKind::kXid) return {CheckStatus::kWarning, note.text, "see dmesg; look the Xid code up"};
  }
  std::vector<std::string> counts;
  std::string bad;
  for (const DeviceId id : AskedOf(readings, Signal::kXid)) {
    const auto fact = readings.facts.find("gpu." + readings.devices[id].uuid + ".ecc_uncorrected");
    if (fact == readings.facts.end()) continue;
    counts.push_back(ShortName(readings.devices[id]) + " " + fact->second);
    if (fact->second != "0" && bad.empty()) bad = ShortName(readings.devices[id]);
  }
  const bool events = CallsOf(readings, "nvmlEventSetWait_v2") > 0;
  const std::string evidence = (counts.empty() ? "no ECC counter" : "uncorrected since the driver loaded: ") +
                               ListText(counts) + (events ? "; idleburn waits for Xid events" : "; no Xid events");
  if (!bad.empty()) return {CheckStatus::kWarning, evidence, bad + " has memory errors: drain it and reset it"};
  if (events) return {CheckStatus::kOk, evidence, {}};
  return {CheckStatus::kWarning, evidence, "follow dmesg for NVRM: Xid instead"};
}

// A file that is not there is all the evidence there is without such a GPU.
CheckVerdict JudgeAmd(const DoctorReadings& readings, const CheckInfo& /*check*/) {
  std::vector<std::string> names;
  for (DeviceId id = 0; id < readings.devices.size(); ++id) {
    if (IsAmd(readings.devices[id])) names.push_back(ShortName(readings.devices[id]));
  }
  if (names.empty()) return {CheckStatus::kSkipped, "/sys/class/drm/card*/device/gpu_busy_percent does not exist", {}};
  return {CheckStatus::kOk, ListText(names), {}};
}

// A tick may be missed now and then; one in twenty would show in the readings.
CheckVerdict JudgeSampler(const DoctorReadings& readings, const CheckInfo& /*check*/) {
  const SamplerStatistics& s = readings.statistics;
  if (s.abandoned || s.ticks == 0) return {CheckStatus::kSkipped, "no tick finished", {}};
  const std::string evidence =
      fmt::format("{} ticks, {} missed; started {} late (p99), took {} (p99)", s.ticks, s.missed,
                  DurationForPeople(s.late.Quantile(0.99)), DurationForPeople(s.work.Quantile(0.99)));
  if (s.missed * 20 <= s.ticks) return {CheckStatus::kOk, evidence, {}};
  return {CheckStatus::kWarning, evidence, "leave idleburn a core, or read less often (--hz 2)"};
}

}  // namespace idleburn
