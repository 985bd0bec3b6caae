#include "measure/machine_signals.h"

#include "measure/proc_text.h"

namespace idleburn {
namespace {

void Put(HostSample* sample, HostSignal signal, std::optional<std::int64_t> value) {
  if (value) {
    sample->Set(signal, *value);
  } else {
    sample->SetUnavailable(signal);
  }
}

void PutPressure(HostSample* sample, HostSignal signal, std::optional<std::string_view> text, std::string_view line) {
  Put(sample, signal, text ? ParsePressure(*text, line) : std::nullopt);
}

void PutBytes(HostSample* sample, HostSignal in, HostSignal out, std::optional<std::string_view> text,
              ByteCounts (*parse)(std::string_view)) {
  const ByteCounts bytes = text ? parse(*text) : ByteCounts{};
  Put(sample, in, text ? std::optional(bytes.in) : std::nullopt);
  Put(sample, out, text ? std::optional(bytes.out) : std::nullopt);
}

// "0.20 0.18 0.12 1/80 11206": all threads are after the slash.
std::optional<std::int64_t> ThreadsOf(std::string_view loadavg) {
  Words words(loadavg);
  words.Skip(3);
  const std::string_view counts = words.Next();
  const std::size_t slash = counts.find('/');
  return slash == std::string_view::npos ? std::nullopt : NumberOf(counts.substr(slash + 1));
}

}  // namespace

MachineSignals::MachineSignals(const std::string& proc, std::int64_t nanos_per_tick, OpenFileBudget* files)
    : nanos_per_tick_(nanos_per_tick),
      cpu_pressure_(proc + "/pressure/cpu", files),
      io_pressure_(proc + "/pressure/io", files),
      memory_pressure_(proc + "/pressure/memory", files),
      stat_(proc + "/stat", files),
      meminfo_(proc + "/meminfo", files),
      vmstat_(proc + "/vmstat", files),
      diskstats_(proc + "/diskstats", files),
      net_dev_(proc + "/net/dev", files),
      loadavg_(proc + "/loadavg", files) {}

void MachineSignals::ReadFast(HostSample* sample) {
  PutPressure(sample, HostSignal::kPsiCpuSome, Text(&cpu_pressure_), "some");
  const auto io = Text(&io_pressure_);
  PutPressure(sample, HostSignal::kPsiIoSome, io, "some");
  PutPressure(sample, HostSignal::kPsiIoFull, io, "full");
  const auto memory = Text(&memory_pressure_);
  PutPressure(sample, HostSignal::kPsiMemorySome, memory, "some");
  PutPressure(sample, HostSignal::kPsiMemoryFull, memory, "full");
}

void MachineSignals::ReadSlow(HostSample* sample) {
  ReadCpu(sample);
  ReadMemory(sample);
  const auto vmstat = Text(&vmstat_);
  Put(sample, HostSignal::kMajorFaults, vmstat ? ValueOfKey(*vmstat, "pgmajfault") : std::nullopt);
  PutBytes(sample, HostSignal::kReadBytes, HostSignal::kWriteBytes, Text(&diskstats_), ParseDiskstats);
  PutBytes(sample, HostSignal::kNetReceived, HostSignal::kNetSent, Text(&net_dev_), ParseNetDev);
  const auto loadavg = Text(&loadavg_);
  Put(sample, HostSignal::kThreads, loadavg ? ThreadsOf(*loadavg) : std::nullopt);
}

void MachineSignals::ReadCpu(HostSample* sample) {
  const auto text = Text(&stat_);
  const auto cpu = text ? ParseMachineCpu(*text) : std::nullopt;
  Put(sample, HostSignal::kCpuTime, cpu ? std::optional(cpu->busy_ticks * nanos_per_tick_) : std::nullopt);
  cpus_ = cpu && cpu->cpus > 0 ? std::optional(cpu->cpus) : std::nullopt;
  Put(sample, HostSignal::kCpus, cpus_);
}

void MachineSignals::ReadMemory(HostSample* sample) {
  const auto text = Text(&meminfo_);
  const auto total = text ? ValueOfKey(*text, "MemTotal:") : std::nullopt;
  const auto available = text ? ValueOfKey(*text, "MemAvailable:") : std::nullopt;
  memory_ = total ? std::optional(*total * 1024) : std::nullopt;
  Put(sample, HostSignal::kMemoryLimit, memory_);
  Put(sample, HostSignal::kMemoryUsed, total && available ? std::optional((*total - *available) * 1024) : std::nullopt);
}

}  // namespace idleburn
