#include "measure/data_files.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "os/page_cache.h"

namespace idleburn {
namespace {

namespace fs = std::filesystem;

// Closes a descriptor at the end of a block.
class Opened {
 public:
  explicit Opened(const std::string& path) : fd_(OpenDataFile(path)) {}
  ~Opened() {
    if (fd_ >= 0) close(fd_);
  }
  Opened(const Opened&) = delete;
  Opened& operator=(const Opened&) = delete;
  [[nodiscard]] int fd() const { return fd_; }

 private:
  int fd_;
};

void Enter(const fs::directory_entry& entry, DataFiles& data) {
  std::error_code gone;
  if (entry.is_symlink(gone)) {
    ++data.links;
  } else if (entry.is_regular_file(gone)) {
    const std::uintmax_t bytes = entry.file_size(gone);
    if (gone) return;
    data.files.push_back({entry.path().string(), static_cast<std::int64_t>(bytes)});
    data.bytes += static_cast<std::int64_t>(bytes);
  }
}

// The files of one folder, and the folders in it. False if it cannot be listed.
bool ListFolder(const fs::path& folder, std::size_t most, DataFiles& data, std::vector<fs::path>& folders) {
  std::error_code failed;
  for (fs::directory_iterator at(folder, failed), end; !failed && at != end; at.increment(failed)) {
    if (data.files.size() >= most) {
      data.all = false;
      return true;
    }
    std::error_code gone;
    if (!at->is_symlink(gone) && at->is_directory(gone)) {
      folders.push_back(at->path());
    } else {
      Enter(*at, data);
    }
  }
  return !failed;
}

}  // namespace

std::int64_t DataFiles::MedianBytes() const {
  if (files.empty()) return 0;
  std::vector<std::int64_t> sizes;
  sizes.reserve(files.size());
  for (const DataFile& file : files) sizes.push_back(file.bytes);
  const auto middle = sizes.begin() + static_cast<std::ptrdiff_t>(sizes.size() / 2);
  std::nth_element(sizes.begin(), middle, sizes.end());
  return *middle;
}

Result<DataFiles> ListDataFiles(const std::string& path, std::size_t most) {
  std::error_code failed;
  const fs::path root = fs::canonical(path, failed);
  if (failed) return Fail(path + ": " + failed.message() + "; name the folder or file of the data");
  DataFiles data;
  const fs::directory_entry entry(root, failed);
  if (entry.is_regular_file(failed)) {
    Enter(entry, data);
    return data;
  }
  if (!entry.is_directory(failed)) return Fail(path + ": is neither a folder nor a regular file");
  std::vector<fs::path> folders = {root};
  while (!folders.empty() && data.all) {
    const fs::path folder = std::move(folders.back());
    folders.pop_back();
    if (ListFolder(folder, most, data, folders)) continue;
    if (folder == root) return Fail(path + ": cannot be listed: " + std::strerror(EACCES));
    ++data.closed;
  }
  std::sort(data.files.begin(), data.files.end(), [](const DataFile& a, const DataFile& b) { return a.path < b.path; });
  return data;
}

int OpenDataFile(const std::string& path) {
  constexpr int kFlags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
  const int fd = open(path.c_str(), kFlags | O_NOATIME);
  return fd >= 0 || errno != EPERM ? fd : open(path.c_str(), kFlags);  // only an owner may leave no trace
}

Result<void> WarmData(const DataFiles& data, const std::function<bool()>& stop) {
  std::vector<char> room(std::size_t{1} << 20);
  for (const DataFile& file : data.files) {
    const Opened opened(file.path);
    if (opened.fd() < 0) return Fail(file.path + ": " + std::strerror(errno));
    ssize_t got = 1;
    while (got > 0 && !stop()) got = read(opened.fd(), room.data(), room.size());
    if (got < 0) return Fail(file.path + ": " + std::strerror(errno));
  }
  return {};
}

Result<void> DropData(const DataFiles& data) {
  std::int64_t stayed = 0;
  for (const DataFile& file : data.files) {
    const Opened opened(file.path);
    if (opened.fd() < 0) return Fail(file.path + ": " + std::strerror(errno));
    if (IsInMemory(opened.fd())) return Fail(file.path + " is in a file system that is memory; it is never cold");
    DropFromCache(opened.fd(), 0, file.bytes);
    const std::optional<std::int64_t> cached = CachedBytes(opened.fd(), 0, file.bytes);
    if (!cached) {
      return Fail(file.path +
                  ": the kernel tells only its owner or who may write it whether it is cached; run as that user");
    }
    stayed += *cached;
  }
  if (stayed * 20 <= data.bytes) return {};
  return Fail(std::to_string(stayed * 100 / data.bytes) +
              " % of the data stay in the page cache, since somebody uses them or they are not written yet (sync)");
}

}  // namespace idleburn
