#include "os/private_folder.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "os/folder_names.h"

namespace idleburn {
namespace {

constexpr mode_t kOthers = S_IRWXG | S_IRWXO;
constexpr int kDepth = 2;  // the folder itself, and recordings/ in it

Result<void> MakeFolder(const std::string& folder, mode_t mode) {
  struct stat info {};
  if (folder.empty() || (stat(folder.c_str(), &info) == 0 && S_ISDIR(info.st_mode))) return {};
  const std::filesystem::path parent = std::filesystem::path(folder).parent_path();
  if (parent != folder) TRY(MakeFolder(parent.string(), mode));
  if (mkdir(folder.c_str(), mode) == 0) return {};
  if (errno == EEXIST && stat(folder.c_str(), &info) == 0 && S_ISDIR(info.st_mode)) return {};  // made meanwhile
  return Fail(folder + ": cannot be made: " + std::strerror(errno));
}

// Whether there were rights to take.
bool Close(const std::string& path, mode_t type) {
  struct stat info {};
  if (lstat(path.c_str(), &info) != 0 || (info.st_mode & S_IFMT) != type) return false;
  if (info.st_uid != geteuid() || (info.st_mode & kOthers) == 0) return false;
  return chmod(path.c_str(), info.st_mode & 07777 & ~kOthers) == 0;
}

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
