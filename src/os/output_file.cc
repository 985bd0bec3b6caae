#include "os/output_file.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <vector>

namespace idleburn {
int WriteAll(int to, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = write(to, bytes.data(), bytes.size());
    if (n >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(n));
    } else if (errno == EAGAIN) {  // somebody else's open file is set not to wait
      pollfd ready{to, POLLOUT, 0};
      poll(&ready, 1, -1);
    } else if (errno != EINTR) {
      return errno;
    }
  }
  return 0;
}

// The temporary file is NAME.part in the same folder, because rename is atomic only within a file system.
Result<void> WriteFileWhole(const std::string& path, std::string_view text) {
  struct stat info {};
  const bool there = stat(path.c_str(), &info) == 0;
  // A device or pipe cannot be replaced, only written.
  const bool special = there && !S_ISREG(info.st_mode);
  std::error_code unresolved;
  // A rename would replace a symbolic link, so the file behind it is written.
  const std::filesystem::path resolved = std::filesystem::canonical(path, unresolved);
  const std::string whole = there && !unresolved ? resolved.string() : path;  // a link stays one
  const std::string target = special ? path : whole + ".part";
  // A file that is replaced keeps its permissions, whatever the umask is now.
  const mode_t mode = there ? info.st_mode & 0777 : 0644;
  const int fd = open(target.c_str(), O_WRONLY | O_CLOEXEC | (special ? 0 : O_CREAT | O_TRUNC), mode);
  if (fd < 0) return Fail(path + ": cannot be written: " + std::strerror(errno) + "; choose another place with -o");
  int error = there && !special && fchmod(fd, mode) != 0 ? errno : 0;
  if (error == 0) error = WriteAll(fd, text);
  if (close(fd) != 0 && error == 0) error = errno;
  if (error == 0 && !special && std::rename(target.c_str(), whole.c_str()) != 0) error = errno;
  if (error == 0) return {};
  // The old file is still there and whole.
  if (!special) unlink(target.c_str());
  return Fail(path + ": cannot be written: " + std::strerror(error));
}

// O_EXCL makes the check and the creation one step. A file that could not be written whole is removed again.
Result<void> WriteFileOnce(const std::string& path, std::string_view text) {
  const int fd = open(path.c_str(), O_WRONLY | O_CLOEXEC | O_CREAT | O_EXCL, 0444);
  if (fd < 0 && errno == EEXIST)
    return Fail(path + ": already exists, and idleburn never overwrites it; name another file");
  if (fd < 0) return Fail(path + ": cannot be written: " + std::strerror(errno) + "; choose another place with -o");
  int error = WriteAll(fd, text);
  if (error == 0 && fsync(fd) != 0) error = errno;
  if (close(fd) != 0 && error == 0) error = errno;
  if (error == 0) return {};
  unlink(path.c_str());
  return Fail(path + ": cannot be written: " + std::strerror(error));
}

namespace {

// The error of a write that failed.
tl::unexpected<Error> CannotWrite(const std::string& path, int error) {
  return Fail(path + ": cannot be written: " + std::strerror(error));
}

}  // namespace

// The lock is taken before the size is looked at, so that two programs cannot both find the file empty.
Result<std::unique_ptr<AppendFile>> AppendFile::CreateLocked(const std::string& path, const std::string& flag,
                                                             mode_t mode) {
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, mode);
  if (fd < 0) {
    return Fail(path + ": cannot be created: " + std::strerror(errno) + "; choose another place for it");
  }
  std::unique_ptr<AppendFile> file(new AppendFile(fd, path));
  // Some network file systems have no locks. There the check for an empty file must suffice.
  if (flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    return Fail(path + ": is being recorded by another idleburn; choose another file with " + flag);
  }
  struct stat info {};
  if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) {
    return Fail(path + ": not a regular file; choose another place for it");
  }
  if (info.st_size > 0) return Fail(path + ": already exists; choose another file with " + flag + ", or move it away");
  return file;
}

Result<std::unique_ptr<AppendFile>> AppendFile::Create(const std::string& path, mode_t mode) {
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
  if (fd < 0) return CannotWrite(path, errno);
  return std::unique_ptr<AppendFile>(new AppendFile(fd, path));
}

AppendFile::~AppendFile() { close(fd_); }

bool AppendFile::IsDeleted() const {
  struct stat info {};
  return fstat(fd_, &info) == 0 && info.st_nlink == 0;
}

// Writes at its own position instead of the end (O_APPEND), so that the rest of a failed call is overwritten even if
// it could not be cut off.
Result<void> AppendFile::Append(std::string_view bytes) {
  if (IsDeleted()) return Fail(path_ + ": was deleted while it was written");
  const std::int64_t before = size_;
  while (!bytes.empty()) {
    const ssize_t n = pwrite(fd_, bytes.data(), bytes.size(), size_);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      const int error = n < 0 ? errno : ENOSPC;
      size_ = before;
      // If even that fails, the next append overwrites the excess.
      if (ftruncate(fd_, before) != 0) return CannotWrite(path_, error);
      return CannotWrite(path_, error);
    }
    size_ += n;
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return {};
}

// Special files and read-only file systems cannot be synced, which is no failure.
Result<void> AppendFile::Sync() {
  if (fdatasync(fd_) == 0 || errno == EINVAL || errno == EROFS) return {};
  return CannotWrite(path_, errno);
}

// The file stays open and locked under its new name.
Result<void> AppendFile::Rename(const std::string& path) {
  if (std::rename(path_.c_str(), path.c_str()) != 0) return CannotWrite(path, errno);
  path_ = path;
  return {};
}

// Tries a shared lock, which only an exclusive one refuses. O_NONBLOCK keeps a named pipe from blocking.
bool IsBeingAppended(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return false;
  const bool locked = flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  close(fd);
  return locked;
}

Result<void> RemoveFile(const std::string& path) {
  if (unlink(path.c_str()) == 0 || errno == ENOENT) return {};
  return Fail(path + ": cannot be removed: " + std::strerror(errno));
}

Result<void> MoveFile(const std::string& from, const std::string& to) {
  if (std::rename(from.c_str(), to.c_str()) == 0 || errno == ENOENT) return {};
  return Fail(from + ": cannot be renamed to " + to + ": " + std::strerror(errno));
}

// Reads until it is past `most`, so that a file of exactly that size is told from a larger one.
Result<std::optional<std::string>> ReadFileIfThere(const std::string& path, std::size_t most) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0 && (errno == ENOENT || errno == ENOTDIR)) return std::optional<std::string>();
  if (fd < 0) return Fail(path + ": cannot be opened: " + std::strerror(errno));
  std::string content;
  int error = 0;
  while (content.size() <= most && error == 0) {
    const std::size_t had = content.size();
    content.resize(had + 65536);
    const ssize_t n = read(fd, content.data() + had, content.size() - had);
    content.resize(had + (n > 0 ? static_cast<std::size_t>(n) : 0));
    if (n == 0) break;
    if (n < 0 && errno != EINTR) error = errno;
  }
  close(fd);
  if (error != 0) return Fail(path + ": cannot be read: " + std::strerror(error));
  if (content.size() > most) return Fail(path + ": is larger than idleburn ever writes it; move it away");
  return std::optional(std::move(content));
}

namespace {

// A new file and its path.
struct Created {
  std::FILE* file;  // nullptr if it could not be made
  std::string path;
};

// Creates a file with a unique name. O_CLOEXEC keeps it from programs that are started meanwhile.
Created CreateTemporaryFile() {
  std::string path = TemporaryFolder() + "/idleburn.XXXXXX";
  const int fd = mkostemp(path.data(), O_CLOEXEC);
  if (fd < 0) return {nullptr, path};
  std::FILE* file = fdopen(fd, "w+b");
  if (file == nullptr) {
    close(fd);
    unlink(path.c_str());
  }
  return {file, path};
}

// Copies the rest of `in`. A disk without room is the user's to solve, so the error names TMPDIR.
Result<void> Copy(ByteSource& in, std::FILE* out) {
  std::vector<char> block(std::size_t{1} << 20);
  while (true) {
    const std::size_t got = TRY(in.Read(block));
    if (got == 0) return {};
    if (std::fwrite(block.data(), 1, got, out) != got) {
      return Fail(in.name() + ": no room to unpack it: " + std::strerror(errno) + "; name another folder in TMPDIR");
    }
  }
}

}  // namespace

std::string TemporaryFolder() {
  const char* folder = std::getenv("TMPDIR");
  return folder != nullptr && *folder != '\0' ? folder : "/tmp";
}

// Unlinked at once, so that the file is gone however the process ends.
std::FILE* OpenTemporaryFile() {
  const Created created = CreateTemporaryFile();
  if (created.file != nullptr) unlink(created.path.c_str());
  return created.file;
}

// fclose writes the rest, so it may be what finds the disk full.
Result<SpooledFile> SpooledFile::Of(ByteSource& in) {
  const Created created = CreateTemporaryFile();
  if (created.file == nullptr) {
    return Fail(in.name() + ": cannot be unpacked to " + created.path + ": " + std::strerror(errno) +
                "; name another folder in TMPDIR");
  }
  SpooledFile spooled(created.path);
  Result<void> copied = Copy(in, created.file);
  if (std::fclose(created.file) != 0 && copied) {
    copied = Fail(in.name() + ": no room to unpack it: " + std::strerror(errno) + "; name another folder in TMPDIR");
  }
  TRY(copied);
  return spooled;
}

SpooledFile::~SpooledFile() {
  if (!path_.empty()) unlink(path_.c_str());
}

Result<ScratchFolder> ScratchFolder::Make(const std::string& copy_of) {
  std::error_code failed;
  if (!copy_of.empty() && !std::filesystem::is_directory(copy_of, failed)) return Fail(copy_of + ": not a folder");
  std::string path = TemporaryFolder() + "/idleburn-scratch.XXXXXX";
  if (mkdtemp(path.data()) == nullptr) {
    return Fail(path + ": cannot be created: " + std::strerror(errno) + "; set TMPDIR to a writable folder");
  }
  ScratchFolder scratch(std::move(path));
  if (copy_of.empty()) return scratch;
  // Links are copied as links, so that nothing outside the folder is copied.
  const auto options = std::filesystem::copy_options::recursive | std::filesystem::copy_options::copy_symlinks;
  std::filesystem::copy(copy_of, scratch.path(), options, failed);
  if (failed) return Fail(copy_of + ": cannot be copied to " + scratch.path() + ": " + failed.message());
  return scratch;
}

ScratchFolder::~ScratchFolder() {
  if (path_.empty()) return;
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace idleburn
