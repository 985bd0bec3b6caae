#include "measure/system_facts.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <set>
#include <utility>

#include "measure/cgroup_files.h"
#include "measure/proc_files.h"
#include "os/folder.h"
#include "os/input_file.h"
#include "os/kept_file.h"
#include "text/line_reader.h"
#include "text/number.h"
#include "text/strings.h"

namespace idleburn {
namespace {

// Limits for machines with hundreds of disks, processes or open files.
constexpr std::size_t kMostDisks = 16;
constexpr std::size_t kMostProcesses = 32;  // and files of each, that are looked at once for where data lie
constexpr std::size_t kMostFilesEach = 128;

bool IsThere(const std::string& path) { return access(path.c_str(), F_OK) == 0; }

// What /proc/cpuinfo says. A core is known by its socket and number, because each socket counts from 0.
struct CpuInfo {
  std::string model;
  std::set<std::string> sockets;
  std::set<std::string> cores;  // "socket core"
  std::size_t threads = 0;
};

// Reads /proc/cpuinfo. The socket of a logical CPU precedes its core. Kernels of aarch64 write neither, and those
// counts are then 0 and left out.
CpuInfo ReadCpuInfo(std::string_view text) {
  CpuInfo info;
  std::string socket;
  while (!text.empty()) {
    const std::string_view line = TakeLine(&text);
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    const std::string_view key = Trim(line.substr(0, colon));
    const std::string value(Trim(line.substr(colon + 1)));
    if (key == "processor") ++info.threads;
    if (key == "model name" && info.model.empty()) info.model = value;
    if (key == "physical id") info.sockets.insert(socket = value);
    if (key == "core id") info.cores.insert(socket + " " + value);
  }
  return info;
}

// A file that shows a kind of container.
struct ContainerSign {
  std::string_view file;
  std::string_view holds;  // empty: that it is there is enough
  std::string_view kind;
};
// The first sign decides. Kubernetes comes first, because its containers also have the signs of their runtime.
constexpr auto kContainerSigns = std::to_array<ContainerSign>({
    {"/var/run/secrets/kubernetes.io", "", "kubernetes"},
    {"/proc/1/cgroup", "kubepods", "kubernetes"},
    {"/.dockerenv", "", "docker"},
    {"/run/.containerenv", "", "podman"},
    {"/.singularity.d", "", "apptainer"},
    {"/proc/1/cgroup", "docker", "docker"},
    {"/proc/1/cgroup", "lxc", "lxc"},
});

constexpr std::string_view kNoContainer = "none seen";

// The kind of container, or kNoContainer.
std::string ContainerOf(const std::string& root) {
  for (const ContainerSign& sign : kContainerSigns) {
    const std::string path = root + std::string(sign.file);
    if (sign.holds.empty() ? IsThere(path) : FileText(path).find(sign.holds) != std::string::npos) {
      return std::string(sign.kind);
    }
  }
  return std::string(kNoContainer);
}

// Lists physical disks: "nvme0n1 1.92 TB SSD, sda 4.00 TB HDD". Disks made of files or of other disks are left out.
std::string DisksOf(const std::string& root) {
  constexpr auto kMade = std::to_array<std::string_view>({"loop", "ram", "zram", "dm-", "md", "sr", "fd", "nbd"});
  std::string text;
  std::size_t disks = 0;
  for (const std::string& name : NamesIn(root + "/sys/block")) {
    const bool made = std::any_of(kMade.begin(), kMade.end(),
                                  [&](std::string_view start) { return name.substr(0, start.size()) == start; });
    const std::optional<std::int64_t> sectors = NumberOf(FileText(root + "/sys/block/" + name + "/size"));
    if (made || !sectors || *sectors == 0) continue;
    if (++disks > kMostDisks) continue;
    std::array<char, 40> size{};
    std::snprintf(size.data(), size.size(), " %.2f TB", static_cast<double>(*sectors * kSectorBytes) / 1e12);
    const bool turns = FileText(root + "/sys/block/" + name + "/queue/rotational") == "1";
    text += (text.empty() ? "" : ", ") + name + size.data() + (turns ? " HDD" : " SSD");
  }
  if (disks > kMostDisks) text += " and " + std::to_string(disks - kMostDisks) + " more";
  return text;
}

// Removes the user's name from a path below the folder of homes: ".../ann/data" becomes ".../*/data".
std::string WithoutUser(std::string_view path) {
  constexpr std::string_view kHomes = "/home";
  if (path.substr(0, kHomes.size()) != kHomes || path.substr(kHomes.size(), 1) != "/") return std::string(path);
  const std::size_t end = path.find('/', kHomes.size() + 1);
  return std::string(kHomes) + "/*" + (end == std::string_view::npos ? std::string() : std::string(path.substr(end)));
}

// Adds the CPUs and the memory that the control group allows. Without a limit there is no fact.
void AddLimits(const std::string& root, std::vector<RunFact>& facts) {
  CgroupFiles cgroup(root, getpid(), nullptr);
  if (const auto cpus = cgroup.QuotaCpus()) facts.push_back({"system.cgroup_cpus", std::to_string(*cpus)});
  const CgroupPlace memory =
      FindCgroups(FileText(root + "/proc/self/mountinfo"), FileText(root + "/proc/self/cgroup")).memory;
  std::int64_t least = kNoMemoryLimit;
  for (const std::string& folder : {memory.folder, memory.mount}) {
    const std::string file = memory.version2 ? "/memory.max" : "/memory.limit_in_bytes";
    if (!folder.empty()) least = std::min(least, NumberOf(FileText(root + folder + file)).value_or(kNoMemoryLimit));
  }
  if (least < kNoMemoryLimit) facts.push_back({"system.cgroup_memory_bytes", std::to_string(least)});
}

// Whether the process opened the file for reading. The last octal digit of its flags tells: 1 is writing only.
bool IsForReading(const std::string& fdinfo) {
  constexpr std::string_view kFlags = "flags:";
  const std::string text = FileText(fdinfo);
  const std::size_t at = text.find(kFlags);
  if (at == std::string::npos) return false;
  const std::string_view flags = Words(std::string_view(text).substr(at + kFlags.size())).Next();
  return !flags.empty() && (flags.back() - '0') % 4 != 1;
}

}  // namespace

// Leaves out file systems that the kernel makes up. A line is "36 35 98:0 / /data rw,noatime - ext4 /dev/nvme0n1p1
// rw".
std::vector<MountedAt> MountsOf(std::string_view mountinfo) {
  constexpr auto kKernel = std::to_array<std::string_view>(
      {"proc", "sysfs", "cgroup", "cgroup2", "devpts", "devtmpfs", "mqueue", "securityfs", "debugfs", "tracefs", "bpf",
       "pstore", "configfs", "fusectl", "hugetlbfs", "autofs", "binfmt_misc", "nsfs", "efivarfs"});
  std::vector<MountedAt> mounts;
  while (!mountinfo.empty()) {
    const std::string_view line = TakeLine(&mountinfo);
    const std::size_t dash = line.find(" - ");
    if (dash == std::string_view::npos) continue;
    Words head(line.substr(0, dash));
    head.Skip(4);
    MountedAt mount;
    mount.point = std::string(head.Next());
    Words tail(line.substr(dash + 3));
    mount.type = std::string(tail.Next());
    mount.source = std::string(tail.Next());
    if (std::find(kKernel.begin(), kKernel.end(), mount.type) == kKernel.end()) mounts.push_back(std::move(mount));
  }
  return mounts;
}

std::string MountOf(const std::vector<MountedAt>& mounts, std::string_view path) {
  const MountedAt* best = nullptr;
  for (const MountedAt& m : mounts) {
    const std::string_view point = m.point == "/" ? std::string_view() : std::string_view(m.point);
    const bool under =
        path.substr(0, point.size()) == point && (path.size() == point.size() || path[point.size()] == '/');
    // If two file systems have the same mount point, the later one hides the other.
    if (under && (best == nullptr || m.point.size() >= best->point.size())) best = &m;
  }
  if (best == nullptr) return {};
  std::string text = WithoutUser(best->point) + " " + best->type;
  constexpr std::string_view kDevices = "/dev/";
  if (best->source.substr(0, kDevices.size()) == kDevices) text += " (" + best->source.substr(kDevices.size()) + ")";
  if (best->source.find(':') != std::string::npos) text += " (over the network)";
  return text;
}

std::string MountsRead(const std::string& proc, std::span<const pid_t> pids) {
  const std::vector<MountedAt> mounts = MountsOf(FileText(proc + "/self/mountinfo"));
  std::set<std::string> found;
  for (std::size_t p = 0; p < std::min(pids.size(), kMostProcesses); ++p) {
    const std::string folder = proc + "/" + std::to_string(pids[p]);
    std::size_t looked_at = 0;
    for (const std::string& name : NamesIn(folder + "/fd")) {
      if (++looked_at > kMostFilesEach) break;
      std::array<char, 4096> path{};
      const ssize_t size = readlink((folder + "/fd/" + name).c_str(), path.data(), path.size());
      const std::string_view target(path.data(), size > 0 ? static_cast<std::size_t>(size) : 0);
      const bool device = target.substr(0, 5) == "/dev/" || target.substr(0, 6) == "/proc/";
      if (target.substr(0, 1) != "/" || device || !IsForReading(folder + "/fdinfo/" + name)) continue;
      const std::string mount = MountOf(mounts, target);
      if (!mount.empty()) found.insert(mount);
    }
  }
  return ListText(found);
}

std::vector<RunFact> SystemFacts(const std::string& root, const std::string& cwd) {
  std::vector<RunFact> facts;
  const auto add = [&](const char* key, std::string value) {
    if (!value.empty()) facts.push_back({key, std::move(value)});
  };
  const auto add_count = [&](const char* key, std::size_t count) { add(key, count > 0 ? std::to_string(count) : ""); };
  add("system.kernel", FileText(root + "/proc/sys/kernel/osrelease"));
  const CpuInfo cpu = ReadCpuInfo(FileText(root + "/proc/cpuinfo"));
  add("system.cpu", cpu.model);
  add_count("system.cpu_sockets", cpu.sockets.size());
  add_count("system.cpu_cores", cpu.cores.size());
  add_count("system.cpu_threads", cpu.threads);
  if (const auto nodes = CountOfList(FileText(root + "/sys/devices/system/node/online"))) {
    add("system.numa_nodes", std::to_string(*nodes));
  }
  if (const auto kib = ValueOfKey(FileText(root + "/proc/meminfo"), "MemTotal:")) {
    add("system.memory_bytes", std::to_string(*kib * 1024));
  }
  add("system.disks", DisksOf(root));
  add("system.container", ContainerOf(root));
  AddLimits(root, facts);
  add("system.cwd_mount", MountOf(MountsOf(FileText(root + "/proc/self/mountinfo")), cwd));
  return facts;
}

bool IsContainer(const std::string& root) { return ContainerOf(root) != kNoContainer; }

namespace {

constexpr std::size_t kLongestValue = 256;

// How the value of a variable is kept: as it is, or host and port only.
enum class Form : std::uint8_t { kText, kAddress };
struct NameRow {
  std::string_view name;
  Form form = Form::kText;
};

// The variables that are asked for. A variable whose value may be a secret does not belong here.
constexpr std::array<NameRow, 58> kNames = {{
    // Slurm
    {"SLURM_JOB_ID"},
    {"SLURM_ARRAY_JOB_ID"},
    {"SLURM_ARRAY_TASK_ID"},
    {"SLURM_STEP_ID"},
    {"SLURM_JOB_NAME"},
    {"SLURM_JOB_USER"},
    {"SLURM_JOB_ACCOUNT"},
    {"SLURM_JOB_PARTITION"},
    {"SLURM_CLUSTER_NAME"},
    {"SLURM_PROCID"},
    {"SLURM_NTASKS"},
    {"SLURM_JOB_NUM_NODES"},
    {"SLURM_JOB_GPUS"},
    {"SLURM_STEP_GPUS"},
    {"SLURM_SHARDS_ON_NODE"},
    // Kubernetes, as pods commonly name what the downward API gives them
    {"KUBERNETES_NAMESPACE"},
    {"POD_NAME"},
    {"POD_NAMESPACE"},
    {"POD_UID"},
    {"NODE_NAME"},
    {"JOB_NAME"},
    {"JOB_COMPLETION_INDEX"},
    // torchrun and MPI
    {"RANK"},
    {"WORLD_SIZE"},
    {"LOCAL_RANK"},
    {"LOCAL_WORLD_SIZE"},
    {"GROUP_RANK"},
    {"TORCHELASTIC_RUN_ID"},
    {"TORCHELASTIC_RESTART_COUNT"},
    {"OMPI_COMM_WORLD_RANK"},
    {"OMPI_COMM_WORLD_SIZE"},
    {"PMI_RANK"},
    {"PMIX_RANK"},
    // Ray, MLflow, Weights & Biases
    {"RAY_JOB_ID"},
    {"MLFLOW_RUN_ID"},
    {"MLFLOW_EXPERIMENT_ID"},
    {"MLFLOW_EXPERIMENT_NAME"},
    {"MLFLOW_TRACKING_URI", Form::kAddress},
    {"WANDB_RUN_ID"},
    {"WANDB_RUN_GROUP"},
    {"WANDB_PROJECT"},
    {"WANDB_ENTITY"},
    {"WANDB_NAME"},
    {"WANDB_SWEEP_ID"},
    // batch systems of the clouds
    {"AWS_BATCH_JOB_ID"},
    {"SM_TRAINING_ENV_JOB_NAME"},
    {"TRAINING_JOB_NAME"},
    {"CLOUD_ML_JOB_ID"},
    {"LSB_JOBID"},
    {"PBS_JOBID"},
    // GPUs
    {"CUDA_VISIBLE_DEVICES"},
    {"NVIDIA_VISIBLE_DEVICES"},
    {"ROCR_VISIBLE_DEVICES"},
    {"CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"},
    // our own
    {"IDLEBURN_RUN_ID"},
    {"IDLEBURN_EXPERIMENT"},
    {"IDLEBURN_TEAM"},
    {"IDLEBURN_UNIT"},
}};

// Reduces an address to host and port: "https://user:word@host:5000/path?token=x" gives "host:5000". A local path gives
// nothing.
std::string HostOf(std::string_view address) {
  const std::size_t scheme = address.find("://");
  if (scheme == std::string_view::npos) return {};
  std::string_view host = address.substr(scheme + 3);
  host = host.substr(0, host.find_first_of("/?#"));
  const std::size_t user = host.rfind('@');
  return std::string(user == std::string_view::npos ? host : host.substr(user + 1));
}

// Cuts a value and replaces control characters, which could change the screen of whoever prints a recording.
std::string Clean(std::string_view value) {
  std::string text(value.substr(0, kLongestValue));
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) c = '?';
  }
  return text;
}

}  // namespace

std::vector<RunFact> ExperimentFacts(const VariableLookup& lookup) {
  std::vector<RunFact> facts;
  for (const NameRow& row : kNames) {
    const std::optional<std::string> value = lookup(row.name);
    if (!value || value->empty()) continue;
    const std::string text = Clean(row.form == Form::kAddress ? HostOf(*value) : *value);
    if (!text.empty()) facts.push_back({"env." + std::string(row.name), text});
  }
  return facts;
}

namespace {

// Limits that keep the start of a run quick, and the file modes of git.
constexpr std::size_t kMostIndexedFiles = 20'000;  // some 20 ms of lstat
constexpr std::size_t kMostBytes = std::size_t{16} << 20;
constexpr int kMostLinks = 5;  // of a reference to a reference
constexpr std::uint32_t kSubmodule = 0160000;
constexpr std::uint32_t kKindOfFile = 0170000;

namespace fs = std::filesystem;

// Whether a text is a commit's name, of SHA-1 or SHA-256.
bool IsCommit(std::string_view text) {
  return (text.size() == 40 || text.size() == 64) &&
         text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

// The text of a file of .git. Empty if it cannot be read or is too large.
std::string WholeFile(const std::string& path) {
  const auto file = OpenInput(path);
  if (!file) return {};
  Result<std::string> text = ReadAll(**file, kMostBytes);
  return text ? std::move(*text) : std::string();
}

// The folders in which a repository keeps its data.
struct Repository {
  fs::path tree;
  fs::path git;     // of this working tree
  fs::path common;  // of all of them
};

// Looks for .git in the folder and upwards. In a worktree or submodule .git is a file that names the folder.
std::optional<Repository> FindRepository(const fs::path& folder) {
  std::error_code failed;
  for (fs::path at = folder; !at.empty(); at = at.parent_path()) {
    const fs::path git = at / ".git";
    if (fs::is_directory(git, failed)) return Repository{at, git, git};
    const std::string link = FileText(git.string());
    if (link.starts_with("gitdir: ")) {
      Repository found{at, at / link.substr(8), {}};
      const std::string common = FileText((found.git / "commondir").string());
      found.common = common.empty() ? found.git : found.git / common;
      return found;
    }
    if (at == at.parent_path()) break;
  }
  return std::nullopt;
}

// The commit of a reference that `git pack-refs` moved into one file. A line is "<commit> <reference>".
std::string InPackedRefs(const Repository& repository, const std::string& name) {
  const std::string packed = WholeFile((repository.common / "packed-refs").string());
  const std::size_t at = packed.find(" " + name + "\n");
  if (at == std::string::npos) return {};
  const std::size_t begin = packed.rfind('\n', at) + 1;  // npos + 1 is 0
  return packed.substr(begin, at - begin);
}

// Follows HEAD to a commit. Empty for a branch without a commit. A name that leads out of .git is not followed.
std::string CommitOf(const Repository& repository) {
  std::string text = FileText((repository.git / "HEAD").string());
  for (int link = 0; link < kMostLinks && text.starts_with("ref: "); ++link) {
    const std::string name = text.substr(5);
    if (!name.starts_with("refs/") || name.find("..") != std::string::npos) return {};
    text = FileText((repository.git / name).string());
    if (text.empty()) text = FileText((repository.common / name).string());
    if (text.empty()) text = InPackedRefs(repository, name);
  }
  return IsCommit(text) ? text : std::string();
}

// Whether a file has the size and time of the index. git asks the same before it compares contents. Submodules and
// files that git was told not to check count as unchanged. Some indices have no nanoseconds; then the second decides.
bool IsAsStaged(const StagedFile& file, const fs::path& tree) {
  if (!file.checked || (file.mode & kKindOfFile) == kSubmodule) return true;
  struct stat now {};
  if (lstat((tree / file.path).c_str(), &now) != 0) return false;
  return static_cast<std::uint32_t>(now.st_size) == file.size && now.st_mtim.tv_sec == file.modified_s &&
         (file.modified_ns == 0 || now.st_mtim.tv_nsec == file.modified_ns);
}

// Reads a big-endian number of the index.
std::uint32_t Number(std::string_view bytes, std::size_t at, int size) {
  std::uint32_t number = 0;
  for (int i = 0; i < size; ++i)
    number = number << 8 | static_cast<unsigned char>(bytes[at + static_cast<std::size_t>(i)]);
  return number;
}

}  // namespace

// Offsets are those of the format: 12 bytes of head, then entries of at least 62 bytes with times, mode, size,
// object, flags and a name. Each entry is padded with zero bytes to a multiple of eight.
bool ReadGitIndex(std::string_view index, std::size_t most, std::vector<StagedFile>* files) {
  constexpr std::size_t kHead = 12;
  constexpr std::size_t kFixed = 62;  // of an entry, up to its name, with SHA-1
  constexpr std::uint32_t kExtended = 0x4000;
  if (index.size() < kHead || index.substr(0, 4) != "DIRC") return false;
  const std::uint32_t version = Number(index, 4, 4);
  const std::uint32_t count = Number(index, 8, 4);
  if (version < 2 || version > 3 || count > most) return false;
  std::size_t at = kHead;
  for (std::uint32_t i = 0; i < count; ++i) {
    if (index.size() - at < kFixed) return false;
    const std::uint32_t flags = Number(index, at + 60, 2);
    const bool extended = version == 3 && (flags & kExtended) != 0;
    const std::size_t name = at + kFixed + (extended ? 2 : 0);
    const std::size_t end = name < index.size() ? index.find('\0', name) : std::string_view::npos;
    if (end == std::string_view::npos || end == name) return false;
    StagedFile file;
    file.path = index.substr(name, end - name);
    file.modified_s = Number(index, at + 8, 4);
    file.modified_ns = Number(index, at + 12, 4);
    file.mode = Number(index, at + 24, 4);
    file.size = Number(index, at + 36, 4);
    const bool skip_worktree = extended && (Number(index, at + kFixed, 2) & 0x4000) != 0;
    file.checked = (flags & 0x8000) == 0 && !skip_worktree;
    files->push_back(std::move(file));
    at += (end - at + 8) / 8 * 8;  // one to eight zero bytes follow
    if (at > index.size()) return false;
  }
  return true;
}

std::vector<RunFact> GitFacts(const std::string& folder) {
  const std::optional<Repository> repository = FindRepository(folder);
  if (!repository) return {};
  std::vector<RunFact> facts;
  const std::string commit = CommitOf(*repository);
  if (!commit.empty()) facts.push_back({"git.commit", commit});
  std::vector<StagedFile> files;
  if (!ReadGitIndex(WholeFile((repository->git / "index").string()), kMostIndexedFiles, &files)) return facts;
  const bool clean = std::all_of(files.begin(), files.end(),
                                 [&](const StagedFile& file) { return IsAsStaged(file, repository->tree); });
  facts.push_back({"git.tree", clean ? "clean" : "changed"});
  return facts;
}

}  // namespace idleburn
