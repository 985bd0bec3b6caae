#include "os/folder_probe.h"

#include <fcntl.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

namespace idleburn {

FolderProbe ProbeFolder(const std::string& folder) {
  std::error_code unseen;
  std::filesystem::path place(folder);
  while (!std::filesystem::exists(place, unseen) && place.has_parent_path() && place != place.parent_path()) {
    place = place.parent_path();
  }
  FolderProbe probe;
  probe.existing = place.string();
  // What may be done is not what the permissions say: a read-only mount, a full quota. So it is done.
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

}  // namespace idleburn
