#include "os/folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <thread>
#include <utility>

namespace idleburn {

// Folders by way of std::filesystem where it suffices, and of the kernel's calls where permissions and locks matter.

std::vector<std::string> NamesIn(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code failed;
  for (const auto& entry : std::filesystem::directory_iterator(folder, failed)) {
    names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string BesideFolder(std::string folder, std::string_view ending) {
  while (folder.size() > 1 && folder.ends_with('/')) folder.pop_back();
  return folder.append(ending);
}

Result<FolderLock> FolderLock::Take(const std::string& folder, Nanos patience) {
  const int fd = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return Fail(folder + ": cannot be opened: " + std::strerror(errno));
  return Wait(fd, LOCK_EX, folder, patience);
}

Result<FolderLock> FolderLock::TakeBeside(const std::string& folder, bool shared, Nanos patience) {
  const std::string file = BesideFolder(folder, ".lock");
  const int fd = open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, kPrivateFile);
  if (fd < 0 && shared) return FolderLock(-1);
  if (fd < 0) return Fail(file + ": cannot be created: " + std::strerror(errno));
  return Wait(fd, shared ? LOCK_SH : LOCK_EX, folder, patience);
}

// Asks again every 2 ms, because a lock that waits has no time limit. Any refusal other than "held" is taken for a
// file system without locks.
Result<FolderLock> FolderLock::Wait(int fd, int kind, const std::string& folder, Nanos patience) {
  FolderLock lock(fd);
  const auto until = std::chrono::steady_clock::now() + patience;
  while (flock(fd, kind | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    if (std::chrono::steady_clock::now() >= until) {
      return Fail(folder + ": is in use by another idleburn; try again when that has finished");
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return lock;
}

FolderLock::FolderLock(FolderLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

FolderLock::~FolderLock() {
  if (fd_ >= 0) close(fd_);
}

// Walks up to a parent that exists, because the folder may only be made later.
FolderProbe ProbeFolder(const std::string& folder) {
  std::error_code unseen;
  std::filesystem::path place(folder);
  while (!std::filesystem::exists(place, unseen) && place.has_parent_path() && place != place.parent_path()) {
    place = place.parent_path();
  }
  FolderProbe probe;
  probe.existing = place.string();
  // Permissions do not tell enough: the mount may be read-only, or a quota full. So a file is created.
  std::string name = probe.existing + "/.idleburn-XXXXXX";
  const int fd = mkostemp(name.data(), O_CLOEXEC);
  if (fd < 0) {
    probe.fault = std::strerror(errno);
    return probe;
  }
  close(fd);
  unlink(name.c_str());
  struct statvfs space {};
  if (statvfs(probe.existing.c_str(), &space) == 0) {
    probe.free_bytes = static_cast<std::int64_t>(space.f_bavail) * static_cast<std::int64_t>(space.f_frsize);
  }
  return probe;
}

namespace {

// Permissions of the group and of everyone.
constexpr mode_t kOthers = S_IRWXG | S_IRWXO;
// How deep permissions are removed: the folder itself, and recordings/ in it.
constexpr int kDepth = 2;

// Makes the parents first. Another process may make the same folder meanwhile.
Result<void> MakeFolder(const std::string& folder, mode_t mode) {
  struct stat info {};
  if (folder.empty() || (stat(folder.c_str(), &info) == 0 && S_ISDIR(info.st_mode))) return {};
  const std::filesystem::path parent = std::filesystem::path(folder).parent_path();
  if (parent != folder) TRY(MakeFolder(parent.string(), mode));
  if (mkdir(folder.c_str(), mode) == 0) return {};
  if (errno == EEXIST && stat(folder.c_str(), &info) == 0 && S_ISDIR(info.st_mode)) return {};  // made meanwhile
  return Fail(folder + ": cannot be created: " + std::strerror(errno));
}

// Removes the permissions of other users. Returns whether there were any and they are gone. `type` (S_IFREG, S_IFDIR)
// is what the path must be, so that a link is never followed.
bool Close(const std::string& path, mode_t type) {
  struct stat info {};
  if (lstat(path.c_str(), &info) != 0 || (info.st_mode & S_IFMT) != type) return false;
  if (info.st_uid != geteuid() || (info.st_mode & kOthers) == 0) return false;
  return chmod(path.c_str(), info.st_mode & 07777 & ~kOthers) == 0;
}

// Closes a folder and what is in it, `depth` levels deep. A folder that was closed already ends the walk.
void CloseIn(const std::string& folder, int depth) {
  if (depth == 0 || !Close(folder, S_IFDIR)) return;
  for (const std::string& name : NamesIn(folder)) {
    const std::string path = folder + "/" + name;
    Close(path, S_IFREG);
    CloseIn(path, depth - 1);
  }
}

}  // namespace

Result<void> MakePrivateFolder(const std::string& folder) { return MakeFolder(folder, S_IRWXU); }
Result<void> MakeNamedFolder(const std::string& folder) { return MakeFolder(folder, S_IRWXU | kOthers); }

void CloseToOthers(const std::string& folder) { CloseIn(folder, kDepth); }
void CloseFileToOthers(const std::string& file) { Close(file, S_IFREG); }

}  // namespace idleburn
