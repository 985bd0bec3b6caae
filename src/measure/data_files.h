#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace idleburn {

// The page cache of a range of an open file. Ranges are of bytes; pages that they touch count whole.

// Drops what of it is cached and not to be written first; a file system that is memory keeps it. Writes nothing.
void DropFromCache(int fd, std::int64_t from, std::int64_t bytes);

// How many of its bytes are cached; absent where the kernel does not tell, which it does only for files that we own or
// may write.
std::optional<std::int64_t> CachedBytes(int fd, std::int64_t from, std::int64_t bytes);

// True for file systems that hold their files in memory, so that nothing of them can be dropped.
bool IsInMemory(int fd);

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

// One way of reading, in files that are open. Sequential reads go through pieces of them; random ones read blocks here
// and there, without read-ahead.
struct ReadWay {
  std::string_view id;
  bool random = false;
  std::int64_t block = 0;  // bytes of one read
  Nanos most{0};           // time for reading cold, and again for reading warm
};
inline constexpr std::int64_t kKibiByte = 1024;
inline constexpr std::array<ReadWay, 3> kReadWays = {{{"sequential_1m", false, 1024 * kKibiByte, Nanos(3'000'000'000)},
                                                      {"random_128k", true, 128 * kKibiByte, Nanos(1'000'000'000)},
                                                      {"random_4k", true, 4 * kKibiByte, Nanos(1'000'000'000)}}};

// How fast pieces of a data set were read.
struct ReadSpeed {
  std::string unknown;  // why there is none; empty if it was measured
  std::int64_t reads = 0;
  std::int64_t bytes = 0;
  Nanos time{0};
  Nanos p50{0};  // of one read
  Nanos p99{0};
  [[nodiscard]] double BytesPerSecond() const;
  [[nodiscard]] double ReadsPerSecond() const;
};
// Cold: from where the kernel had dropped it from its page cache, as was looked at before; what a disk or a server
// caches itself is not known. Warm: the same again.
struct ReadSpeeds {
  ReadSpeed cold;
  ReadSpeed warm;
};

struct StorageProbe {
  DataFiles data;
  std::int64_t unreadable = 0;  // files of the sample that cannot be opened or read
  std::string first_fault;      // of one of them
  int threads = 0;
  std::array<ReadSpeeds, kReadWays.size()> speeds;  // as kReadWays
};

struct StorageProbeSpec {
  std::string path;
  std::int64_t bytes = 256 * kKibiByte * kKibiByte;  // at most that much is read
  int threads = 4;
};

// Reads a sample of the data at a path: pieces that lie evenly over all its files, the same each time, apart for each
// way of reading. Writes nothing, follows no link, and drops no more from the page cache than the sample. Fails if
// there is nothing at the path or it cannot be listed.
Result<StorageProbe> ProbeStorage(const StorageProbeSpec& spec);

// A piece of a file.
struct DataPiece {
  std::size_t file = 0;  // index in DataFiles::files
  std::int64_t from = 0;
  std::int64_t bytes = 0;
};
// The sample that is read: at most about `bytes` in pieces of all files alike.
std::vector<DataPiece> SampleData(const DataFiles& data, std::int64_t bytes);

}  // namespace idleburn
