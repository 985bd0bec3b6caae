#include "owners/owner_poll.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <utility>

#include "measure/proc_files.h"
#include "os/folder.h"
#include "os/input_file.h"
#include "os/kept_file.h"
#include "owners/child_process.h"
#include "owners/pod_resources.h"
#include "text/line_reader.h"
#include "text/number.h"

namespace idleburn {
namespace {

constexpr std::size_t kMostQueueBytes = std::size_t{64} << 20;  // about 12,000 jobs; 22.05 tells those of all nodes
constexpr std::size_t kMostNodeBytes = std::size_t{1} << 20;
constexpr std::size_t kMostSliceBytes = std::size_t{64} << 20;
// A new job is asked for at once, but a user who invents jobs must not make the agent ask all the time.
constexpr Nanos kLeastPeriod{2 * kNanosPerSecond};

// When the machine started, by the line "btime" of /proc/stat.
std::optional<Instant> BootTime(const std::string& proc) {
  const auto seconds = ValueOfKey(FileText(proc + "/stat"), "btime");
  return seconds ? std::optional(Instant::FromNanos(*seconds * kNanosPerSecond)) : std::nullopt;
}

// When a folder was made. Absent where the file system does not keep it.
std::optional<Instant> MadeAt(const std::string& path) {
  struct statx status = {};
  if (statx(AT_FDCWD, path.c_str(), AT_SYMLINK_NOFOLLOW, STATX_BTIME, &status) != 0) return std::nullopt;
  if ((status.stx_mask & STATX_BTIME) == 0) return std::nullopt;
  return Instant::FromNanos(status.stx_btime.tv_sec * kNanosPerSecond + status.stx_btime.tv_nsec);
}

std::string ShortHostName() {
  std::array<char, 256> name{};
  if (gethostname(name.data(), name.size() - 1) != 0) return "";
  const std::string_view full = name.data();
  return std::string(full.substr(0, full.find('.')));
}

// The file of ResourceSlices; an empty map if none is given.
Result<SliceUuids> ReadSlices(const std::string& path) {
  if (path.empty()) return SliceUuids{};
  const auto in = TRY(OpenInput(path));
  std::string text = TRY(ReadAll(*in, kMostSliceBytes));
  return ParseResourceSlices(std::move(text));
}

SourceAnswer FailedAnswer(const std::string& source, const std::string& why) {
  SourceAnswer answer;
  answer.complete = false;
  answer.errors.push_back(source + ": " + why);
  return answer;
}

// Whether this machine is part of a Slurm cluster. Its tools alone may be there without one.
bool HasSlurmConfig() {
  if (std::getenv("SLURM_CONF") != nullptr) return true;
  std::error_code ignored;
  for (const char* file : {"/etc/slurm/slurm.conf", "/etc/slurm-llnl/slurm.conf", "/run/slurm/conf/slurm.conf"}) {
    if (std::filesystem::exists(file, ignored)) return true;
  }
  return false;
}

// The program to run: the given one, or the usual one if it is there and Slurm is set up. Empty: none.
Result<std::string> ToolOf(const std::optional<std::string>& given, const std::string& usual) {
  if (!given) return HasSlurmConfig() && IsProgram(usual) ? usual : std::string();
  if (!given->empty() && !IsProgram(*given)) return FailUsage(*given + " is no program that can be run");
  return *given;
}

}  // namespace

OwnerPoll::OwnerPoll(OwnerOptions options, EnvironKeys keys)
    : options_(std::move(options)),
      processes_(options_.proc, std::move(keys), options_.scheduler_period),
      files_(options_.job_folders) {
  if (!options_.boot) options_.boot = BootTime(options_.proc);
  if (options_.slurm_node.empty()) options_.slurm_node = ShortHostName();
}

Result<OwnerPoll> OwnerPoll::Make(OwnerOptions options) {
  EnvironKeys keys = TRY(EnvironKeys::Make(options.experiment_keys));
  options.squeue = TRY(ToolOf(options.squeue, "squeue"));
  options.scontrol = TRY(ToolOf(options.scontrol, "scontrol"));
  return OwnerPoll(std::move(options), std::move(keys));
}

bool OwnerPoll::AsksKubernetes() const {
  if (options_.pod_socket.empty()) return false;
  struct stat status = {};
  const std::string folder = std::filesystem::path(options_.pod_socket).parent_path().string();
  // A folder that may not be looked at is there: then the failure is named.
  return stat(folder.c_str(), &status) == 0 || errno == EACCES;
}

std::vector<std::string> OwnerPoll::Sources() const {
  std::vector<std::string> sources;
  if (!options_.squeue->empty()) sources.emplace_back("slurm");
  if (AsksKubernetes()) sources.emplace_back("kubernetes");
  if (files_.used()) sources.emplace_back("job files");
  sources.emplace_back("processes");
  return sources;
}

bool OwnerPoll::IsDue(const std::optional<Instant>& last, Instant now) const {
  return !last || now < *last || now - *last >= options_.scheduler_period;
}

// The node is asked first. A job that starts between the two questions is then in the queue, and no GPU seems held by
// a hidden job.
SourceAnswer OwnerPoll::SlurmAnswer(std::span<const NodeGpu> gpus) {
  const std::string& name = options_.slurm_node;
  const auto node_text =
      OutputOf({*options_.scontrol, "show", "node", "-d", name}, options_.squeue_timeout, kMostNodeBytes);
  if (!node_text) return FailedAnswer("slurm", node_text.error().message);
  const auto node = ParseScontrolNode(*node_text);
  if (!node) return FailedAnswer("slurm", node.error().message);
  auto queue_text =
      OutputOf({*options_.squeue, "--json", "--all", "--nodelist=" + name}, options_.squeue_timeout, kMostQueueBytes);
  if (!queue_text) return FailedAnswer("slurm", queue_text.error().message);
  const auto queue = ParseSqueue(*std::move(queue_text), name);
  if (!queue) return FailedAnswer("slurm", queue.error().message);
  running_.clear();
  for (const SlurmJob& job : queue->jobs) {
    running_.insert(job.raw_id);
    if (!job.cluster.empty()) slurm_cluster_ = job.cluster;
  }
  return slurm_.Update(*queue, *node, options_.gres_order, gpus);
}

void OwnerPoll::AskSlurm(Instant now, std::span<const NodeGpu> gpus) {
  slurm_asked_ = now;
  refused_.clear();
  slurm_answer_ = SlurmAnswer(gpus);
}

SourceAnswer OwnerPoll::KubernetesAnswer(Instant now, std::span<const NodeGpu> gpus) {
  auto pods = ListPods(options_.pod_socket, options_.pod_timeout);
  if (!pods) return FailedAnswer("kubernetes", pods.error().message);
  PodView view;
  view.now = now;
  view.pods = *std::move(pods);
  auto allocatable = ListAllocatable(options_.pod_socket, options_.pod_timeout);
  if (allocatable) view.allocatable = *std::move(allocatable);
  auto slices = ReadSlices(options_.resource_slices);
  if (slices) view.slices = *std::move(slices);
  view.groups = groups_;
  view.log_folders = NamesIn(options_.pod_logs);
  view.made = [this](const std::string& folder) { return MadeAt(options_.pod_logs + "/" + folder); };
  SourceAnswer answer = pods_.Update(view, gpus);
  if (!allocatable) answer.errors.push_back("kubernetes: number of replicas unknown: " + allocatable.error().message);
  if (!slices) answer.errors.push_back("kubernetes: " + slices.error().message);
  return answer;
}

void OwnerPoll::AskKubernetes(Instant now, std::span<const NodeGpu> gpus) {
  pods_asked_ = now;
  pod_answer_ = KubernetesAnswer(now, gpus);
}

void OwnerPoll::LookAtGroups(Instant now) {
  if (!IsDue(groups_read_, now)) return;
  groups_read_ = now;
  groups_ = FindLiveGroups(options_.cgroups);
}

SourceAnswer OwnerPoll::FileAnswer(Instant now, std::span<const NodeGpu> gpus, const std::set<std::string>& held) {
  JobFileSigns signs;
  signs.now = now;
  signs.boot = options_.boot;
  signs.held = &held;
  signs.jobs = &groups_.jobs;
  SourceAnswer answer = files_.Read(signs, gpus);
  for (OwnerClaim& claim : answer.claims) {
    Owner& owner = claim.holding.owner;
    owner.cluster = options_.cluster.empty() ? slurm_cluster_ : options_.cluster;
    const auto user = NumberOf(owner.user);
    if (user) owner.user = processes_.NameOfUser(static_cast<std::uint32_t>(*user));
  }
  return answer;
}

// Reads the facts of all holders. An agent in another PID namespace than the driver sees numbers that mean other
// processes here, or none. If most are none, no process is matched.
void OwnerPoll::ReadProcesses(Instant now, const std::map<std::string, std::vector<GpuHolder>>& holders,
                              SourceView* view, std::string* error) {
  std::map<std::int64_t, const ProcessFacts*> facts;
  std::size_t missing = 0;
  for (const auto& [uuid, list] : holders) {
    for (const GpuHolder& holder : list) {
      if (facts.contains(holder.pid)) continue;
      const ProcessFacts* found =
          holder.start_ticks ? &processes_.FactsOf(holder.pid, *holder.start_ticks, now) : nullptr;
      facts[holder.pid] = found != nullptr && found->found ? found : nullptr;
      if (facts[holder.pid] == nullptr) ++missing;
    }
  }
  const bool elsewhere = missing * 2 > facts.size();
  if (elsewhere) {
    *error = "attribution unavailable: PID namespace (" + std::to_string(missing) + " of " +
             std::to_string(facts.size()) + " GPU processes are not in " + options_.proc +
             "); run the agent with the host's PIDs";
  }
  for (const auto& [uuid, list] : holders) {
    std::vector<HolderProcess>& known = view->holders[uuid];
    for (const GpuHolder& holder : list) {
      known.push_back({holder.pid, holder.start_ticks.value_or(0), elsewhere ? nullptr : facts[holder.pid]});
    }
  }
  processes_.Forget(now);
}

bool OwnerPoll::NamesNewJob(const SourceView& view) const {
  for (const auto& [uuid, holders] : view.holders) {
    for (const HolderProcess& holder : holders) {
      if (holder.facts == nullptr || holder.facts->group.kind != GroupKind::kSlurm) continue;
      const std::string& job = holder.facts->group.job;
      if (!running_.contains(job) && !refused_.contains(job)) return true;
    }
  }
  return false;
}

Holdings OwnerPoll::Poll(Instant now, const std::vector<NodeGpu>& gpus,
                         const std::map<std::string, std::vector<GpuHolder>>& holders) {
  SourceView view;
  view.gpus = gpus;
  view.order = options_.gres_order;
  view.keys = &processes_.keys();
  view.labels = &options_.labels;
  std::string process_error;
  ReadProcesses(now, holders, &view, &process_error);
  const bool slurm = !options_.squeue->empty();
  const bool kubernetes = AsksKubernetes();
  slurm_answer_.ended.clear();
  pod_answer_.ended.clear();
  if (files_.used() || kubernetes) LookAtGroups(now);
  const bool early = slurm_asked_ && now - *slurm_asked_ >= kLeastPeriod && NamesNewJob(view);
  if (slurm && (early || IsDue(slurm_asked_, now))) {
    AskSlurm(now, gpus);
    for (const auto& [uuid, list] : view.holders) {
      for (const HolderProcess& holder : list) {
        if (holder.facts != nullptr && !holder.facts->group.job.empty()) refused_.insert(holder.facts->group.job);
      }
    }
  }
  if (kubernetes && IsDue(pods_asked_, now)) AskKubernetes(now, gpus);
  std::set<std::string> held;
  for (const auto& [uuid, list] : holders) {
    if (!list.empty()) held.insert(uuid);
  }
  SourceAnswer file_answer;
  if (files_.used()) file_answer = FileAnswer(now, gpus, held);
  view.slurm = slurm ? &slurm_answer_ : nullptr;
  view.pods = kubernetes ? &pod_answer_ : nullptr;
  view.files = files_.used() ? &file_answer : nullptr;
  view.rules.cluster = options_.cluster.empty() ? slurm_cluster_ : options_.cluster;
  if (slurm && slurm_answer_.complete) view.rules.running = running_;
  view.rules.user_name = [this](std::uint32_t user) { return processes_.NameOfUser(user); };
  view.rules.pod_name = [this](const std::string& uid) { return pods_.NameOfUid(uid); };
  Holdings holdings = JoinSources(view, &memory_);
  holdings.at = now;
  if (!process_error.empty()) holdings.errors.push_back(process_error);
  return holdings;
}

}  // namespace idleburn
