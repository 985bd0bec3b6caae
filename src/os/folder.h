#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace idleburn {

// Names in a folder, in order; none if it cannot be listed.
std::vector<std::string> NamesIn(const std::string& folder);

// Keeps other programs that ask for it out of a folder's common work, until this is gone; a kill gives it back. Where
// the file system has no such locks it is held by nobody and holds nobody up.
class FolderLock {
 public:
  // Waits for another holder at most `patience`.
  static Result<FolderLock> Take(const std::string& folder, Nanos patience);
  ~FolderLock();
  FolderLock(FolderLock&& other) noexcept;
  FolderLock& operator=(FolderLock&&) = delete;

 private:
  explicit FolderLock(int fd) : fd_(fd) {}
  int fd_;
};

// Whether files can be made in a folder that may not be there yet.
struct FolderProbe {
  std::string existing;  // the folder, or the nearest above it that exists
  std::string fault;     // why no file can be made there; empty: one was made, and removed again
  std::int64_t free_bytes = 0;
};
FolderProbe ProbeFolder(const std::string& folder);

// What we keep of a user on our own (the history, recordings in its folder) says what the user runs and where: nobody
// else reads it. A file that the user names is made as the umask has it, as any program's.
inline constexpr mode_t kPrivateFile = 0600;
inline constexpr mode_t kNamedFile = 0666;  // less the umask

// Makes a folder and those that lead to it; what is made is the user's alone, what is there stays as it is.
Result<void> MakePrivateFolder(const std::string& folder);
// The same as the umask has it.
Result<void> MakeNamedFolder(const std::string& folder);

// Takes the rights of others from a folder of ours, from the plain files in it, and from the folders in it with theirs,
// as an older version made them. What belongs to another user, and what a link points to, stays as it is.
void CloseToOthers(const std::string& folder);
// The same of one plain file; nothing where there is none.
void CloseFileToOthers(const std::string& file);

}  // namespace idleburn
