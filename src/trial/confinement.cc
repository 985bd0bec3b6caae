#include "trial/confinement.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <string_view>
#include <thread>
#include <tuple>

#include "measure/proc_files.h"
#include "os/kept_file.h"
#include "text/number.h"

namespace idleburn {
namespace {

// A file of sysfs that holds one number; absent where it holds none or is not there.
std::optional<int> NumberIn(const std::string& path) {
  const std::optional<std::int64_t> number = ParseInteger(FileText(path));
  return number ? std::optional(static_cast<int>(*number)) : std::nullopt;
}

bool SameCore(const CpuPlace& a, const CpuPlace& b) { return a.package == b.package && a.core == b.core; }

// The kernel refills the CPU time of a group this often. 100 ms is its own default: a shorter period costs more
// switches, a longer one lets a command stand still for visible times.
constexpr std::int64_t kPeriodMicros = 100'000;

// By Controller, as version 2 names them and as messages do. Version 1 calls the second one blkio.
constexpr std::array<std::string_view, 2> kControllerNames = {"cpu", "io"};

// Writes a control file in one call, as the kernel takes it. Returns 0, or the error.
int WriteText(const std::string& path, const std::string& text) {
  const int fd = open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (fd < 0) return errno;
  const int error = write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size()) ? 0 : errno;
  close(fd);
  return error;
}

// Whether the file lists `word` among words that white space parts.
bool HoldsWord(const std::string& path, std::string_view word) {
  const std::string text = FileText(path);
  Words words(text);
  for (std::string_view at = words.Next(); !at.empty(); at = words.Next()) {
    if (at == word) return true;
  }
  return false;
}

// Processes may take a moment to leave a group after they were waited for, so a busy folder is tried again for a
// second.
void RemoveFolder(const std::string& path) {
  for (int i = 0; i < 100 && rmdir(path.c_str()) != 0 && errno == EBUSY; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

// Two runs of idleburn may stand in one group, so the name has our pid.
std::string NewName(std::string_view what) { return "/idleburn-" + std::string(what) + "-" + std::to_string(getpid()); }

constexpr std::string_view kHowToGetOne =
    "; run as root, or in a group of your own: systemd-run --user --scope -p Delegate=yes idleburn isolate ...";

}  // namespace

std::vector<CpuPlace> AllowedCpus(const std::string& sys) {
  std::vector<CpuPlace> places;
  // A set of fixed size fails on machines with more than 1024 CPUs.
  constexpr int kMost = 1 << 14;
  cpu_set_t* const set = CPU_ALLOC(kMost);
  const std::size_t size = CPU_ALLOC_SIZE(kMost);
  if (set != nullptr && sched_getaffinity(0, size, set) == 0) {
    for (int cpu = 0; cpu < kMost; ++cpu) {
      if (!CPU_ISSET_S(static_cast<std::size_t>(cpu), size, set)) continue;
      const std::string folder = sys + "/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/";
      const std::optional<int> core = NumberIn(folder + "core_id");
      places.push_back({cpu, core ? NumberIn(folder + "physical_package_id").value_or(0) : 0, core.value_or(cpu)});
    }
  }
  CPU_FREE(set);
  return places;
}

double UsableCpus(const std::vector<CpuPlace>& allowed, std::optional<double> quota) {
  const auto count = static_cast<double>(allowed.size());
  return std::min(count, quota.value_or(count));
}

std::vector<int> HalfOfCpus(std::vector<CpuPlace> allowed, double usable) {
  std::sort(allowed.begin(), allowed.end(), [](const CpuPlace& a, const CpuPlace& b) {
    return std::tie(a.package, a.core, a.cpu) < std::tie(b.package, b.core, b.cpu);
  });
  std::vector<int> even;
  std::vector<int> odd;
  std::size_t cores = 0;
  for (std::size_t i = 0; i < allowed.size(); ++i) {
    if (i > 0 && !SameCore(allowed[i - 1], allowed[i])) ++cores;
    (cores % 2 == 0 ? even : odd).push_back(allowed[i].cpu);
  }
  even.insert(even.end(), odd.begin(), odd.end());
  even.resize(std::min(even.size(), static_cast<std::size_t>(std::max(usable / 2, 1.0))));
  std::sort(even.begin(), even.end());
  return even;
}

Result<std::unique_ptr<ControlGroup>> ControlGroup::Make(const CgroupPlace& place, Controller controller,
                                                         const std::vector<pid_t>& ours, const std::string& root) {
  const std::string name(kControllerNames[static_cast<std::size_t>(controller)]);
  if (place.folder.empty()) return Fail("no control groups of " + name + " are mounted here");
  std::unique_ptr<ControlGroup> group(new ControlGroup(name, place.version2));
  const std::string own = root + place.folder;
  if (!place.version2) {
    const Result<void> made = group->MakeIn(own);
    if (!made) return Fail(made.error().message + "; run as root");
    return group;
  }
  // A group that is there for others needs nothing switched on, so it goes first.
  std::vector<std::string> parents = {own};
  if (place.folder != place.mount) parents.push_back(own.substr(0, own.rfind('/')));
  std::string why = name + " is not enabled for any group in " + parents.back();
  for (const std::string& parent : parents) {
    if (!HoldsWord(parent + "/cgroup.subtree_control", name)) continue;
    const Result<void> made = group->MakeIn(parent);
    if (made) return group;
    why = made.error().message;
  }
  if (HoldsWord(own + "/cgroup.controllers", name)) {
    Result<void> made = group->StepAside(own, ours);
    if (made) made = group->MakeIn(own);
    if (made) return group;
    why = made.error().message;
  }
  return Fail(why + std::string(kHowToGetOne));
}

Result<void> ControlGroup::MakeIn(const std::string& parent) {
  const std::string folder = parent + NewName("isolate");
  if (mkdir(folder.c_str(), 0755) != 0) {
    return Fail("cannot create a control group in " + parent + ": " + std::strerror(errno));
  }
  folder_ = folder;
  procs_ = open((folder_ + "/cgroup.procs").c_str(), O_WRONLY | O_CLOEXEC);
  if (procs_ >= 0) return {};
  const std::string why = std::strerror(errno);
  RemoveFolder(folder_);
  folder_.clear();
  return Fail(folder + "/cgroup.procs is not writable: " + why);
}

Result<void> ControlGroup::StepAside(const std::string& own, const std::vector<pid_t>& ours) {
  // A process that is none of ours must not be moved: it may be accounted for by its group.
  const std::string text = FileText(own + "/cgroup.procs");
  for (std::string_view rest = text; !rest.empty();) {
    const std::optional<std::int64_t> pid = ParseInteger(TakeLine(&rest));
    if (!pid || std::find(ours.begin(), ours.end(), *pid) == ours.end()) {
      return Fail("the control group " + own + " has other processes than idleburn");
    }
    moved_.push_back(static_cast<pid_t>(*pid));
  }
  aside_ = own + NewName("self");
  if (mkdir(aside_.c_str(), 0755) != 0) {
    const std::string why = std::strerror(errno);
    aside_.clear();
    return Fail("cannot create a control group in " + own + ": " + why);
  }
  left_ = own;
  for (const pid_t pid : moved_) {
    const int error = WriteText(aside_ + "/cgroup.procs", std::to_string(pid));
    if (error != 0) return Fail(aside_ + "/cgroup.procs is not writable: " + std::strerror(error));
  }
  const int error = WriteText(own + "/cgroup.subtree_control", "+" + controller_);
  if (error != 0) return Fail(controller_ + " cannot be enabled in " + own + ": " + std::strerror(error));
  return {};
}

ControlGroup::~ControlGroup() {
  if (procs_ >= 0) close(procs_);
  if (!folder_.empty()) RemoveFolder(folder_);
  if (left_.empty()) return;
  WriteText(left_ + "/cgroup.subtree_control", "-" + controller_);
  for (const pid_t pid : moved_) WriteText(left_ + "/cgroup.procs", std::to_string(pid));
  RemoveFolder(aside_);
}

Result<void> ControlGroup::Set(const std::string& file, const std::string& value) {
  const std::string path = folder_ + "/" + file;
  const int error = WriteText(path, value);
  if (error == 0) return {};
  return Fail(path + ": '" + value + "' cannot be set: " + std::strerror(error));
}

Result<void> ControlGroup::LimitCpu(double cpus) {
  const std::string period = std::to_string(kPeriodMicros);
  const auto micros = static_cast<std::int64_t>(std::max(cpus, 0.01) * static_cast<double>(kPeriodMicros) + 0.5);
  if (version2_) return Set("cpu.max", std::to_string(micros) + " " + period);
  TRY(Set("cpu.cfs_period_us", period));
  return Set("cpu.cfs_quota_us", std::to_string(micros));
}

Result<void> ControlGroup::LimitReads(dev_t disk, std::int64_t bytes_per_second) {
  const std::string number = std::to_string(major(disk)) + ":" + std::to_string(minor(disk)) + " ";
  const std::string rate = std::to_string(bytes_per_second);
  if (version2_) return Set("io.max", number + "rbps=" + rate);
  return Set("blkio.throttle.read_bps_device", number + rate);
}

}  // namespace idleburn
