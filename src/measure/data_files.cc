#include "measure/data_files.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <functional>
#include <numeric>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include "stats/order.h"

namespace idleburn {

namespace {

// Whether mincore tells this user the truth. Since Linux 5.1 it does so only to owners and writers of a file. Others
// get "all cached".
bool MayKnow(int fd) {
  struct stat info {};
  if (fstat(fd, &info) != 0) return false;
  if (geteuid() == 0 || info.st_uid == geteuid()) return true;
  return faccessat(fd, "", W_OK, AT_EMPTY_PATH | AT_EACCESS) == 0;
}

}  // namespace

void DropFromCache(int fd, std::int64_t from, std::int64_t bytes) {
  posix_fadvise(fd, from, bytes, POSIX_FADV_DONTNEED);
}

// Maps the range, because mincore reports on mapped pages. Mapping reads nothing. The last page may reach beyond the
// range, so the result is at most `bytes`.
std::optional<std::int64_t> CachedBytes(int fd, std::int64_t from, std::int64_t bytes) {
  if (bytes <= 0) return 0;
  if (!MayKnow(fd)) return std::nullopt;
  const std::int64_t page = sysconf(_SC_PAGESIZE);
  const std::int64_t start = from / page * page;
  const auto length = static_cast<std::size_t>(from + bytes - start);
  void* const map = mmap(nullptr, length, PROT_READ, MAP_SHARED, fd, start);
  if (map == MAP_FAILED) return std::nullopt;
  std::vector<unsigned char> pages((length + static_cast<std::size_t>(page) - 1) / static_cast<std::size_t>(page));
  const bool told = mincore(map, length, pages.data()) == 0;
  munmap(map, length);
  if (!told) return std::nullopt;
  const auto cached = std::count_if(pages.begin(), pages.end(), [](unsigned char p) { return (p & 1U) != 0; });
  return std::min(static_cast<std::int64_t>(cached) * page, bytes);
}

bool IsInMemory(int fd) {
  struct statfs info {};
  if (fstatfs(fd, &info) != 0) return false;
  return info.f_type == TMPFS_MAGIC || info.f_type == RAMFS_MAGIC || info.f_type == HUGETLBFS_MAGIC;
}

namespace {

namespace fs = std::filesystem;

// Closes a descriptor at the end of a block.
class Opened {
 public:
  explicit Opened(const std::string& path) : fd_(OpenDataFile(path)) {}
  ~Opened() {
    if (fd_ >= 0) close(fd_);
  }
  Opened(const Opened&) = delete;
  Opened& operator=(const Opened&) = delete;
  [[nodiscard]] int fd() const { return fd_; }

 private:
  int fd_;
};

// Adds a regular file, or counts a link. An entry that vanished meanwhile is ignored, as are sockets and devices.
void Enter(const fs::directory_entry& entry, DataFiles& data) {
  std::error_code gone;
  if (entry.is_symlink(gone)) {
    ++data.links;
  } else if (entry.is_regular_file(gone)) {
    const std::uintmax_t bytes = entry.file_size(gone);
    if (gone) return;
    data.files.push_back({entry.path().string(), static_cast<std::int64_t>(bytes)});
    data.bytes += static_cast<std::int64_t>(bytes);
  }
}

// Lists the files and subfolders of one folder. False if it cannot be listed.
bool ListFolder(const fs::path& folder, std::size_t most, DataFiles& data, std::vector<fs::path>& folders) {
  std::error_code failed;
  for (fs::directory_iterator at(folder, failed), end; !failed && at != end; at.increment(failed)) {
    if (data.files.size() >= most) {
      data.all = false;
      return true;
    }
    std::error_code gone;
    if (!at->is_symlink(gone) && at->is_directory(gone)) {
      folders.push_back(at->path());
    } else {
      Enter(*at, data);
    }
  }
  return !failed;
}

}  // namespace

std::int64_t DataFiles::MedianBytes() const {
  if (files.empty()) return 0;
  std::vector<std::int64_t> sizes;
  sizes.reserve(files.size());
  for (const DataFile& file : files) sizes.push_back(file.bytes);
  const auto middle = sizes.begin() + static_cast<std::ptrdiff_t>(sizes.size() / 2);
  std::nth_element(sizes.begin(), middle, sizes.end());
  return *middle;
}

// Folders are listed with a stack of its own. A deep tree must not exhaust the call stack.
Result<DataFiles> ListDataFiles(const std::string& path, std::size_t most) {
  std::error_code failed;
  const fs::path root = fs::canonical(path, failed);
  if (failed) return Fail(path + ": " + failed.message() + "; name the folder or file of the data");
  DataFiles data;
  const fs::directory_entry entry(root, failed);
  if (entry.is_regular_file(failed)) {
    Enter(entry, data);
    return data;
  }
  if (!entry.is_directory(failed)) return Fail(path + ": is neither a folder nor a regular file");
  std::vector<fs::path> folders = {root};
  while (!folders.empty() && data.all) {
    const fs::path folder = std::move(folders.back());
    folders.pop_back();
    if (ListFolder(folder, most, data, folders)) continue;
    if (folder == root) return Fail(path + ": cannot be listed: " + std::strerror(EACCES));
    ++data.closed;
  }
  std::sort(data.files.begin(), data.files.end(), [](const DataFile& a, const DataFile& b) { return a.path < b.path; });
  return data;
}

int OpenDataFile(const std::string& path) {
  constexpr int kFlags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
  const int fd = open(path.c_str(), kFlags | O_NOATIME);
  return fd >= 0 || errno != EPERM ? fd : open(path.c_str(), kFlags);  // only an owner may leave no trace
}

Result<void> WarmData(const DataFiles& data, const std::function<bool()>& stop) {
  std::vector<char> room(std::size_t{1} << 20);
  for (const DataFile& file : data.files) {
    const Opened opened(file.path);
    if (opened.fd() < 0) return Fail(file.path + ": " + std::strerror(errno));
    ssize_t got = 1;
    // A file of terabytes must not hold up a stop, so it is asked for between reads.
    while (got > 0 && !stop()) got = read(opened.fd(), room.data(), room.size());
    if (got < 0) return Fail(file.path + ": " + std::strerror(errno));
  }
  return {};
}

Result<void> DropData(const DataFiles& data) {
  std::int64_t stayed = 0;
  for (const DataFile& file : data.files) {
    const Opened opened(file.path);
    if (opened.fd() < 0) return Fail(file.path + ": " + std::strerror(errno));
    if (IsInMemory(opened.fd())) return Fail(file.path + " is in an in-memory file system, so it is never cold");
    DropFromCache(opened.fd(), 0, file.bytes);
    const std::optional<std::int64_t> cached = CachedBytes(opened.fd(), 0, file.bytes);
    if (!cached) {
      return Fail(file.path +
                  ": the kernel shows what is cached only to users who own or may write the file; run as such a user");
    }
    stayed += *cached;
  }
  if (stayed * 20 <= data.bytes) return {};
  return Fail(std::to_string(stayed * 100 / data.bytes) +
              " % of the data stay in the page cache: in use, or not written to disk yet (run sync)");
}

namespace {

// The sizes of a sample's pieces.
constexpr std::int64_t kLeastPiece = 128 * kKibiByte;
constexpr std::int64_t kMostPiece = 8 * kKibiByte * kKibiByte;
constexpr std::int64_t kPieces = 32;       // of a sample, at least, where the files are large
constexpr std::size_t kMostPieces = 1024;  // three quarters of them are open at once
constexpr std::size_t kTurns = 8;          // of eight pieces, one is for each way of reading at random
constexpr std::int64_t kMostStayed = 20;   // a twentieth of what is dropped may stay cached

Nanos Now() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return Nanos(t.tv_sec * kNanosPerSecond + t.tv_nsec);
}

// One read of a piece.
struct ReadAt {
  std::size_t piece = 0;
  std::int64_t from = 0;
  std::int64_t bytes = 0;
};
// Consecutive reads of one thread: a whole piece in sequence, or a single block at random.
using Batch = std::vector<ReadAt>;

// The pieces for one access pattern. Their files are open while this lives, so that opening does not count as
// reading. Files that cannot be opened are counted in `probe` and left out.
class OpenPieces {
 public:
  OpenPieces(const DataFiles& data, std::vector<DataPiece> pieces, bool random, StorageProbe& probe) {
    for (const DataPiece& piece : pieces) {
      const int fd = OpenDataFile(data.files[piece.file].path);
      if (fd < 0) {
        refused_ = true;
        ++probe.unreadable;
        if (probe.first_fault.empty()) probe.first_fault = data.files[piece.file].path + ": " + std::strerror(errno);
        continue;
      }
      if (random) posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
      pieces_.push_back(piece);
      fds_.push_back(fd);
    }
  }
  ~OpenPieces() {
    for (const int fd : fds_) close(fd);
  }
  OpenPieces(const OpenPieces&) = delete;
  OpenPieces& operator=(const OpenPieces&) = delete;

  [[nodiscard]] const std::vector<DataPiece>& pieces() const { return pieces_; }
  [[nodiscard]] bool refused() const { return refused_; }
  [[nodiscard]] int fd(std::size_t piece) const { return fds_[piece]; }

  // Why the pieces are not cold now. Empty if they are.
  [[nodiscard]] std::string MakeCold() const {
    std::int64_t all = 0;
    std::int64_t stayed = 0;
    for (std::size_t i = 0; i < pieces_.size(); ++i) {
      if (IsInMemory(fds_[i])) return "its file system is in memory, so it is never cold";
      DropFromCache(fds_[i], pieces_[i].from, pieces_[i].bytes);
      const std::optional<std::int64_t> cached = CachedBytes(fds_[i], pieces_[i].from, pieces_[i].bytes);
      if (!cached) return "the kernel shows what is cached only to users who own or may write the files";
      all += pieces_[i].bytes;
      stayed += *cached;
    }
    if (stayed * kMostStayed <= all) return {};
    return std::to_string(stayed * 100 / all) + " % of it stays in the page cache: in use, or not written to disk yet";
  }

 private:
  bool refused_ = false;
  std::vector<DataPiece> pieces_;
  std::vector<int> fds_;
};

// One batch per piece, so that each thread reads a piece from its start to its end.
std::vector<Batch> SequentialReads(const std::vector<DataPiece>& pieces, std::int64_t block) {
  std::vector<Batch> batches;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    Batch& batch = batches.emplace_back();
    for (std::int64_t at = 0; at < pieces[i].bytes; at += block) {
      batch.push_back({i, pieces[i].from + at, std::min(block, pieces[i].bytes - at)});
    }
  }
  return batches;
}

// Visits every block once, in steps of about 0.618 of their number. Each block is far from the last, and the order is
// the same each time. The step has no common factor with the number, so the walk meets every block.
std::vector<Batch> RandomReads(const std::vector<DataPiece>& pieces, std::int64_t block) {
  Batch all;
  for (const Batch& batch : SequentialReads(pieces, block)) all.insert(all.end(), batch.begin(), batch.end());
  std::size_t step = std::max<std::size_t>(all.size() * 618 / 1000, 1);
  while (std::gcd(step, all.size()) > 1) ++step;
  std::vector<Batch> batches;
  batches.reserve(all.size());
  for (std::size_t i = 0, at = 0; i < all.size(); ++i, at = (at + step) % all.size()) batches.push_back({all[at]});
  return batches;
}

// What one thread has read.
struct ThreadReads {
  std::vector<double> nanos;
  std::int64_t bytes = 0;
  std::string fault;
};

// Reads batches until all are read or the time is over. The first `*done` batches were begun. Threads take the next
// batch from a shared counter, so none waits while others have work.
ReadSpeed ReadAll(const OpenPieces& open, std::span<const Batch> batches, std::int64_t block, Nanos most, int threads,
                  std::size_t* done) {
  std::atomic<std::size_t> next = 0;
  const Nanos start = Now();
  std::vector<ThreadReads> reads(static_cast<std::size_t>(threads));
  const auto work = [&](ThreadReads& mine) {
    std::vector<char> room(static_cast<std::size_t>(block));
    while (Now() - start < most) {
      const std::size_t at = next++;
      if (at >= batches.size()) return;
      for (const ReadAt& read : batches[at]) {
        const Nanos before = Now();
        const ssize_t got = pread(open.fd(read.piece), room.data(), static_cast<std::size_t>(read.bytes), read.from);
        if (got < 0) mine.fault = std::strerror(errno);
        if (got <= 0) return;
        mine.nanos.push_back(static_cast<double>((Now() - before).count()));
        mine.bytes += got;
      }
    }
  };
  {
    std::vector<std::jthread> running;
    for (ThreadReads& mine : reads) running.emplace_back(work, std::ref(mine));
  }
  ReadSpeed speed;
  speed.time = Now() - start;
  *done = std::min(next.load(), batches.size());
  std::vector<double> nanos;
  for (const ThreadReads& mine : reads) {
    nanos.insert(nanos.end(), mine.nanos.begin(), mine.nanos.end());
    speed.bytes += mine.bytes;
    if (!mine.fault.empty()) speed.unknown = "it cannot be read: " + mine.fault;
  }
  speed.reads = static_cast<std::int64_t>(nanos.size());
  if (nanos.empty()) {
    if (speed.unknown.empty()) speed.unknown = "there is too little data";
    return speed;
  }
  std::sort(nanos.begin(), nanos.end());
  speed.p50 = Nanos(static_cast<std::int64_t>(SortedQuantile(nanos, 0.5)));
  speed.p99 = Nanos(static_cast<std::int64_t>(SortedQuantile(nanos, 0.99)));
  return speed;
}

// Measures one access pattern: cold first, then the same reads warm. If the pieces cannot be made cold, the first
// reads are not reported, but they warm the data for the second.
ReadSpeeds Measure(const ReadWay& way, const OpenPieces& open, int threads) {
  const std::vector<Batch> batches =
      way.random ? RandomReads(open.pieces(), way.block) : SequentialReads(open.pieces(), way.block);
  ReadSpeeds speeds;
  std::int64_t bytes = 0;
  for (const DataPiece& piece : open.pieces()) bytes += piece.bytes;
  if (bytes < kLeastPiece) {  // the speed of a few reads is none of the storage
    speeds.cold.unknown = speeds.warm.unknown =
        open.refused() ? "its files cannot be opened" : "there is too little data";
    return speeds;
  }
  const std::string why = open.MakeCold();
  std::size_t done = 0;
  speeds.cold = ReadAll(open, batches, way.block, way.most, threads, &done);
  if (!why.empty()) {  // what was measured is not what it was to be
    speeds.cold = ReadSpeed{};
    speeds.cold.unknown = why;
  }
  speeds.warm = ReadAll(open, std::span(batches).first(done), way.block, way.most, threads, &done);
  return speeds;
}

}  // namespace

double ReadSpeed::BytesPerSecond() const {
  return static_cast<double>(bytes) * 1e9 / static_cast<double>(std::max<std::int64_t>(time.count(), 1));
}
double ReadSpeed::ReadsPerSecond() const {
  return static_cast<double>(reads) * 1e9 / static_cast<double>(std::max<std::int64_t>(time.count(), 1));
}

// Walks over all pieces of all files, and takes one whenever the wanted share of them rises by a whole number. With a
// share of 0.4 these are the third, the fifth, the eighth and the tenth piece of ten.
std::vector<DataPiece> SampleData(const DataFiles& data, std::int64_t bytes) {
  const std::int64_t wanted = std::min(bytes, data.bytes);
  const std::int64_t most = std::clamp(wanted / kPieces / kLeastPiece * kLeastPiece, kLeastPiece, kMostPiece);
  std::int64_t all = 0;
  for (const DataFile& file : data.files) all += (file.bytes + most - 1) / most;
  if (all == 0) return {};
  const double share = std::min(static_cast<double>(wanted) / static_cast<double>(data.bytes),
                                static_cast<double>(kMostPieces) / static_cast<double>(all));
  std::vector<DataPiece> pieces;
  std::int64_t index = 0;
  std::int64_t taken = 0;
  for (std::size_t file = 0; file < data.files.size(); ++file) {
    for (std::int64_t at = 0; at < data.files[file].bytes; at += most) {
      const std::int64_t size = std::min(most, data.files[file].bytes - at);
      const bool due =
          std::floor(share * static_cast<double>(index + 1)) > std::floor(share * static_cast<double>(index));
      ++index;
      if (!due || taken + size > bytes) continue;
      taken += size;
      pieces.push_back({file, at, size});
    }
  }
  return pieces;
}

// Deals the pieces out to the access patterns. Of eight pieces in a row the two random patterns get one each, and the
// sequential one gets six, because it reads more bytes in its time.
Result<StorageProbe> ProbeStorage(const StorageProbeSpec& spec, const ProgressWatch& watch) {
  DataFiles data = TRY(ListDataFiles(spec.path, kMostDataFiles));
  StorageProbe probe;
  probe.data = std::move(data);
  probe.threads = spec.threads;
  std::array<std::vector<DataPiece>, kReadWays.size()> shares;
  const std::vector<DataPiece> sample = SampleData(probe.data, spec.bytes);
  std::array<std::uint64_t, kReadWays.size()> bytes{};
  for (std::size_t i = 0; i < sample.size(); ++i) {
    const std::size_t turn = i % kTurns;
    const std::size_t way = turn < kReadWays.size() ? turn : 0;
    shares[way].push_back(sample[i]);
    bytes[way] += static_cast<std::uint64_t>(sample[i].bytes);
  }
  std::uint64_t done = 0;
  const std::uint64_t total = std::accumulate(bytes.begin(), bytes.end(), std::uint64_t{0});
  for (std::size_t i = 0; i < kReadWays.size(); ++i) {
    if (watch) watch(done, total);
    done += bytes[i];
    const OpenPieces open(probe.data, std::move(shares[i]), kReadWays[i].random, probe);
    probe.speeds[i] = Measure(kReadWays[i], open, spec.threads);
  }
  return probe;
}

}  // namespace idleburn
