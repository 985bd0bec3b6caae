#include "run/markers.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <utility>
#include <vector>

#include "os/folder.h"
#include "os/output_file.h"
#include "run/progress_lines.h"
#include "text/number.h"

namespace idleburn {
namespace {

constexpr std::size_t kMarkerBlock = 64 * 1024;
constexpr int kMostBlocks = 16;  // a Poll reads at most a mebibyte
// Limits of what is read. A value above kMost could overflow a sum.
constexpr std::size_t kLongestMarker = 512;
constexpr std::size_t kMostWriters = 4096;
constexpr std::int64_t kMost = 1'000'000'000'000'000'000;

// A name in a marker and the member that its value goes to.
template <typename Said>
struct MarkerField {
  std::string_view name;
  std::optional<std::int64_t> Said::*field;
};
// A name in a marker and the unit of work that it counts.
struct MarkerUnit {
  std::string_view name;
  WorkUnit unit;
};
constexpr std::array<MarkerUnit, 4> kWork = {{{"step", WorkUnit::kStep},
                                              {"samples", WorkUnit::kSample},
                                              {"tokens", WorkUnit::kToken},
                                              {"epoch", WorkUnit::kEpoch}}};
constexpr std::array<MarkerField<HooksSaid>, 2> kHooks = {
    {{"workers", &HooksSaid::workers}, {"synthetic", &HooksSaid::synthetic}}};
constexpr std::array<MarkerField<RestartSaid>, 8> kRestart = {{{"first_sample", &RestartSaid::first_sample},
                                                               {"last_sample", &RestartSaid::last_sample},
                                                               {"order", &RestartSaid::order},
                                                               {"resumed", &RestartSaid::resumed},
                                                               {"checkpoint_begin", &RestartSaid::checkpoint_begin},
                                                               {"checkpoint_end", &RestartSaid::checkpoint_end},
                                                               {"checkpoint_bytes", &RestartSaid::checkpoint_bytes},
                                                               {"at_ns", &RestartSaid::at_ns}}};

// Sets the field of that name. False if there is none.
template <typename Said, std::size_t kRows>
bool SetField(const std::array<MarkerField<Said>, kRows>& rows, std::string_view name, std::int64_t value, Said* said) {
  for (const MarkerField<Said>& row : rows) {
    if (row.name != name) continue;
    said->*(row.field) = value;
    return true;
  }
  return false;
}

// Sets the work of that name. False if the name is no unit.
bool SetWork(std::string_view name, std::int64_t value, WorkCount* done) {
  const auto row = std::find_if(kWork.begin(), kWork.end(), [&](const MarkerUnit& r) { return r.name == name; });
  if (row == kWork.end()) return false;
  (*done)[row->unit] = value;
  return true;
}

}  // namespace

std::optional<Marker> ParseMarker(std::string_view line) {
  Marker marker;
  bool any = false;
  while (!line.empty()) {
    const std::string_view item = line.substr(0, line.find(','));
    line.remove_prefix(std::min(line.size(), item.size() + 1));
    const std::size_t equals = item.find('=');
    if (equals == std::string_view::npos) return std::nullopt;
    const std::string_view name = item.substr(0, equals);
    const std::optional<std::int64_t> value = ParseInteger(item.substr(equals + 1));
    if (!value || *value < 0 || *value > kMost) return std::nullopt;
    if (SetWork(name, *value, &marker.done) || SetField(kHooks, name, *value, &marker.hooks) ||
        SetField(kRestart, name, *value, &marker.restart)) {
      any = true;
    } else if (name == "rank" && *value <= 1'000'000) {
      marker.rank = static_cast<std::int32_t>(*value);
    } else if (name == "pid") {
      marker.pid = *value;
    }  // a later version may say more
  }
  if (!any) return std::nullopt;
  return marker;
}

namespace {

constexpr std::string_view kPrefix = "idleburn-markers.";

// Removes marker files that killed programs of this user left behind. Nobody holds such a file's lock, and nobody wrote
// to it for an hour. The hour protects a workload that outlives its reader.
void RemoveStale(const std::string& folder) {
  constexpr time_t kStale = 3600;
  for (const std::string& name : NamesIn(folder)) {
    if (!name.starts_with(kPrefix)) continue;
    const std::string path = folder + "/" + name;
    const int fd = open(path.c_str(), O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) continue;
    struct stat info {};
    const bool stale = fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_uid == geteuid() &&
                       info.st_mtime + kStale < time(nullptr) && flock(fd, LOCK_EX | LOCK_NB) == 0;
    if (stale) unlink(path.c_str());
    close(fd);
  }
}

}  // namespace

// The lock says that its reader lives. The kernel releases it even when the reader is killed.
Result<MarkerFile> MarkerFile::Create() {
  const std::string folder = TemporaryFolder();
  RemoveStale(folder);
  std::string path = folder + "/" + std::string(kPrefix) + "XXXXXX";
  const int fd = mkostemp(path.data(), O_CLOEXEC);
  if (fd < 0) {
    return Fail(path + ": cannot be created, so idleburn does not read the work that the program reports: " +
                std::strerror(errno) + "; set TMPDIR to a writable folder");
  }
  flock(fd, LOCK_EX | LOCK_NB);  // while we live; see RemoveStale
  return MarkerFile(fd, std::move(path), true);
}

Result<MarkerFile> MarkerFile::Open(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0)
    return Fail(path + ": cannot be opened, so idleburn does not read the work that the program reports: " +
                std::strerror(errno));
  return MarkerFile(fd, path, false);
}

// Moves all members by hand, so that only one object closes the file and removes it.
MarkerFile::MarkerFile(MarkerFile&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      path_(std::move(other.path_)),
      ours_(other.ours_),
      offset_(other.offset_),
      given_back_(other.given_back_),
      partial_(std::move(other.partial_)),
      skipping_(other.skipping_),
      writers_(std::move(other.writers_)),
      lines_(other.lines_),
      hooks_(other.hooks_),
      refused_(other.refused_) {}

MarkerFile::~MarkerFile() {
  if (fd_ < 0) return;
  close(fd_);
  if (ours_) unlink(path_.c_str());
}

// Lines may be cut anywhere by the blocks. A line that is too long is skipped to its end and counts as refused.
void MarkerFile::Poll(const std::function<void(const Marker&)>& each) {
  std::string block(kMarkerBlock, '\0');
  for (int i = 0; i < kMostBlocks; ++i) {
    const ssize_t n = pread(fd_, block.data(), block.size(), offset_);
    if (n <= 0) return;
    offset_ += n;
    GiveBackSpace();
    std::string_view rest(block.data(), static_cast<std::size_t>(n));
    while (!rest.empty()) {
      const std::size_t end = rest.find('\n');
      const std::string_view piece = rest.substr(0, end);
      rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
      skipping_ = skipping_ || partial_.size() + piece.size() > kLongestMarker;
      if (!skipping_) partial_ += piece;
      if (end == std::string_view::npos) continue;
      TakeLine(skipping_ ? std::string_view() : std::string_view(partial_), each);
      partial_.clear();
      skipping_ = false;
    }
  }
}

// Turns what was read into a hole, if the file system can. A run of weeks must not fill the disk.
void MarkerFile::GiveBackSpace() {
  constexpr std::int64_t kPart = 1 << 20;
  if (!ours_ || offset_ - given_back_ < kPart) return;
  fallocate(fd_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, given_back_, offset_ - given_back_);
  given_back_ = offset_;
}

// Takes one line. Settings count from any process. Work counts per writer, and the number of writers is bounded.
void MarkerFile::TakeLine(std::string_view line, const std::function<void(const Marker&)>& each) {
  const std::optional<Marker> marker = ParseMarker(line);
  if (marker) {
    if (each) each(*marker);
    for (const auto& row : kHooks) {
      if (marker->hooks.*(row.field)) hooks_.*(row.field) = marker->hooks.*(row.field);
    }
    if (!marker->done.any()) return;  // it says how it works, and nothing of work done
  }
  const std::pair key(marker ? marker->rank : 0, marker ? marker->pid : 0);
  if (!marker || (writers_.count(key) == 0 && writers_.size() >= kMostWriters)) {
    ++refused_;
    return;
  }
  const auto [at, anew] = writers_.try_emplace(key);
  Writer& writer = at->second;
  writer.end = ++lines_;
  if (anew) writer.begin = lines_;
  for (std::size_t u = 0; u < kWorkUnitCount; ++u) {
    const std::optional<std::int64_t>& said = marker->done.of[u];
    if (said) writer.done.of[u] = std::max(writer.done.of[u].value_or(0), *said);
  }
}

std::map<std::int32_t, WorkCount> MarkerFile::ranks() const {
  std::map<std::int32_t, WorkCount> ranks;
  for (std::size_t u = 0; u < kWorkUnitCount; ++u) {
    const bool shared = !kAddsOverRanks[u];  // what each does on its own stands as a turn of one line, beside no other
    std::map<std::int32_t, std::vector<Turn>> turns;
    for (const auto& [key, writer] : writers_) {
      const std::optional<std::int64_t>& done = writer.done.of[u];
      if (done) turns[key.first].push_back({writer.begin, shared ? writer.end : writer.begin, *done});
    }
    for (auto& [rank, of_rank] : turns) ranks[rank].of[u] = DoneInTurns(std::move(of_rank));
  }
  return ranks;
}

void ProgressWatcher::OnOutput(int stream, std::string_view bytes) {
  const std::scoped_lock lock(mutex_);
  readers_[stream == 1 ? 0 : 1].Feed(bytes);
}

void ProgressWatcher::Finish() {
  const std::scoped_lock lock(mutex_);
  for (ProgressReader& reader : readers_) reader.Finish();
}

WorkCount ProgressWatcher::done() const {
  const std::scoped_lock lock(mutex_);
  // Bars often go to standard error and logs to standard output. Both tell the same work, so the larger count of each
  // unit is taken and nothing is added.
  const auto more = [](const std::optional<std::int64_t>& a, const std::optional<std::int64_t>& b) {
    return a && b ? std::max(a, b) : a ? a : b;
  };
  WorkCount done;
  for (std::size_t u = 0; u < kWorkUnitCount; ++u)
    done.of[u] = more(readers_[0].done().of[u], readers_[1].done().of[u]);
  done[WorkUnit::kStep] = OfSteps().done()[WorkUnit::kStep];
  return done;
}

// The stream that is more likely to show training. If both are equally likely, the one with more steps.
const ProgressReader& ProgressWatcher::OfSteps() const {
  const auto rank = [](const ProgressReader& reader) {
    return std::pair(reader.trust(), reader.done()[WorkUnit::kStep].value_or(0));
  };
  return readers_[rank(readers_[1]) > rank(readers_[0]) ? 1 : 0];
}

std::optional<PrintedSteps> ProgressWatcher::printed() const {
  const std::scoped_lock lock(mutex_);
  return OfSteps().printed();
}

// A line that is no marker is noted once. More of them say nothing new.
void WorkLane::Tick(Instant now, LiveSink& out) {
  if (markers_ != nullptr) {
    markers_->Poll();
    for (const auto& [rank, done] : markers_->ranks()) {
      if (!from_markers_) ForgetLines(now, out);
      Push(now, rank, done, out);
    }
    if (markers_->refused() > 0 && refused_ == 0) {
      refused_ = markers_->refused();
      out.OnNote({now, NoteKind::kFailure, markers_->path() + ": a line is not a marker; see docs/markers.md"});
    }
  }
  if (!from_markers_ && lines_ != nullptr) Push(now, 0, lines_->done(), out);
}

void WorkLane::Finish(Instant now, LiveSink& out) {
  if (lines_ != nullptr) lines_->Finish();
  Tick(now, out);
}

// Printed lines were pushed as rank 0. Markers may have no rank 0, so that count must go.
void WorkLane::ForgetLines(Instant now, LiveSink& out) {
  from_markers_ = true;
  if (pushed_.empty()) return;
  pushed_.clear();
  out.OnWork({now, 0, {}});
}

// Pushes the work of a rank if it differs from what was pushed. An empty count takes back what was said before; a
// rank that never said anything is not pushed.
void WorkLane::Push(Instant now, std::int32_t rank, const WorkCount& done, LiveSink& out) {
  if (!done.any() && pushed_.count(rank) == 0) return;  // else what was said is taken back
  const auto [at, first] = pushed_.try_emplace(rank, done);
  if (!first && at->second == done) return;
  at->second = done;
  out.OnWork({now, rank, done});
}

namespace {

// Bytes of the last line that are kept.
constexpr std::size_t kLongestKeptLine = 300;

}  // namespace

void OutputReader::OnOutput(int stream, std::string_view bytes) {
  progress.OnOutput(stream, bytes);
  const std::scoped_lock lock(mutex_);
  for (const char c : bytes) {
    if (c == '\n' || c == '\r') {
      if (!line_.empty()) last_ = line_;
      line_.clear();
    } else if (line_.size() < kLongestKeptLine) {
      line_ += c;
    }
  }
}

std::string OutputReader::LastLine() const {
  const std::scoped_lock lock(mutex_);
  return line_.empty() ? last_ : line_;
}

}  // namespace idleburn
