#include "measure/cgroup_files.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <system_error>

#include "measure/proc_files.h"

namespace idleburn {
namespace {

// Whether the comma-separated `list` contains `name`.
bool Holds(std::string_view list, std::string_view name) {
  while (!list.empty()) {
    const std::string_view item = list.substr(0, list.find(','));
    if (item == name) return true;
    list.remove_prefix(std::min(list.size(), item.size() + 1));
  }
  return false;
}

// One mounted hierarchy of control groups.
struct Mount {
  std::string_view root;  // which group is mounted there
  std::string_view point;
  std::string_view options;
  bool version2 = false;
};

// The mounted control group hierarchies in a mountinfo. The type and options follow " - ": "30 23 0:26 /
// /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw".
std::vector<Mount> CgroupMounts(std::string_view mountinfo) {
  std::vector<Mount> mounts;
  while (!mountinfo.empty()) {
    const std::string_view line = TakeLine(&mountinfo);
    const std::size_t dash = line.find(" - ");
    if (dash == std::string_view::npos) continue;
    Words head(line.substr(0, dash));
    head.Skip(3);
    Mount mount;
    mount.root = head.Next();
    mount.point = head.Next();
    Words tail(line.substr(dash + 3));
    const std::string_view type = tail.Next();
    tail.Skip(1);
    mount.options = tail.Next();
    mount.version2 = type == "cgroup2";
    if (mount.version2 || type == "cgroup") mounts.push_back(mount);
  }
  return mounts;
}

// The path of the group in the hierarchy of `controller`; an empty controller means version 2. Absent if it is in none.
std::optional<std::string_view> GroupPath(std::string_view membership, std::string_view controller) {
  while (!membership.empty()) {
    const std::string_view line = TakeLine(&membership);
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string_view::npos ? first : line.find(':', first + 1);
    if (second == std::string_view::npos) continue;
    const std::string_view controllers = line.substr(first + 1, second - first - 1);
    if (controller.empty() ? controllers.empty() : Holds(controllers, controller)) return line.substr(second + 1);
  }
  return std::nullopt;
}

// The folder of the group `path` below a mount. A container may see only a part of the hierarchy: then the mount's
// root is the container's group, and the path of the process begins with it or with nothing that is mounted here.
CgroupPlace PlaceAt(const Mount& mount, std::string_view path) {
  CgroupPlace place;
  place.version2 = mount.version2;
  place.mount = std::string(mount.point);
  if (path.substr(0, 3) == "/..") return {};  // in a part of the hierarchy that is not shown here
  place.part = mount.root != "/";
  if (place.part) {
    if (path.substr(0, mount.root.size()) == mount.root) {
      path.remove_prefix(mount.root.size());
    } else {
      path = "/";  // what is mounted is all that is ours to see
    }
  }
  place.folder = place.mount + (path == "/" ? std::string() : std::string(path));
  return place;
}

// Finds the group for one controller: in its own hierarchy (version 1), or else in the shared one (version 2). On a
// hybrid machine the same process is in both.
CgroupPlace FindPlace(const std::vector<Mount>& mounts, std::string_view membership, std::string_view controller) {
  const auto first = std::find_if(mounts.begin(), mounts.end(),
                                  [&](const Mount& m) { return !m.version2 && Holds(m.options, controller); });
  if (!controller.empty() && first != mounts.end()) {
    const auto path = GroupPath(membership, controller);
    return path ? PlaceAt(*first, *path) : CgroupPlace{};
  }
  const auto second = std::find_if(mounts.begin(), mounts.end(), [](const Mount& m) { return m.version2; });
  const auto path = GroupPath(membership, "");
  return second != mounts.end() && path ? PlaceAt(*second, *path) : CgroupPlace{};
}

}  // namespace

CgroupPlaces FindCgroups(std::string_view mountinfo, std::string_view membership) {
  const std::vector<Mount> mounts = CgroupMounts(mountinfo);
  CgroupPlaces places;
  places.cpu = FindPlace(mounts, membership, "cpu");
  places.memory = FindPlace(mounts, membership, "memory");
  places.io = FindPlace(mounts, membership, "blkio");
  places.pressure = FindPlace(mounts, membership, "");
  return places;
}

// Only the pressure files are kept, because they are read at every tick.
CgroupFiles::CgroupFiles(const std::string& root, pid_t pid, OpenFileBudget* files)
    : root_(root),
      places_(FindCgroups(FileText(root + "/proc/self/mountinfo"),
                          FileText(root + "/proc/" + std::to_string(pid) + "/cgroup"))) {
  if (places_.pressure.folder.empty()) return;
  const std::string folder = root_ + places_.pressure.folder;
  pressure_.push_back({KeptFile(folder + "/cpu.pressure", files), HostSignal::kPsiCpuSome, std::nullopt});
  pressure_.push_back({KeptFile(folder + "/io.pressure", files), HostSignal::kPsiIoSome, HostSignal::kPsiIoFull});
  pressure_.push_back(
      {KeptFile(folder + "/memory.pressure", files), HostSignal::kPsiMemorySome, HostSignal::kPsiMemoryFull});
}

// The group's folder and its visible parents. A limit of any of them applies to the group.
std::vector<std::string> CgroupFiles::Upwards(const CgroupPlace& place) const {
  std::vector<std::string> folders;
  if (place.folder.empty()) return folders;
  for (std::string at = place.folder; at.size() > place.mount.size(); at.resize(at.rfind('/'))) {
    folders.push_back(root_ + at);
  }
  folders.push_back(root_ + place.mount);
  return folders;
}

bool CgroupFiles::IsOwn(const CgroupPlace& place, const char* limit) const {
  if (place.folder.empty()) return false;
  if (place.folder != place.mount || place.part) return true;
  std::error_code ignored;
  return place.version2 && std::filesystem::exists(root_ + place.mount + limit, ignored);
}

std::optional<std::int64_t> CgroupFiles::ValueAt(const std::string& path) {
  KeptFile file(path, nullptr);
  const auto text = file.Read(buffer_);
  return text ? Words(*text).NextNumber() : std::nullopt;
}

// The quota of one folder, in CPUs: quota time per period.
std::optional<double> CgroupFiles::QuotaAt(const std::string& folder, bool version2) {
  std::optional<std::int64_t> quota;
  std::optional<std::int64_t> period;
  if (version2) {
    KeptFile file(folder + "/cpu.max", nullptr);
    Words words(file.Read(buffer_).value_or(std::string_view()));
    quota = words.NextNumber();  // "max": none
    period = words.NextNumber();
  } else {
    quota = ValueAt(folder + "/cpu.cfs_quota_us");  // -1: none
    period = ValueAt(folder + "/cpu.cfs_period_us");
  }
  if (!quota || !period || *period == 0) return std::nullopt;
  return static_cast<double>(*quota) / static_cast<double>(*period);
}

// A parent may allow less than the group itself. Only the folder that limits counts the throttled time.
std::optional<double> CgroupFiles::Quota() {
  std::optional<double> least;
  for (const std::string& folder : Upwards(places_.cpu)) {
    const std::optional<double> quota = QuotaAt(folder, places_.cpu.version2);
    if (!quota || (least && *least <= *quota)) continue;
    least = quota;
    throttled_file_ = folder + "/cpu.stat";  // who limits also counts what he held back
  }
  return least;
}

// A quota of 7.5 CPUs keeps eight threads busy most of the time, so it is rounded up. The limit keeps the conversion
// defined for a quota that stands for none.
std::optional<std::int64_t> CgroupFiles::QuotaCpus() {
  const std::optional<double> quota = Quota();
  if (!quota) return std::nullopt;
  return static_cast<std::int64_t>(std::ceil(std::min(*quota, 1e6)));
}

void CgroupFiles::ReadPressure(HostSample* sample) {
  for (Pressure& pressure : pressure_) {
    const std::string_view text = pressure.file.Read(buffer_).value_or(std::string_view());
    const auto put = [&](HostSignal signal, std::string_view line) {
      const auto total = ParsePressure(text, line);
      if (total) {
        sample->Set(signal, *total);
      } else {
        sample->SetUnavailable(signal);
      }
    };
    put(pressure.some, "some");
    if (pressure.full) put(*pressure.full, "full");
  }
}

void CgroupFiles::ReadSlow(std::optional<std::int64_t> machine_memory, HostSample* sample) {
  if (throttled_file_.empty() && !places_.cpu.folder.empty())
    throttled_file_ = root_ + places_.cpu.folder + "/cpu.stat";
  KeptFile file(throttled_file_, nullptr);
  const std::string_view text = file.Read(buffer_).value_or(std::string_view());
  const auto micros = ValueOfKey(text, "throttled_usec");
  const auto nanos = ValueOfKey(text, "throttled_time");
  if (micros || nanos) {
    sample->Set(HostSignal::kThrottledTime, micros ? *micros * 1000 : *nanos);
  } else {
    sample->SetUnavailable(HostSignal::kThrottledTime);
  }
  ReadMemory(machine_memory, sample);
}

// The limit is the smallest on the way up to the mount, or else the machine's memory. The machine's own group is left
// out: its use is the machine's, and not the workload's.
void CgroupFiles::ReadMemory(std::optional<std::int64_t> machine_memory, HostSample* sample) {
  const bool v2 = places_.memory.version2;
  std::optional<std::int64_t> least;
  for (const std::string& at : Upwards(places_.memory)) {
    const auto here = ValueAt(at + (v2 ? "/memory.max" : "/memory.limit_in_bytes"));
    if (here && *here < kNoMemoryLimit) least = std::min(least.value_or(*here), *here);
  }
  if (!least && !IsOwn(places_.memory, "/memory.max")) return;
  const auto used = ValueAt(root_ + places_.memory.folder + (v2 ? "/memory.current" : "/memory.usage_in_bytes"));
  if (!used) return;
  sample->Set(HostSignal::kMemoryUsed, *used);
  if (least && machine_memory) least = std::min(*least, *machine_memory);
  const std::optional<std::int64_t> limit = least ? least : machine_memory;
  if (limit) sample->Set(HostSignal::kMemoryLimit, *limit);
}

bool CgroupFiles::ReadIo(HostSample* sample) {
  if (!IsOwn(places_.io, "/io.max")) return false;
  const bool v2 = places_.io.version2;
  KeptFile file(root_ + places_.io.folder + (v2 ? "/io.stat" : "/blkio.throttle.io_service_bytes"), nullptr);
  const auto text = file.Read(buffer_);
  if (!text) return false;
  const ByteCounts bytes = v2 ? ParseIoStat(*text) : ParseBlkioBytes(*text);
  sample->Set(HostSignal::kReadBytes, bytes.in);
  sample->Set(HostSignal::kWriteBytes, bytes.out);
  return true;
}

}  // namespace idleburn
