#include "measure/process_tree.h"

#include <dirent.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <numeric>
#include <set>
#include <utility>

namespace idleburn {

// A process that forked workers is none itself, so both are found first. A worker counts from its second reading on.
void WorkerSums::Update(std::span<const ProcessReading> processes) {
  std::map<pid_t, std::size_t> commands;
  for (const ProcessReading& p : processes) commands[p.pid] = p.command;
  const auto forked = [&](const ProcessReading& p) {
    const auto parent = commands.find(p.parent);
    return p.command != 0 && parent != commands.end() && parent->second == p.command;
  };
  std::set<pid_t> with_workers;
  for (const ProcessReading& p : processes) {
    if (forked(p)) with_workers.insert(p.parent);
  }
  std::map<pid_t, ProcessReading> workers;
  for (const ProcessReading& p : processes) {
    if (!forked(p) || with_workers.count(p.pid) != 0) continue;
    workers[p.pid] = p;
    const auto before = workers_.find(p.pid);
    // The kernel may have given the pid to another process. Then time or CPU time went back.
    if (before == workers_.end() || p.at <= before->second.at || p.cpu < before->second.cpu) continue;
    times_.alive += (p.at - before->second.at).count();
    times_.cpu += p.cpu - before->second.cpu;
    times_.wait += std::max<std::int64_t>(0, p.wait - before->second.wait);
    times_.blocked += std::max<std::int64_t>(0, p.blocked - before->second.blocked);
  }
  workers_ = std::move(workers);
}

namespace {

// How long use may be awaited from the adopter.
constexpr std::int64_t kAdopterPatience = kNanosPerSecond;
// How often SettleAccounts goes over the open accounts in one tick. A process that waits for children all the time
// would otherwise hold up the tick.
constexpr int kMostRounds = 8;
// How much of a process's environment is searched for the run id, in bytes.
constexpr std::size_t kMostEnvironment = 128 * 1024;
// A forked process may start another program a little later. So its command line is read a few times.
constexpr int kCommandReads = 3;

// The entries of a folder whose names are numbers, sorted: pids or thread ids.
std::vector<pid_t> NumbersIn(const std::string& folder) {
  std::vector<pid_t> numbers;
  const std::unique_ptr<DIR, int (*)(DIR*)> open(opendir(folder.c_str()), closedir);
  if (open == nullptr) return numbers;
  while (const dirent* entry = readdir(open.get())) {
    const std::optional<std::int64_t> number = NumberOf(static_cast<const char*>(entry->d_name));
    if (number) numbers.push_back(static_cast<pid_t>(*number));
  }
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

void AddTo(ProcessTree::Used* sum, const ProcessTree::Used& other) {
  for (std::size_t i = 0; i < sum->size(); ++i) (*sum)[i] += other[i];
}

// What is awaited may be negative: the adopter reported use before /proc forgot the process. That is no use yet.
ProcessTree::Used Positive(ProcessTree::Used used) {
  for (std::int64_t& each : used) each = std::max<std::int64_t>(0, each);
  return used;
}

// The part of `gone` that a rise from `before` to `after` does not cover: 5 gone and a rise of 3 leave 2.
ProcessTree::Used Uncovered(const ProcessTree::Used& gone, const ProcessTree::Used& before,
                            const ProcessTree::Used& after) {
  ProcessTree::Used rest = {};
  for (std::size_t i = 0; i < rest.size(); ++i) {
    rest[i] = std::max<std::int64_t>(0, gone[i] - std::max<std::int64_t>(0, after[i] - before[i]));
  }
  return rest;
}

// Whether a process waited for a child between two readings. Minor faults decide too, because every process has some,
// even one that ran for less than a clock tick.
bool WaitedForMore(const ProcessStat& before, const ProcessStat& after) {
  return after.waited_cpu_ticks != before.waited_cpu_ticks || after.waited_faults != before.waited_faults;
}

// Whether a process is a zombie. Its children already have another parent.
bool Ended(const ProcessStat& stat) { return stat.state == 'Z'; }

}  // namespace

ProcessTree::ProcessTree(ProcessTreeSpec spec, OpenFileBudget* files) : spec_(std::move(spec)), files_(files) {
  to_judge_.emplace(spec_.root, false);
}

void ProcessTree::Scan() {
  std::vector<pid_t> now = NumbersIn(spec_.proc);
  std::vector<pid_t> fresh;
  std::set_difference(now.begin(), now.end(), listed_.begin(), listed_.end(), std::back_inserter(fresh));
  for (const pid_t pid : fresh) to_judge_.emplace(pid, false);
  for (const pid_t pid : look_again_) to_judge_.emplace(pid, true);
  look_again_.clear();
  listed_ = std::move(now);
}

// Reports of the adopter come first: its children may be gone since the last tick. Accounts come last, when all that
// was visited is known.
void ProcessTree::Tick(Instant now, Nanos io_age) {
  now_ = now;
  io_age_ = io_age;
  SettleReaped();
  JudgeSome();
  const std::size_t visits = std::min(kMostVisited, known_.size());
  for (std::size_t i = 0; i < visits; ++i) {
    auto at = known_.lower_bound(next_visit_);
    if (at == known_.end()) at = known_.begin();
    if (at == known_.end()) break;
    next_visit_ = at->first + 1;
    Visit(at->first);
  }
  SettleAccounts();
  AddUp();
}

// Decides for some new processes whether they belong to the workload.
void ProcessTree::JudgeSome() {
  strangers_.clear();
  for (std::size_t i = 0; i < kMostJudged && !to_judge_.empty(); ++i) {
    // Pids of the workload usually follow the pid of its root. Other processes of the machine can wait.
    auto next = to_judge_.lower_bound(spec_.root);
    if (next == to_judge_.end()) next = to_judge_.begin();
    const auto [pid, again] = *next;
    to_judge_.erase(next);
    if (Has(pid)) continue;
    KeptFile file(spec_.proc + "/" + std::to_string(pid) + "/stat", nullptr);
    const auto text = file.Read(buffer_);
    const auto stat = text ? ParseProcessStat(*text) : std::nullopt;
    if (!stat) continue;
    if (Belongs(pid, *stat)) {
      Join(pid, *stat);
      continue;
    }
    strangers_.emplace(pid, *stat);
    // It may be about to start another program, whose environment has the run id. So it is judged once more.
    if (!again && !spec_.run_id.empty()) look_again_.push_back(pid);
  }
  // A child can have a smaller pid than its parent, because pids wrap around. So strangers are checked again.
  for (bool joined = true; joined;) {
    joined = false;
    for (auto at = strangers_.begin(); at != strangers_.end();) {
      const bool belongs = Has(at->second.parent);
      if (belongs) Join(at->first, at->second);
      at = belongs ? strangers_.erase(at) : std::next(at);
      joined = joined || belongs;
    }
  }
}

// Whether a process is the workload's. The cheap signs come first; reading the environment comes last.
bool ProcessTree::Belongs(pid_t pid, const ProcessStat& stat) {
  if (std::find(spec_.not_ours.begin(), spec_.not_ours.end(), pid) != spec_.not_ours.end()) return false;
  if (pid == spec_.root || Has(stat.parent)) return true;
  if (spec_.adopter != 0 && stat.parent == spec_.adopter) return true;
  // A process of the workload leads its session.
  if (stat.session != 0 && stat.session != pid && Has(stat.session)) return true;
  return !spec_.run_id.empty() && pid != spec_.adopter && HasRunId(pid);
}

// Whether the process was started with the run id in its environment, for processes that detach themselves completely.
bool ProcessTree::HasRunId(pid_t pid) {
  KeptFile file(spec_.proc + "/" + std::to_string(pid) + "/environ", nullptr);
  const auto text = file.Read(buffer_);
  if (!text) return false;
  const std::string wanted = '\0' + ("IDLEBURN_RUN_ID=" + spec_.run_id) + '\0';
  const std::string framed = '\0' + std::string(text->substr(0, kMostEnvironment)) + '\0';
  return framed.find(wanted) != std::string::npos;
}

// Takes a process into the tree and reads it at once. If it ended meanwhile, it leaves again without a trace.
void ProcessTree::Join(pid_t pid, const ProcessStat& stat) {
  const std::string folder = spec_.proc + "/" + std::to_string(pid);
  Process& process = known_[pid];
  process.stat = stat;
  process.stat_file = KeptFile(folder + "/stat", files_);
  process.io_file = KeptFile(folder + "/io", files_);
  process.wait_file = KeptFile(folder + "/task/" + std::to_string(pid) + "/schedstat", files_);
  if (!ReadProcess(known_.find(pid), true)) known_.erase(pid);
}

// Bytes of a process whose parent is unknown are read each time, because nobody reports what it does after the last
// look.
bool ProcessTree::IoIsDue(const Process& process) const {
  return !Has(process.stat.parent) || !process.io_read_at || now_ - *process.io_read_at >= io_age_;
}

bool ProcessTree::ReadProcess(Found::iterator at, bool with_io) {
  Process& process = at->second;
  const Used answered = AnsweredBy(process);
  Used used = process.used;
  // Bytes are read before stat. If the process waits for a child in between, stat shows that and the account opens.
  const bool look = with_io && !io_denied_;
  const auto io_text = look ? process.io_file.Read(buffer_) : std::nullopt;
  const auto io = io_text ? ParseProcessIo(*io_text) : std::nullopt;
  const ReadFault io_fault = look ? process.io_file.fault() : ReadFault::kNone;
  if (io) {
    process.io_read_at = now_;
    used[kReadChars] = io->read_chars;
    used[kWriteChars] = io->write_chars;
    used[kReadBytes] = io->read_bytes;
    used[kWriteBytes] = io->write_bytes;
  }
  const auto text = process.stat_file.Read(buffer_);
  const auto stat = text ? ParseProcessStat(*text) : std::nullopt;
  if (!stat || stat->start_ticks != process.stat.start_ticks) return false;
  if (stat->state == 'X') {
    // Its parent waits for it now. Whether the parent's counts include it already is unknown until it is gone.
    const auto parent = known_.find(process.stat.parent);
    if (parent != known_.end()) OpenAccount(parent, AnsweredBy(parent->second)).risen = true;
    return true;
  }
  // For an ending process the kernel denies access to io, which is no lack of permission.
  if (io_fault != ReadFault::kNone && !Ended(*stat)) io_denied_ = true;
  used[kCpu] = (stat->cpu_ticks + stat->waited_cpu_ticks) * spec_.nanos_per_tick;
  used[kMajorFaults] = stat->major_faults + stat->waited_major_faults;
  if (stat->state == 'D' && process.read_at && now_ > *process.read_at) {
    blocked_ += (now_ - *process.read_at).count();
    process.blocked += (now_ - *process.read_at).count();
  }
  if (process.read_at && WaitedForMore(process.stat, *stat)) OpenAccount(at, answered).risen = true;
  process.read_at = now_;
  process.stat = *stat;
  process.used = used;
  seen_ = true;
  return true;
}

// The use that the process reports for children it waited for.
ProcessTree::Used ProcessTree::AnsweredBy(const Process& process) const {
  Used answered = process.used;  // of reading and writing the kernel tells one sum
  answered[kCpu] = process.stat.waited_cpu_ticks * spec_.nanos_per_tick;
  answered[kMajorFaults] = process.stat.waited_major_faults;
  return answered;
}

ProcessTree::Account& ProcessTree::OpenAccount(Found::iterator at, const Used& answered) {
  std::optional<Account>& account = at->second.account;
  if (!account) account.emplace().since = answered;
  with_account_.insert(at->first);
  return *account;
}

ProcessTree::Used ProcessTree::Outstanding(const Process& process) const {
  if (!process.account) return {};
  return Uncovered(process.account->owed, process.account->since, AnsweredBy(process));
}

void ProcessTree::Visit(pid_t pid) {
  const auto at = known_.find(pid);
  if (at != known_.end() && !at->second.gone && !ReadProcess(at, IoIsDue(at->second))) Bury(pid);
}

// Visits the known children of a process, to find those that are gone.
void ProcessTree::LookAtChildren(pid_t parent) {
  std::vector<pid_t> children;
  for (const auto& [pid, process] : known_) {
    if (process.stat.parent == parent) children.push_back(pid);
  }
  for (const pid_t child : children) Visit(child);
}

// Removes a process that is gone. Its parent, or else the adopter, owes its use from now on.
void ProcessTree::Bury(pid_t pid) {
  const auto at = known_.find(pid);
  at->second.gone = true;
  LookAtChildren(pid);  // what those are owed that it may have waited for is passed on with what it used itself
  const pid_t parent = at->second.stat.parent;
  const Used used = at->second.used;
  const Used outstanding = Outstanding(at->second);
  const bool orphans = outstanding != Used{};
  for (const auto& [thread, wait] : at->second.thread_waits) wait_of_ended_ += wait;
  with_account_.erase(pid);
  known_.erase(at);

  const auto heir = known_.find(parent);
  if (heir == known_.end()) {
    Await(used, 1);
    Await(outstanding, 1);
    return;
  }
  Account& account = OpenAccount(heir, AnsweredBy(heir->second));
  AddTo(&account.owed, used);
  AddTo(&account.owed, outstanding);
  account.orphans = account.orphans || orphans;
}

// Reads processes with open accounts until nothing rises any more. A process that waits for children all the time may
// keep its account open. Then the sums wait for the next tick.
void ProcessTree::SettleAccounts() {
  for (int round = 0; round < kMostRounds && !with_account_.empty(); ++round) {
    for (const pid_t pid : std::vector<pid_t>(with_account_.begin(), with_account_.end())) {
      auto at = known_.find(pid);
      if (at == known_.end()) continue;  // buried in this round
      // A rise may come from any child. Those that are gone are buried first, so that their use is owed before it
      // counts.
      if (at->second.account->risen) {
        at->second.account->risen = false;
        LookAtChildren(pid);
        at = known_.find(pid);
        if (at == known_.end()) continue;
      }
      if (!ReadProcess(at, true)) {
        Bury(pid);
      } else if (!at->second.account->risen) {
        CloseAccount(at);
      }
    }
  }
}

// Closes an account. What is still owed is awaited from the adopter if orphans are involved, and otherwise kept.
void ProcessTree::CloseAccount(Found::iterator at) {
  const Used rest = Outstanding(at->second);
  if (at->second.account->orphans || Ended(at->second.stat)) {
    Await(rest, 1);
  } else {
    AddTo(&lost_, rest);
  }
  at->second.account.reset();
  with_account_.erase(at->first);
}

void ProcessTree::Await(const Used& used, int sign) {
  if (used == Used{}) return;
  for (std::size_t i = 0; i < kUses; ++i) awaited_[i] += sign * used[i];
  awaited_since_ = now_;
}

// Takes what the adopter waited for. Another thread reports it, a little after /proc forgets the process. Use that
// the adopter did not report within its patience stays counted from the last readings.
void ProcessTree::SettleReaped() {
  Used reaped = {};
  if (spec_.reaped != nullptr) {
    const UsedByProcesses total = spec_.reaped->total();
    reaped[kCpu] = total.cpu_ns;
    reaped[kMajorFaults] = total.major_faults;
    reaped[kReadBytes] = total.read_bytes;
    reaped[kWriteBytes] = total.write_bytes;
  }
  if (reaped != reaped_) {
    LookAtChildren(spec_.adopter);
    Used told = reaped;
    for (std::size_t i = 0; i < kUses; ++i) told[i] -= reaped_[i];
    Await(told, -1);
  }
  reaped_ = reaped;
  if (awaited_since_ && (spec_.reaped == nullptr || (now_ - *awaited_since_).count() > kAdopterPatience)) {
    AddTo(&lost_, Positive(awaited_));
    awaited_ = {};
    awaited_since_.reset();
  }
}

// Adds everything up, unless an account is still rising. The maximum keeps the sums from falling.
void ProcessTree::AddUp() {
  if (std::any_of(with_account_.begin(), with_account_.end(), [&](pid_t pid) { return known_.at(pid).account->risen; }))
    return;
  Used sum = lost_;
  AddTo(&sum, Positive(awaited_));
  AddTo(&sum, reaped_);
  for (const auto& [pid, process] : known_) {
    AddTo(&sum, process.used);
    AddTo(&sum, Outstanding(process));
  }
  for (std::size_t i = 0; i < kUses; ++i) used_[i] = std::max(used_[i], sum[i]);
}

// Goes on where the last call stopped, until enough threads were read. Processes that were not reached keep their
// last values.
void ProcessTree::ReadWaits() {
  std::size_t threads = 0;
  for (std::size_t i = 0; i < known_.size() && threads < kMostThreads; ++i) {
    auto at = known_.lower_bound(next_wait_);
    if (at == known_.end()) at = known_.begin();
    next_wait_ = at->first + 1;
    ReadThreadWaits(at->first, &at->second);
    ReadCommand(at->first, &at->second);
    threads += static_cast<std::size_t>(std::max<std::int64_t>(1, at->second.stat.threads));
  }
  std::int64_t sum = wait_of_ended_;
  for (const auto& [pid, process] : known_) {
    for (const auto& [thread, wait] : process.thread_waits) sum += wait;
  }
  wait_ = sum;
  SumWorkers();
}

void ProcessTree::SumWorkers() {
  std::vector<ProcessReading> all;
  for (const auto& [pid, process] : known_) {
    const auto& waits = process.thread_waits;
    const std::int64_t wait = std::accumulate(waits.begin(), waits.end(), std::int64_t{0},
                                              [](std::int64_t sum, const auto& w) { return sum + w.second; });
    all.push_back({pid, process.stat.parent, process.command, process.read_at.value_or(now_), process.used[kCpu], wait,
                   process.blocked});
  }
  workers_.Update(all);
}

// Only a hash of the command line is kept. Nothing but equality is needed, and arguments may hold secrets.
void ProcessTree::ReadCommand(pid_t pid, Process* process) {
  if (process->command_reads == kCommandReads) return;
  ++process->command_reads;
  KeptFile file(spec_.proc + "/" + std::to_string(pid) + "/cmdline", nullptr);
  const auto text = file.Read(buffer_);
  process->command = text && !text->empty() ? std::hash<std::string_view>()(*text) : 0;
}

// Reads how long each thread waited for a CPU. A process with one thread needs no listing and keeps its file open.
void ProcessTree::ReadThreadWaits(pid_t pid, Process* process) {
  const std::string folder = spec_.proc + "/" + std::to_string(pid) + "/task";
  const std::vector<pid_t> threads = process->stat.threads > 1 ? NumbersIn(folder) : std::vector<pid_t>{pid};
  std::map<pid_t, std::int64_t> waits;
  for (const pid_t thread : threads) {
    KeptFile opened(folder + "/" + std::to_string(thread) + "/schedstat", nullptr);
    KeptFile& file = thread == pid ? process->wait_file : opened;
    const auto text = file.Read(buffer_);
    const auto wait = text ? ParseRunQueueWait(*text) : std::nullopt;
    if (wait) waits[thread] = *wait;
    if (file.fault() == ReadFault::kDenied) wait_denied_ = true;
  }
  for (const auto& [thread, wait] : process->thread_waits) {
    const auto now = waits.find(thread);
    // The thread ended, or another one has its id. Its waiting time stays counted.
    if (now == waits.end() || now->second < wait) wait_of_ended_ += wait;
  }
  process->thread_waits = std::move(waits);
}

std::int64_t ProcessTree::processes() const {
  return std::count_if(known_.begin(), known_.end(), [](const auto& p) { return !Ended(p.second.stat); });
}

std::vector<pid_t> ProcessTree::pids() const {
  std::vector<pid_t> pids;
  for (const auto& entry : known_) pids.push_back(entry.first);
  return pids;
}

std::int64_t ProcessTree::threads() const {
  std::int64_t sum = 0;
  for (const auto& [pid, process] : known_) sum += Ended(process.stat) ? 0 : process.stat.threads;
  return sum;
}

std::int64_t ProcessTree::resident_pages() const {
  std::int64_t sum = 0;
  for (const auto& [pid, process] : known_) sum += process.stat.resident_pages;
  return sum;
}

}  // namespace idleburn
