#pragma once

#include <sys/types.h>

#include <string>

#include "base/result.h"

namespace idleburn {

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
