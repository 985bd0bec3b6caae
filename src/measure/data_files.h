#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"

namespace idleburn {

inline constexpr std::size_t kMostDataFiles = 200'000;  // that are listed

struct DataFile {
  std::string path;
  std::int64_t bytes = 0;
};

// The regular files of a data set: of a folder and all below it, or one file.
struct DataFiles {
  std::vector<DataFile> files;  // in the order of their paths
  std::int64_t bytes = 0;
  std::int64_t links = 0;   // that were not followed: what they name below the folder is listed itself
  std::int64_t closed = 0;  // folders that may not be listed
  bool all = true;          // false: there are more than were looked for
  [[nodiscard]] std::int64_t MedianBytes() const;  // 0 without files
};

// Lists them, at most `most` entries. Fails if there is nothing at `path`, or nothing that can be read. Links are not
// followed, save `path` itself.
Result<DataFiles> ListDataFiles(const std::string& path, std::size_t most);

// Opens a file of a data set for reading only, without a trace in its time of access where that is possible; -1 with
// errno if it cannot be.
int OpenDataFile(const std::string& path);

// Reads all files, so that they are cached. Stops when `stop` says so. Fails if one cannot be read.
Result<void> WarmData(const DataFiles& data, const std::function<bool()>& stop);

// Drops all files from the page cache, and looks whether they are gone: fails if more than a twentieth of their bytes
// stayed, or nobody can tell.
Result<void> DropData(const DataFiles& data);

}  // namespace idleburn
