#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace idleburn {

// All of `bytes` to an open file, waiting where it is set not to wait. 0, or the error that ended it.
int WriteAll(int to, std::string_view bytes);

// Writes a file so that it appears whole or not at all: to a temporary name beside it, then renamed. One that is there
// keeps its permissions, and a link to it stays a link. A special file such as /dev/stdout is written directly.
Result<void> WriteFileWhole(const std::string& path, std::string_view text);
// Writes a file that nobody is to change afterwards, read-only; one that is there already is an error and stays.
Result<void> WriteFileOnce(const std::string& path, std::string_view text);

// A file that only grows. What a call could not append whole is taken back, so that what was there stays intact.
class AppendFile {
 public:
  // A new file, or an empty one, that no other program may append to while this one lives (flock). A file that holds
  // something or is being appended to is an error; `flag` names another.
  static Result<std::unique_ptr<AppendFile>> CreateLocked(const std::string& path, const std::string& flag,
                                                          mode_t mode);
  // A new file, in place of one of that name. Both with these permissions, less the umask.
  static Result<std::unique_ptr<AppendFile>> Create(const std::string& path, mode_t mode);
  ~AppendFile();
  AppendFile(const AppendFile&) = delete;
  AppendFile& operator=(const AppendFile&) = delete;

  // One write call. It waits for the page cache only, not for the disk. A file that has no name any more is an error:
  // what is written there is gone when it is closed.
  Result<void> Append(std::string_view bytes);
  // Waits until the disk has everything.
  Result<void> Sync();
  // Gives the file another name, in place of a file of that name.
  Result<void> Rename(const std::string& path);
  // Whether somebody deleted it.
  [[nodiscard]] bool IsDeleted() const;

 private:
  AppendFile(int fd, std::string path) : fd_(fd), path_(std::move(path)) {}
  int fd_;
  std::string path_;
  std::int64_t size_ = 0;
};

// Whether a program has such a file locked now. Of a copy, and where the file system has no locks, never.
bool IsBeingAppended(const std::string& path);

// No error if there is none.
Result<void> RemoveFile(const std::string& path);
// Gives a file another name, in place of a file of that name; no error if there is none.
Result<void> MoveFile(const std::string& from, const std::string& to);
// All of a file of at most `most` bytes, as it is; absent if there is none.
Result<std::optional<std::string>> ReadFileIfThere(const std::string& path, std::size_t most);

}  // namespace idleburn
