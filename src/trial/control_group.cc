#include "trial/control_group.h"

#include <fcntl.h>
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

#include "measure/proc_files.h"
#include "os/kept_file.h"
#include "text/number.h"

namespace idleburn {
namespace {

constexpr std::int64_t kPeriodMicros = 100'000;

struct ControllerRow {
  std::string_view version1;
  std::string_view version2;
};
constexpr std::array<ControllerRow, 2> kControllers = {{{"cpu", "cpu"}, {"blkio", "io"}}};

// 0, or the error.
int WriteText(const std::string& path, const std::string& text) {
  const int fd = open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (fd < 0) return errno;
  const int error = write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size()) ? 0 : errno;
  close(fd);
  return error;
}

bool HoldsWord(const std::string& path, std::string_view word) {
  const std::string text = FileText(path);
  Words words(text);
  for (std::string_view at = words.Next(); !at.empty(); at = words.Next()) {
    if (at == word) return true;
  }
  return false;
}

// Processes may take a moment to leave a group after they were waited for.
void RemoveFolder(const std::string& path) {
  for (int i = 0; i < 100 && rmdir(path.c_str()) != 0 && errno == EBUSY; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

std::string NewName(std::string_view what) { return "/idleburn-" + std::string(what) + "-" + std::to_string(getpid()); }

constexpr std::string_view kHowToGetOne =
    "; run as root, or in a group of your own: systemd-run --user --scope -p Delegate=yes idleburn isolate ...";

}  // namespace

Result<std::unique_ptr<ControlGroup>> ControlGroup::Make(const CgroupPlace& place, Controller controller,
                                                         const std::vector<pid_t>& ours, const std::string& root) {
  const ControllerRow& row = kControllers[static_cast<std::size_t>(controller)];
  if (place.folder.empty()) return Fail("no control groups of " + std::string(row.version2) + " are mounted here");
  std::unique_ptr<ControlGroup> group(new ControlGroup(controller, place.version2));
  const std::string own = root + place.folder;
  if (!place.version2) {
    const Result<void> made = group->MakeIn(own);
    if (!made) return Fail(made.error().message + "; run as root");
    return group;
  }
  std::vector<std::string> parents = {own};
  if (place.folder != place.mount) parents.push_back(own.substr(0, own.rfind('/')));
  std::string why = std::string(row.version2) + " is switched on for no group in " + parents.back();
  for (const std::string& parent : parents) {
    if (!HoldsWord(parent + "/cgroup.subtree_control", row.version2)) continue;
    const Result<void> made = group->MakeIn(parent);
    if (made) return group;
    why = made.error().message;
  }
  if (HoldsWord(own + "/cgroup.controllers", row.version2)) {
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
    return Fail("no control group can be made in " + parent + ": " + std::strerror(errno));
  }
  folder_ = folder;
  procs_ = open((folder_ + "/cgroup.procs").c_str(), O_WRONLY | O_CLOEXEC);
  if (procs_ >= 0) return {};
  const std::string why = std::strerror(errno);
  RemoveFolder(folder_);
  folder_.clear();
  return Fail(folder + "/cgroup.procs may not be written: " + why);
}

Result<void> ControlGroup::StepAside(const std::string& own, const std::vector<pid_t>& ours) {
  const std::string text = FileText(own + "/cgroup.procs");
  for (std::string_view rest = text; !rest.empty();) {
    const std::optional<std::int64_t> pid = ParseInteger(TakeLine(&rest));
    if (!pid || std::find(ours.begin(), ours.end(), *pid) == ours.end()) {
      return Fail("the control group " + own + " holds other processes than idleburn");
    }
    moved_.push_back(static_cast<pid_t>(*pid));
  }
  aside_ = own + NewName("self");
  if (mkdir(aside_.c_str(), 0755) != 0) {
    const std::string why = std::strerror(errno);
    aside_.clear();
    return Fail("no control group can be made in " + own + ": " + why);
  }
  left_ = own;
  for (const pid_t pid : moved_) {
    const int error = WriteText(aside_ + "/cgroup.procs", std::to_string(pid));
    if (error != 0) return Fail(aside_ + "/cgroup.procs may not be written: " + std::strerror(error));
  }
  const std::string name(kControllers[static_cast<std::size_t>(controller_)].version2);
  const int error = WriteText(own + "/cgroup.subtree_control", "+" + name);
  if (error != 0) return Fail(name + " cannot be switched on in " + own + ": " + std::strerror(error));
  return {};
}

ControlGroup::~ControlGroup() {
  if (procs_ >= 0) close(procs_);
  if (!folder_.empty()) RemoveFolder(folder_);
  if (left_.empty()) return;
  const std::string name(kControllers[static_cast<std::size_t>(controller_)].version2);
  WriteText(left_ + "/cgroup.subtree_control", "-" + name);
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
