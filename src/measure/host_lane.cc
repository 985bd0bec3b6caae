#include "measure/host_lane.h"

#include <unistd.h>

#include <algorithm>
#include <array>

#include "measure/system_facts.h"

namespace idleburn {
namespace {

constexpr Nanos kSlowPeriod = Nanos(kNanosPerSecond);
// Enough for the machine's files and a hundred processes, and far below the usual limit of 1024.
constexpr std::size_t kMostOpenFiles = 256;

std::int64_t NanosPerTick() {
  const long ticks = sysconf(_SC_CLK_TCK);
  return kNanosPerSecond / (ticks > 0 ? ticks : 100);
}

}  // namespace

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

void HostLane::Tick(Instant now, LiveSink& out) {
  // Also due if the time went back.
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
      // No group of its own: what its processes hold, with what they share counted in each.
      sample.Set(HostSignal::kMemoryUsed, tree_->resident_pages() * page_size_);
      if (machine_.memory()) sample.Set(HostSignal::kMemoryLimit, *machine_.memory());
    }
  }
  out.OnHost(std::span(&sample, 1));
  const std::string processes = "the workload's processes";
  // Where even we are not there it is another's /proc; else the workload has ended already.
  if (slow && !tree_->seen() && FileText(proc_ + "/" + std::to_string(spec_.workload->adopter) + "/stat").empty()) {
    NoteOnce(now, processes + " cannot be seen in " + proc_ + "; measure from the namespace they run in", out);
  }
  if (tree_->io_denied()) {
    NoteOnce(
        now,
        processes + ": what they read and write may not be read (" + proc_ + "/PID/io); run as their user or as root",
        out);
  }
  if (tree_->wait_denied()) {
    NoteOnce(now, processes + ": waiting for a CPU may not be read (" + proc_ + "/PID/task/TID/schedstat)", out);
  }
}

// Where the workload's data lie: looked at a few times, when it may have opened them.
void HostLane::TellMounts(LiveSink& out) {
  constexpr std::array<int, 4> kLooks = {3, 10, 60, 600};  // seconds
  if (std::find(kLooks.begin(), kLooks.end(), ++scans_) == kLooks.end()) return;
  const std::string mounts = MountsRead(proc_, tree_->pids());
  if (mounts.empty() || mounts == mounts_read_) return;
  mounts_read_ = mounts;
  out.OnFact({"system.data_mounts", mounts});
}

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
  // Decided once: a counter that changes its source would jump.
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

void HostLane::ReadCpus(HostSample* sample) {
  std::string buffer;
  KeptFile status(proc_ + "/" + std::to_string(spec_.workload->pid) + "/status", nullptr);
  const auto text = status.Read(buffer);
  if (!text && tree_->seen()) return;  // it has ended: what was read before stays
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

void HostLane::NoteWhatLacks(const HostSample& machine, LiveSink& out) {
  if (machine.Lacks(HostSignal::kPsiCpuSome)) {
    NoteOnce(machine.time,
             "pressure of this machine cannot be read (" + proc_ +
                 "/pressure); boot with psi=1 to know whether tasks wait for CPUs, disks or memory",
             out);
  }
  if (machine.Lacks(HostSignal::kRdmaReceived) || machine.Lacks(HostSignal::kRdmaSent)) {
    NoteOnce(machine.time,
             "traffic of this machine's InfiniBand ports cannot be read (" + spec_.root +
                 "/sys/class/infiniband/*/ports/*/counters): no such counter, or one of 32 bits that is full",
             out);
  }
  if (machine.Lacks(HostSignal::kCpuTime)) {
    NoteOnce(machine.time, "the machine's CPU time cannot be read (" + proc_ + "/stat)", out);
  }
}

void HostLane::NoteOnce(Instant now, const std::string& text, LiveSink& out) {
  if (!noted_.insert(text).second) return;
  out.OnNote({now, NoteKind::kFailure, text});
}

}  // namespace idleburn
