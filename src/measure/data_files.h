#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/progress_watch.h"
#include "base/result.h"
#include "base/time.h"

namespace idleburn {

// The files of a data set: listing them, their page cache, and how fast they can be read. `doctor --data` measures
// the storage with them, and `isolate --data` makes data cold before a run.

// Drops a range of an open file from the page cache, whole pages. Pages that must be written first stay, and files in
// memory stay. It writes nothing.
void DropFromCache(int fd, std::int64_t from, std::int64_t bytes);

// How many bytes of the range are cached, in whole pages. The kernel tells only an owner or a writer of the file;
// absent for others.
std::optional<std::int64_t> CachedBytes(int fd, std::int64_t from, std::int64_t bytes);

// Whether the file system keeps its files in memory (tmpfs). Nothing can be dropped from such files.
bool IsInMemory(int fd);

// At most so many files are listed. A data set of millions of small files would take minutes to list.
inline constexpr std::size_t kMostDataFiles = 200'000;

// One file of a data set.
struct DataFile {
  std::string path;
  std::int64_t bytes = 0;
};

// The regular files of a data set: one file, or a folder and everything below it.
struct DataFiles {
  std::vector<DataFile> files;  // sorted by path
  std::int64_t bytes = 0;
  std::int64_t links = 0;   // symbolic links that were not followed; their targets in the folder are listed anyway
  std::int64_t closed = 0;  // folders without permission to list
  bool all = true;          // false: there are more files than the limit
  // The median size. 0 without files.
  [[nodiscard]] std::int64_t MedianBytes() const;
};

// Lists at most `most` files. Fails if `path` does not exist or nothing there can be read. It follows no links except
// `path` itself, because a link could lead back up and never end.
Result<DataFiles> ListDataFiles(const std::string& path, std::size_t most);

// Opens a file for reading. It leaves the access time unchanged where that is possible, and it neither follows a link
// nor waits for a pipe. Returns -1 with errno on failure. The caller closes it.
int OpenDataFile(const std::string& path);

// Reads all files into the page cache, until `stop` returns true. Fails if a file cannot be read. It does not check
// that memory holds them all.
Result<void> WarmData(const DataFiles& data, const std::function<bool()>& stop);

// Drops all files from the page cache and checks the result. Fails if more than 5 % of the bytes stayed, or if the
// kernel does not tell. A run that is called cold would otherwise read from memory, and nobody would notice.
Result<void> DropData(const DataFiles& data);

// An access pattern to measure. Sequential reads go through pieces of files. Random reads take single blocks without
// read-ahead.
struct ReadWay {
  std::string_view id;
  bool random = false;
  std::int64_t block = 0;  // bytes of one read
  Nanos most{0};           // time limit for cold reads, and again for warm reads
};
inline constexpr std::int64_t kKibiByte = 1024;
inline constexpr std::array<ReadWay, 3> kReadWays = {{{"sequential_1m", false, 1024 * kKibiByte, Nanos(3'000'000'000)},
                                                      {"random_128k", true, 128 * kKibiByte, Nanos(1'000'000'000)},
                                                      {"random_4k", true, 4 * kKibiByte, Nanos(1'000'000'000)}}};

// How fast a sample of a data set was read. `time` is wall time of all threads together.
struct ReadSpeed {
  std::string unknown;  // why it was not measured; empty if it was
  std::int64_t reads = 0;
  std::int64_t bytes = 0;
  Nanos time{0};
  Nanos p50{0};  // latency of one read
  Nanos p99{0};
  // Rates over `time`. 0 if nothing was read.
  [[nodiscard]] double BytesPerSecond() const;
  [[nodiscard]] double ReadsPerSecond() const;
};
// Cold and warm speed of one access pattern. Cold reads come after the kernel verifiably dropped the sample from its
// page cache; caches of the disk or a server are unknown. Warm reads repeat the cold ones.
struct ReadSpeeds {
  ReadSpeed cold;
  ReadSpeed warm;
};

// The result of ProbeStorage.
struct StorageProbe {
  DataFiles data;
  std::int64_t unreadable = 0;  // files of the sample that cannot be opened or read
  std::string first_fault;      // the error of one of them
  int threads = 0;
  std::array<ReadSpeeds, kReadWays.size()> speeds;  // in the order of kReadWays
};

// What ProbeStorage reads.
struct StorageProbeSpec {
  std::string path;
  std::int64_t bytes = 256 * kKibiByte * kKibiByte;  // size limit of the sample
  int threads = 4;
};

// Measures how fast a sample of the data at a path can be read. The sample is spread evenly over all files and is the
// same each time; each access pattern has its own part, so that one pattern does not warm the data of the next. It
// writes nothing, follows no links, and drops only the sample from the page cache. Fails if the path does not exist
// or cannot be listed. `watch` hears of the bytes of the sample after each access pattern.
Result<StorageProbe> ProbeStorage(const StorageProbeSpec& spec, const ProgressWatch& watch = {});

// A piece of a file in the sample.
struct DataPiece {
  std::size_t file = 0;  // index in DataFiles::files
  std::int64_t from = 0;
  std::int64_t bytes = 0;
};
// Chooses the sample: at most `bytes`, in pieces spread evenly over all files. The choice is not random, so that two
// probes of the same data can be compared.
std::vector<DataPiece> SampleData(const DataFiles& data, std::int64_t bytes);

}  // namespace idleburn
