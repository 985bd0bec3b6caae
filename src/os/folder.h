#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace idleburn {

// Folders: listing, locking, probing, and keeping them private.

// The names in a folder, sorted. Empty if the folder cannot be listed.
std::vector<std::string> NamesIn(const std::string& folder);

// The path of a file or folder beside a folder, named after it: "a/b/" and ".lock" are "a/b.lock".
std::string BesideFolder(std::string folder, std::string_view ending);

// A lock on a folder, exclusive unless it says otherwise, held while the object lives. Only programs that take it
// respect it. The kernel releases it when the process is killed, so no stale lock can remain, as a lock file could. On
// a file system without locks it has no effect.
class FolderLock {
 public:
  // Waits up to `patience` for another holder, then fails.
  static Result<FolderLock> Take(const std::string& folder, Nanos patience);
  // The same on the file FOLDER.lock beside the folder, which another folder may replace meanwhile. Several may hold a
  // shared lock at once. Where the file cannot be created nobody can replace the folder, so a shared lock has no effect
  // there, and an exclusive one fails.
  static Result<FolderLock> TakeBeside(const std::string& folder, bool shared, Nanos patience);
  ~FolderLock();
  FolderLock(FolderLock&& other) noexcept;
  FolderLock& operator=(FolderLock&&) = delete;

 private:
  explicit FolderLock(int fd) : fd_(fd) {}
  static Result<FolderLock> Wait(int fd, int kind, const std::string& folder, Nanos patience);
  int fd_;
};

// Whether files can be created in a folder that may not exist yet.
struct FolderProbe {
  std::string existing;  // the folder, or its nearest parent that exists
  std::string fault;     // why no file can be created there; empty if a test file could be
  std::int64_t free_bytes = 0;
};
// Creates a test file in the folder, or in its nearest existing parent, and deletes it.
FolderProbe ProbeFolder(const std::string& folder);

// The history and the recordings in its folder show what a user runs. Only the user may read them. A file that the user
// names gets the permissions of the umask, like the output of any program.
inline constexpr mode_t kPrivateFile = 0600;
inline constexpr mode_t kNamedFile = 0666;  // less the umask

// Creates a folder and its parents, readable by the user only. Existing folders keep their permissions.
Result<void> MakePrivateFolder(const std::string& folder);
// Creates a folder and its parents with the permissions of the umask.
Result<void> MakeNamedFolder(const std::string& folder);

// Removes the permissions of other users from a folder, its plain files, its direct subfolders and their plain files.
// Older versions created them open. It changes nothing of another user's and follows no links. If the folder itself
// is already private, nothing in it is looked at: nobody else can get there.
void CloseToOthers(const std::string& folder);
// Removes the permissions of other users from one plain file, if it exists.
void CloseFileToOthers(const std::string& file);

}  // namespace idleburn
