#include "trial/leg.h"

#include <fcntl.h>
#include <glob.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <limits>
#include <memory>
#include <thread>

#include "os/digest.h"
#include "os/run_clock.h"
#include "run/markers.h"

namespace idleburn {
namespace {

// A look walks all files twenty times a second. Of more files than this a look would take too long.
constexpr std::size_t kMostFiles = 10'000;

Nanos TimeOf(const struct statx_timestamp& stamp) { return Nanos(stamp.tv_sec * kNanosPerSecond + stamp.tv_nsec); }

constexpr Nanos kLegLook(10'000'000);   // at the work done
constexpr Nanos kFileLook(50'000'000);  // at the files of checkpoints
constexpr int kLastPolls = 64;          // of at most a mebibyte each

// A marker may say 0 of a unit, which is a start and no work.
bool AnyDone(const WorkCount& work) {
  return std::any_of(work.of.begin(), work.of.end(), [](const auto& done) { return done.value_or(0) > 0; });
}

// One leg while it runs. Times are of CLOCK_MONOTONIC, but for those of files.
class LegWatch {
 public:
  LegWatch(Workload& workload, const LegSpec& spec, MarkerFile& markers, OutputReader& output, Leg& leg)
      : workload_(workload), spec_(spec), markers_(markers), output_(output), leg_(leg), clock_(SystemClock()) {
    last_progress_ = leg_.trace.started();
  }

  // Returns when no process of the leg is left, and the leg is filled in but for its start.
  void Wait() {
    std::optional<WorkloadEnd> end;
    while (!(end = workload_.WaitUntil(clock_->Monotonic() + kLegLook))) Look(clock_->Monotonic());
    leg_.end = *end;
    WaitForTheRest();
    leg_.leftovers = workload_.EndLeftovers();
    leg_.ended = clock_->Monotonic();
    output_.progress.Finish();
    // What the job wrote last is still in the files of markers: it is read before the leg is judged.
    for (int i = 0; i < kLastPolls; ++i) SeeWork(leg_.ended);
    if (spec_.files != nullptr) LookAtFiles(leg_.ended + kFileLook, std::numeric_limits<std::int64_t>::max());
    leg_.last_line = output_.LastLine();
  }

 private:
  // A wrapper may end at once while what it has started still saves its state. So the grace is for all processes.
  void WaitForTheRest() {
    if (!leg_.told || spec_.interruption.signal == SIGKILL) return;
    while (!leg_.interrupted && clock_->Monotonic() - *leg_.told < spec_.interruption.grace) {
      if (workload_.Processes().empty()) return;
      leg_.interrupted = workload_.EndedBefore();
      std::this_thread::sleep_for(kLegLook);
    }
    leg_.killed = leg_.killed || !leg_.interrupted;
    workload_.Signal(SIGKILL, false);
  }

  // Reads markers and lines, and notes whether either tells of work that was not known.
  void SeeWork(Nanos now) {
    constexpr std::int32_t kLines = -1;  // no rank
    markers_.Poll([&](const Marker& marker) { leg_.trace.Take(marker, now); });
    const WorkCount lines = output_.progress.done();
    leg_.trace.TakeLines(lines, output_.progress.printed(), now);
    std::map<std::int32_t, WorkCount> work = markers_.ranks();
    work[kLines] = lines;
    const std::size_t checkpoints = leg_.trace.checkpoints().size();
    if (work == work_ && checkpoints == checkpoints_) return;
    work_ = std::move(work);
    checkpoints_ = checkpoints;
    last_progress_ = now;
    const bool worked = std::any_of(work_.begin(), work_.end(), [](const auto& rank) { return AnyDone(rank.second); });
    if (worked && !first_progress_) first_progress_ = now;
    leg_.progressed = first_progress_.has_value();
  }

  // `until`: checkpoints whose last change is before then are over. At the end all of them are.
  void LookAtFiles(Nanos now, std::int64_t until) {
    if (now < next_files_) return;
    next_files_ = now + kFileLook;
    const std::int64_t wall = clock_->Read().wall.nanos();
    spec_.files->Look(Nanos(wall));
    for (const CheckpointWrite& write : spec_.files->Take(Nanos(std::max(wall, until)))) leg_.writes.push_back(write);
    leg_.files_changed = spec_.files->any();
  }

  // Judges who ends the leg. A signal of the user goes before all else: the workload has it already, and a second one
  // ends the grace. After that comes an interruption that was begun, then the goal, then the timeout.
  void Look(Nanos now) {
    SeeWork(now);
    if (spec_.files != nullptr) LookAtFiles(now, 0);
    if (!workload_.end_signals().empty()) {
      if (!leg_.interrupted) user_told_ = now;
      leg_.interrupted = workload_.end_signals().back();
      const bool again = workload_.end_signals().size() > 1;
      if (again || now - user_told_ >= spec_.interruption.grace) workload_.Signal(SIGKILL, false);
    } else if (leg_.told) {
      if (leg_.stalled || now - *leg_.told < spec_.interruption.grace) return;
      leg_.killed = spec_.interruption.signal != SIGKILL;
      workload_.Signal(SIGKILL, false);
    } else if (Due(now)) {
      Tell(now, spec_.interruption.signal);
    } else if (now - last_progress_ >= spec_.timeout) {
      leg_.stalled = true;
      Tell(now, SIGKILL);
    }
  }

  // Interrupts every process of the leg.
  void Tell(Nanos now, int signal) {
    leg_.told = now;
    workload_.Signal(signal, false);
  }

  // Whether the leg has come to its goal.
  bool Due(Nanos now) {
    if (!first_progress_) return false;
    const LegGoal& goal = spec_.goal;
    const bool reached =
        (goal.time && now - *first_progress_ >= *goal.time) || (goal.steps && leg_.trace.steps() >= *goal.steps);
    if (!reached || !goal.mid_checkpoint) return reached;
    if (!armed_) armed_ = now;
    const std::vector<CheckpointSeen>& checkpoints = leg_.trace.checkpoints();
    // A job that never says that it begins a checkpoint is interrupted all the same.
    return (!checkpoints.empty() && !checkpoints.back().end) || now - *armed_ >= spec_.timeout;
  }

  Workload& workload_;
  const LegSpec& spec_;
  MarkerFile& markers_;
  OutputReader& output_;
  Leg& leg_;
  std::shared_ptr<RunClock> clock_;
  std::map<std::int32_t, WorkCount> work_;
  std::size_t checkpoints_ = 0;
  Nanos last_progress_{0};
  std::optional<Nanos> first_progress_;
  std::optional<Nanos> armed_;
  Nanos user_told_{0};
  Nanos next_files_{0};
};

// The files that a pattern names, folders walked through. What may not be read is left out.
std::vector<std::string> FilesMatching(const std::string& pattern) {
  std::vector<std::string> roots;
  glob_t found{};
  if (glob(pattern.c_str(), 0, nullptr, &found) == 0) roots.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  globfree(&found);
  std::vector<std::string> files;
  for (const std::string& root : roots) {
    std::error_code failed;
    if (!std::filesystem::is_directory(root, failed)) {
      files.push_back(root);
      continue;
    }
    const auto options = std::filesystem::directory_options::skip_permission_denied;
    for (std::filesystem::recursive_directory_iterator at(root, options, failed), end; !failed && at != end;
         at.increment(failed)) {
      if (files.size() >= kMostFiles) return files;
      std::error_code unknown;
      if (at->is_regular_file(unknown)) files.push_back(at->path().string());
    }
  }
  return files;
}

}  // namespace

CheckpointWatch::CheckpointWatch(std::string pattern) : pattern_(std::move(pattern)) {
  Look(Nanos(std::numeric_limits<std::int64_t>::max()));
  open_.clear();
  seen_ = false;
}

void CheckpointWatch::Look(Nanos wall) {
  std::map<FileId, Nanos> modified;
  for (const std::string& file : FilesMatching(pattern_)) {
    struct statx info {};
    if (statx(AT_FDCWD, file.c_str(), 0, STATX_BASIC_STATS | STATX_BTIME, &info) != 0) continue;
    if (!S_ISREG(info.stx_mode)) continue;
    const FileId id(makedev(info.stx_dev_major, info.stx_dev_minor), info.stx_ino);
    const Nanos end = TimeOf(info.stx_mtime);
    const bool born = (info.stx_mask & STATX_BTIME) != 0;
    const Nanos birth = born ? TimeOf(info.stx_btime) : end;
    modified[id] = end;
    const auto known = modified_.find(id);
    // An inode that was freed and used again is another file.
    const bool fresh = known == modified_.end() || (born && birth > known->second);
    if (!fresh && known->second == end) continue;
    CheckpointWrite& version =
        open_.try_emplace(id, CheckpointWrite{fresh ? birth : std::min(end, wall), end, 0, 1}).first->second;
    if (fresh) version.begin = birth;
    version.end = std::max(end, version.begin);
    version.bytes = static_cast<std::int64_t>(info.stx_size);
    seen_ = true;
  }
  modified_ = std::move(modified);
}

std::vector<CheckpointWrite> CheckpointWatch::Take(Nanos wall) {
  std::vector<CheckpointWrite> versions;
  for (const auto& [id, version] : open_) versions.push_back(version);
  std::sort(versions.begin(), versions.end(),
            [](const CheckpointWrite& a, const CheckpointWrite& b) { return a.begin < b.begin; });
  std::vector<CheckpointWrite> writes;
  for (const CheckpointWrite& version : versions) {
    if (writes.empty() || version.begin - writes.back().end >= kApart) {
      writes.push_back(version);
      continue;
    }
    writes.back().end = std::max(writes.back().end, version.end);
    writes.back().bytes += version.bytes;
    writes.back().files += version.files;
  }
  // The last one may go on.
  if (!writes.empty() && wall - writes.back().end < kApart) writes.pop_back();
  const Nanos done = writes.empty() ? Nanos(0) : writes.back().end;
  std::erase_if(open_, [&](const auto& entry) { return entry.second.end <= done; });
  return writes;
}

tl::expected<Leg, StartFailure> RunLeg(Workload& workload, const LegSpec& spec) {
  OutputReader output;
  Result<MarkerFile> markers = MarkerFile::Create();
  if (!markers) return tl::unexpected<StartFailure>(StartFailure{markers.error(), 1});
  WorkloadSpec run;
  run.command = spec.command;
  run.environment = spec.environment;
  run.environment.emplace_back("IDLEBURN_RUN_ID", RandomIdText());
  run.environment.emplace_back("IDLEBURN_MARKERS", markers->path());
  // Each marker is written at once: an interruption would take a marker that waits with it.
  run.environment.emplace_back("IDLEBURN_MARKERS_PERIOD", "0");
  run.watcher = &output;
  run.output = spec.output;
  run.folder = spec.folder;
  Leg leg(SystemClock()->Monotonic());
  if (const auto started = workload.Start(run); !started) return tl::unexpected<StartFailure>(started.error());
  LegWatch(workload, spec, *markers, output, leg).Wait();
  return leg;
}

}  // namespace idleburn
