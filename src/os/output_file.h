#pragma once

#include <sys/types.h>

#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/byte_source.h"
#include "base/result.h"

namespace idleburn {
// Files that idleburn writes: whole, once, or by appending. A full disk, a kill or a second writer must not leave a
// file that looks whole and is not.

// Writes all of `bytes` to an open file. It waits if the file is set to non-blocking. Returns 0, or the errno that
// ended it.
int WriteAll(int to, std::string_view bytes);

// Replaces a file atomically: readers see the old or the new content, never a part. It writes a temporary file beside
// it and renames that. An existing file keeps its permissions, and a symbolic link stays one. A special file such as
// /dev/stdout is written directly.
Result<void> WriteFileWhole(const std::string& path, std::string_view text);
// Creates a read-only file, for content that must not change later. Fails if the file exists, and leaves it alone.
Result<void> WriteFileOnce(const std::string& path, std::string_view text);

// A file that only grows: a recording, its journal. If a call cannot append everything, it removes the part that it
// wrote. A full disk therefore damages nothing. For one thread at a time.
class AppendFile {
 public:
  // Creates a file, or opens an empty one, and locks it against other writers (flock). Fails if the file has content or
  // another program appends to it. `flag` is the option that the error proposes for another path.
  static Result<std::unique_ptr<AppendFile>> CreateLocked(const std::string& path, const std::string& flag,
                                                          mode_t mode);
  // Creates a file and replaces one of that name. `mode` has its permissions before the umask, as above.
  static Result<std::unique_ptr<AppendFile>> Create(const std::string& path, mode_t mode);
  ~AppendFile();
  AppendFile(const AppendFile&) = delete;
  AppendFile& operator=(const AppendFile&) = delete;

  // Appends to the page cache and not to the disk, in one write call unless the kernel takes less at once. Fails if
  // the file was deleted, because its content would vanish when it is closed.
  Result<void> Append(std::string_view bytes);
  // Waits until everything is on the disk.
  Result<void> Sync();
  // Renames the file and replaces one of that name.
  Result<void> Rename(const std::string& path);
  // Whether somebody deleted the file.
  [[nodiscard]] bool IsDeleted() const;

 private:
  AppendFile(int fd, std::string path) : fd_(fd), path_(std::move(path)) {}
  int fd_;
  std::string path_;
  std::int64_t size_ = 0;
};

// Whether a program holds an AppendFile of that path locked now. Always false for a copy of the file, and on a file
// system without locks.
bool IsBeingAppended(const std::string& path);

// Deletes a file. A missing file is no error.
Result<void> RemoveFile(const std::string& path);
// Renames a file and replaces one of that name. A missing file is no error.
Result<void> MoveFile(const std::string& from, const std::string& to);
// Reads a file of at most `most` bytes. Absent if there is no such file.
Result<std::optional<std::string>> ReadFileIfThere(const std::string& path, std::size_t most);

// The folder for temporary files: $TMPDIR, or else /tmp. Sorting a large log may need gigabytes there.
std::string TemporaryFolder();
// Opens an unlinked file for reading and writing in that folder; the caller closes it. nullptr if the folder is not
// writable (errno tells why). std::tmpfile ignores TMPDIR, so it does not serve.
std::FILE* OpenTemporaryFile();

// A stream copied to a temporary file, for a library that opens its input by path: SQLite reads a compressed profile
// that way. The path disappears with this object. The bytes stay until every reader has closed the file.
class SpooledFile {
 public:
  // Copies the rest of `in`. An error names the input and TMPDIR.
  static Result<SpooledFile> Of(ByteSource& in);
  ~SpooledFile();
  SpooledFile(SpooledFile&& other) noexcept : path_(std::move(other.path_)) { other.path_.clear(); }
  SpooledFile& operator=(SpooledFile&&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  explicit SpooledFile(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

// A temporary folder that is deleted with its content at the end. `drill --scratch` lets a command write there.
class ScratchFolder {
 public:
  // Starts as a copy of the folder `copy_of`, or empty if that is empty.
  static Result<ScratchFolder> Make(const std::string& copy_of);
  ~ScratchFolder();
  ScratchFolder(ScratchFolder&& other) noexcept : path_(std::move(other.path_)) { other.path_.clear(); }
  ScratchFolder& operator=(ScratchFolder&&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  explicit ScratchFolder(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

}  // namespace idleburn
