#include "measure/host_lane.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <string>
#include <utility>

#include "measure/proc_files.h"
#include "measure/system_facts.h"
#include "text/figures.h"

namespace idleburn {

namespace {

namespace fs = std::filesystem;

// The unit of port_rcv_data and port_xmit_data, and where a 32-bit counter stops.
constexpr std::int64_t kBytesOfUnit = 4;
constexpr std::int64_t kLast32 = 0xFFFFFFFF;

// The entries of a folder in one order on every machine, short names first: mlx5_2 before mlx5_10. Virtual functions
// have the higher numbers. Empty if there is no such folder.
std::vector<fs::path> EntriesOf(const fs::path& folder) {
  std::vector<fs::path> entries;
  std::error_code failed;
  for (fs::directory_iterator at(folder, failed), end; !failed && at != end; at.increment(failed)) {
    entries.push_back(at->path());
  }
  std::sort(entries.begin(), entries.end(), [](const fs::path& a, const fs::path& b) {
    return std::pair(a.native().size(), a.native()) < std::pair(b.native().size(), b.native());
  });
  return entries;
}

}  // namespace

// A machine without InfiniBand has no such folder, and then no counters. That is no fault and is not noted.
InfinibandPorts::InfinibandPorts(const std::string& sys) {
  for (const fs::path& device : EntriesOf(sys + "/class/infiniband")) {
    for (const fs::path& port : EntriesOf(device / "ports")) {
      const std::string counters = (port / "counters").string();
      received_.counters.push_back({KeptFile(counters + "/port_rcv_data", nullptr), {}});
      sent_.counters.push_back({KeptFile(counters + "/port_xmit_data", nullptr), {}});
      ports_.push_back({device.filename().string() + "/" + port.filename().string(), {}, {}});
    }
  }
}

std::optional<std::int64_t> InfinibandPorts::Direction::Read(std::string& buffer,
                                                             std::optional<std::int64_t> PortTraffic::*traffic,
                                                             std::vector<PortTraffic>* ports) {
  bool any = false;
  bool stopped = false;
  for (std::size_t i = 0; i < counters.size(); ++i) {
    Counter& counter = counters[i];
    const std::optional<std::string_view> text = counter.file.Read(buffer);
    const std::optional<std::int64_t> now = text ? NumberOf(WithoutEnd(*text)) : std::nullopt;
    counter.stopped = counter.stopped || now == kLast32;
    stopped = stopped || counter.stopped;
    std::optional<std::int64_t>& rise = (*ports)[i].*traffic;
    rise.reset();
    if (!now || counter.stopped) continue;
    any = true;
    // A counter that fell was reset. Its rise since the reset is unknown, so it counts from here.
    rise = counter.last && *now >= *counter.last ? (*now - *counter.last) * kBytesOfUnit : 0;
    bytes += *rise;
    counter.last = now;
  }
  return any && !stopped ? std::optional(bytes) : std::nullopt;
}

void InfinibandPorts::Read(HostSample* sample) {
  struct Row {
    HostSignal signal;
    Direction* direction;
    std::optional<std::int64_t> PortTraffic::*traffic;
  };
  for (const Row& row : {Row{HostSignal::kRdmaReceived, &received_, &PortTraffic::received},
                         Row{HostSignal::kRdmaSent, &sent_, &PortTraffic::sent}}) {
    if (ports_.empty()) continue;
    if (const std::optional<std::int64_t> bytes = row.direction->Read(buffer_, row.traffic, &ports_)) {
      sample->Set(row.signal, *bytes);
    } else {
      sample->SetUnavailable(row.signal);
    }
  }
}

namespace {

// Puts a value that may be absent. An absent value is unavailable, never 0.
void Put(HostSample* sample, HostSignal signal, std::optional<std::int64_t> value) {
  if (value) {
    sample->Set(signal, *value);
  } else {
    sample->SetUnavailable(signal);
  }
}

// Puts the total of one line, "some" or "full", of a pressure file.
void PutPressure(HostSample* sample, HostSignal signal, std::optional<std::string_view> text, std::string_view line) {
  Put(sample, signal, text ? ParsePressure(*text, line) : std::nullopt);
}

// Puts both directions of a file. An unreadable file makes both unavailable; 0 would claim that nothing moved.
void PutBytes(HostSample* sample, HostSignal in, HostSignal out, std::optional<std::string_view> text,
              ByteCounts (*parse)(std::string_view)) {
  const ByteCounts bytes = text ? parse(*text) : ByteCounts{};
  Put(sample, in, text ? std::optional(bytes.in) : std::nullopt);
  Put(sample, out, text ? std::optional(bytes.out) : std::nullopt);
}

// The number of threads in a load average, after the slash: "0.20 0.18 0.12 1/80 11206".
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
  // Without lines of single CPUs their number is unknown, not 0.
  cpus_ = cpu && cpu->cpus > 0 ? std::optional(cpu->cpus) : std::nullopt;
  Put(sample, HostSignal::kCpus, cpus_);
}

// Used memory is total minus available, not minus free: the kernel gives up its caches when a program needs the
// memory.
void MachineSignals::ReadMemory(HostSample* sample) {
  const auto text = Text(&meminfo_);
  const auto total = text ? ValueOfKey(*text, "MemTotal:") : std::nullopt;
  const auto available = text ? ValueOfKey(*text, "MemAvailable:") : std::nullopt;
  memory_ = total ? std::optional(*total * 1024) : std::nullopt;
  Put(sample, HostSignal::kMemoryLimit, memory_);
  Put(sample, HostSignal::kMemoryUsed, total && available ? std::optional((*total - *available) * 1024) : std::nullopt);
}

namespace {

constexpr Nanos kSlowPeriod = Nanos(kNanosPerSecond);
// Open files: enough for the machine and a hundred processes, and far below the usual limit of 1024.
constexpr std::size_t kMostOpenFiles = 256;

// The length of a clock tick in /proc. USER_HZ is 100 on x86-64 and aarch64, which is also the fallback.
std::int64_t NanosPerTick() {
  const long ticks = sysconf(_SC_CLK_TCK);
  return kNanosPerSecond / (ticks > 0 ? ticks : 100);
}

}  // namespace

// A lane without a workload reads the machine alone, as `record` does without --pid.
HostLane::HostLane(HostLaneSpec spec)
    : spec_(std::move(spec)),
      proc_(spec_.root + "/proc"),
      page_size_(sysconf(_SC_PAGESIZE)),
      files_{kMostOpenFiles},
      machine_(proc_, NanosPerTick(), &files_),
      infiniband_(spec_.root + "/sys") {
  if (!spec_.workload) return;
  const HostWorkload& workload = *spec_.workload;
  ProcessTreeSpec tree;
  tree.proc = proc_;
  tree.root = workload.pid;
  tree.adopter = workload.adopter;
  tree.not_ours = workload.not_ours;
  tree.run_id = workload.run_id;
  tree.reaped = workload.reaped;
  tree.nanos_per_tick = NanosPerTick();
  tree_.emplace(std::move(tree), &files_);
  cgroup_.emplace(spec_.root, workload.pid, &files_);
}

// The slow part runs on a grid of one second that late ticks do not shift.
void HostLane::Tick(Instant now, LiveSink& out) {
  // If the time went back, `next_slow_` lies too far ahead. Then the slow part is due too.
  const bool slow = !next_slow_ || now >= *next_slow_ || *next_slow_ - now > kSlowPeriod;
  if (slow) next_slow_ = next_slow_ && now - *next_slow_ < kSlowPeriod ? *next_slow_ + kSlowPeriod : now + kSlowPeriod;
  if (*next_slow_ - now > kSlowPeriod) next_slow_ = now + kSlowPeriod;
  HostSample sample;
  sample.time = now;
  sample.scope = HostScope::kMachine;
  machine_.ReadFast(&sample);
  if (slow) machine_.ReadSlow(&sample);
  if (slow) infiniband_.Read(&sample);
  out.OnHost(std::span(&sample, 1));
  if (slow && !infiniband_.ports().empty()) out.OnPorts(infiniband_.ports());
  if (slow) NoteWhatLacks(sample, out);
  if (tree_) TickWorkload(now, slow, out);
}

void HostLane::TickWorkload(Instant now, bool slow, LiveSink& out) {
  if (slow) tree_->Scan();
  tree_->Tick(now, io_age_);
  if (slow) TellMounts(out);
  HostSample sample;
  sample.time = now;
  sample.scope = HostScope::kWorkload;
  cgroup_->ReadPressure(&sample);
  PutUse(&sample);
  if (slow) {
    tree_->ReadWaits();
    if (tree_->wait_denied()) {
      sample.SetUnavailable(HostSignal::kCpuWait);
    } else if (tree_->processes() > 0) {  // what ended has taken what it waited last along
      sample.Set(HostSignal::kCpuWait, tree_->run_queue_wait());
    }
    PutWorkers(&sample);
    ReadCpus(&sample);
    cgroup_->ReadSlow(machine_.memory(), &sample);
    if (!sample.Has(HostSignal::kMemoryUsed) && tree_->seen()) {
      // The workload has no group of its own. The sum of its processes counts shared memory in each of them.
      sample.Set(HostSignal::kMemoryUsed, tree_->resident_pages() * page_size_);
      if (machine_.memory()) sample.Set(HostSignal::kMemoryLimit, *machine_.memory());
    }
  }
  out.OnHost(std::span(&sample, 1));
  // Each thing that cannot be read is noted once, with its file.
  const std::string processes = "the workload's processes";
  // If idleburn itself is not in this /proc, it is of another pid namespace. Otherwise the workload has ended.
  if (slow && !tree_->seen() && FileText(proc_ + "/" + std::to_string(spec_.workload->adopter) + "/stat").empty()) {
    NoteOnce(now, processes + " cannot be seen in " + proc_ + "; measure from the namespace they run in", out);
  }
  if (tree_->io_denied()) {
    NoteOnce(now,
             processes + ": no permission to read their storage counters (" + proc_ +
                 "/PID/io); run as their user or as root",
             out);
  }
  if (tree_->wait_denied()) {
    NoteOnce(now, processes + ": no permission to read their waiting for CPUs (" + proc_ + "/PID/task/TID/schedstat)",
             out);
  }
}

// Tells on which file systems the workload's data lie. It looks a few times, because the workload opens files late.
void HostLane::TellMounts(LiveSink& out) {
  constexpr std::array<int, 4> kLooks = {3, 10, 60, 600};  // seconds
  if (std::find(kLooks.begin(), kLooks.end(), ++scans_) == kLooks.end()) return;
  const std::string mounts = MountsRead(proc_, tree_->pids());
  // A later fact replaces an earlier one, so it is told only when it changed.
  if (mounts.empty() || mounts == mounts_read_) return;
  mounts_read_ = mounts;
  out.OnFact({"system.data_mounts", mounts});
}

// Puts what the workload used into the sample. Bytes come from its processes. If those may not be read, bytes come
// from its control group, which may hold other processes too. The source is chosen when the first process is seen.
void HostLane::PutUse(HostSample* sample) {
  struct Row {
    HostSignal signal;
    ProcessTree::Use use;
    bool of_io;
  };
  constexpr std::array<Row, ProcessTree::kUses> kRows = {{
      {HostSignal::kCpuTime, ProcessTree::kCpu, false},
      {HostSignal::kMajorFaults, ProcessTree::kMajorFaults, false},
      {HostSignal::kReadChars, ProcessTree::kReadChars, true},
      {HostSignal::kWriteChars, ProcessTree::kWriteChars, true},
      {HostSignal::kReadBytes, ProcessTree::kReadBytes, true},
      {HostSignal::kWriteBytes, ProcessTree::kWriteBytes, true},
  }};
  // The source is chosen once, because a counter that changes its source would jump.
  if (!bytes_by_group_ && tree_->seen()) bytes_by_group_ = tree_->io_denied();
  const bool bytes_by_group = bytes_by_group_.value_or(false) && cgroup_->ReadIo(sample);
  for (const Row& row : kRows) {
    if (bytes_by_group && (row.signal == HostSignal::kReadBytes || row.signal == HostSignal::kWriteBytes)) continue;
    if (!tree_->seen() || (row.of_io && tree_->io_denied())) {
      sample->SetUnavailable(row.signal);
    } else {
      sample->Set(row.signal, tree_->used()[row.use]);
    }
  }
  constexpr std::array<HostSignal, 3> kSeen = {HostSignal::kBlockedTime, HostSignal::kProcesses, HostSignal::kThreads};
  const std::array<std::int64_t, 3> seen = {tree_->blocked(), tree_->processes(), tree_->threads()};
  for (std::size_t i = 0; i < kSeen.size(); ++i) {
    if (tree_->seen()) {
      sample->Set(kSeen[i], seen[i]);
    } else {
      sample->SetUnavailable(kSeen[i]);
    }
  }
}

// Sums over all workers since the start. A reader divides each by kWorkerTime to know what a worker did on average.
void HostLane::PutWorkers(HostSample* sample) {
  const WorkerSums::Times& times = tree_->workers();
  constexpr std::array<HostSignal, 4> kRows = {HostSignal::kWorkerTime, HostSignal::kWorkerCpuTime,
                                               HostSignal::kWorkerCpuWait, HostSignal::kWorkerBlockedTime};
  const std::array<std::int64_t, 4> values = {times.alive, times.cpu, times.wait, times.blocked};
  for (std::size_t i = 0; i < kRows.size(); ++i) {
    const bool denied = kRows[i] == HostSignal::kWorkerCpuWait && tree_->wait_denied();
    if (!tree_->seen() || denied) {
      sample->SetUnavailable(kRows[i]);
    } else {
      sample->Set(kRows[i], values[i]);
    }
  }
}

// The CPUs that the workload may use: the least of its affinity, the machine and its quota. With 64 CPUs online, an
// affinity of "0-15" and a quota of 7.5 CPUs it is 8. A cause that blames the CPUs needs this number, not the
// machine's.
void HostLane::ReadCpus(HostSample* sample) {
  std::string buffer;
  KeptFile status(proc_ + "/" + std::to_string(spec_.workload->pid) + "/status", nullptr);
  const auto text = status.Read(buffer);
  if (!text && tree_->seen()) return;  // it has ended: what was read before stays
  // The affinity is that of the workload's first process. Its other processes inherit it, unless they change it.
  std::optional<std::int64_t> cpus;
  for (std::string_view rest = text.value_or(std::string_view()); !rest.empty();) {
    Words words(TakeLine(&rest));
    if (words.Next() == "Cpus_allowed_list:") cpus = CountOfList(words.Next());
  }
  if (machine_.cpus()) cpus = std::min(cpus.value_or(*machine_.cpus()), *machine_.cpus());
  const std::optional<std::int64_t> quota = cgroup_->QuotaCpus();
  if (quota) cpus = std::min(cpus.value_or(*quota), *quota);
  if (cpus) {
    sample->Set(HostSignal::kCpus, *cpus);
  } else {
    sample->SetUnavailable(HostSignal::kCpus);
  }
}

// Names what this machine does not tell. Signals that lack only for the workload are noted in TickWorkload.
void HostLane::NoteWhatLacks(const HostSample& machine, LiveSink& out) {
  if (machine.Lacks(HostSignal::kPsiCpuSome)) {
    NoteOnce(machine.time,
             "idleburn cannot read the pressure of this machine (" + proc_ +
                 "/pressure); boot with psi=1 to see whether tasks wait for CPUs, disks or memory",
             out);
  }
  if (machine.Lacks(HostSignal::kRdmaReceived) || machine.Lacks(HostSignal::kRdmaSent)) {
    NoteOnce(machine.time,
             "idleburn cannot read the traffic of this machine's InfiniBand ports (" + spec_.root +
                 "/sys/class/infiniband/*/ports/*/counters): no such counter, or a 32-bit counter that is full",
             out);
  }
  if (machine.Lacks(HostSignal::kCpuTime)) {
    NoteOnce(machine.time, "idleburn cannot read the machine's CPU time (" + proc_ + "/stat)", out);
  }
}

void HostLane::NoteOnce(Instant now, const std::string& text, LiveSink& out) {
  if (!noted_.insert(text).second) return;
  out.OnNote({now, NoteKind::kFailure, text});
}

namespace {

constexpr Nanos kJump(100'000'000);  // more than any clock is slewed between two ticks

}  // namespace

// The boot clock minus the monotonic clock grows while the machine sleeps. The wall clock minus the boot clock
// changes when somebody sets it. Slewing by NTP stays below the limit and is not noted.
void ClockLane::Tick(Instant now, LiveSink& out) {
  const ClockReading read = clock_->Read();
  if (last_) {
    const Nanos slept = (read.boot - read.monotonic) - (last_->boot - last_->monotonic);
    const Nanos step = (read.wall - last_->wall) - (read.boot - last_->boot);
    if (slept > kJump) {
      out.OnNote({now, NoteKind::kSuspend,
                  "the machine slept for " + DurationForPeople(slept) + "; this run leaves that time out"});
    }
    if (step > kJump || step < -kJump) {
      out.OnNote({now, NoteKind::kClockStep,
                  "the wall clock was set " + std::string(step > kJump ? "forward by " : "back by ") +
                      DurationForPeople(step > kJump ? step : -step) + "; times in this run do not change"});
    }
  }
  last_ = read;
}

}  // namespace idleburn
