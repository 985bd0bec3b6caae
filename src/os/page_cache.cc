#include "os/page_cache.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

namespace idleburn {
namespace {

// The kernel answers "all of it" to who may not know: since 5.1, mincore tells the truth only to owners and writers.
bool MayKnow(int fd) {
  struct stat info {};
  if (fstat(fd, &info) != 0) return false;
  if (geteuid() == 0 || info.st_uid == geteuid()) return true;
  return faccessat(fd, "", W_OK, AT_EMPTY_PATH | AT_EACCESS) == 0;
}

}  // namespace

void DropFromCache(int fd, std::int64_t from, std::int64_t bytes) {
  posix_fadvise(fd, from, bytes, POSIX_FADV_DONTNEED);
}

std::optional<std::int64_t> CachedBytes(int fd, std::int64_t from, std::int64_t bytes) {
  if (bytes <= 0) return 0;
  if (!MayKnow(fd)) return std::nullopt;
  const std::int64_t page = sysconf(_SC_PAGESIZE);
  const std::int64_t start = from / page * page;
  const auto length = static_cast<std::size_t>(from + bytes - start);
  void* const map = mmap(nullptr, length, PROT_READ, MAP_SHARED, fd, start);
  if (map == MAP_FAILED) return std::nullopt;
  std::vector<unsigned char> pages((length + static_cast<std::size_t>(page) - 1) / static_cast<std::size_t>(page));
  const bool told = mincore(map, length, pages.data()) == 0;
  munmap(map, length);
  if (!told) return std::nullopt;
  const auto cached = std::count_if(pages.begin(), pages.end(), [](unsigned char p) { return (p & 1U) != 0; });
  return std::min(static_cast<std::int64_t>(cached) * page, bytes);
}

bool IsInMemory(int fd) {
  struct statfs info {};
  if (fstatfs(fd, &info) != 0) return false;
  return info.f_type == TMPFS_MAGIC || info.f_type == RAMFS_MAGIC || info.f_type == HUGETLBFS_MAGIC;
}

}  // namespace idleburn
