#include "measure/system_facts.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <optional>
#include <set>
#include <utility>

#include "measure/cgroup_files.h"
#include "measure/proc_files.h"
#include "os/folder.h"
#include "os/kept_file.h"
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

}  // namespace idleburn
