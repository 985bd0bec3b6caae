#pragma once

#include <cstdint>
#include <string>

namespace idleburn {

// Whether files can be made in a folder that may not be there yet.
struct FolderProbe {
  std::string existing;  // the folder, or the nearest above it that exists
  std::string fault;     // why no file can be made there; empty: one was made, and removed again
  std::int64_t free_bytes = 0;
};
FolderProbe ProbeFolder(const std::string& folder);

}  // namespace idleburn
