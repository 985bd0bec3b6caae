#include "trial/checkpoint_watch.h"

#include <fcntl.h>
#include <glob.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <filesystem>
#include <limits>

namespace idleburn {
namespace {

constexpr std::size_t kMostFiles = 10'000;

Nanos TimeOf(const struct statx_timestamp& stamp) { return Nanos(stamp.tv_sec * kNanosPerSecond + stamp.tv_nsec); }

}  // namespace

CheckpointWatch::CheckpointWatch(std::string pattern) : pattern_(std::move(pattern)) {
  Look(Nanos(std::numeric_limits<std::int64_t>::max()));
  open_.clear();
  seen_ = 0;
}

std::vector<std::string> CheckpointWatch::Files() const {
  std::vector<std::string> roots;
  glob_t found{};
  if (glob(pattern_.c_str(), 0, nullptr, &found) == 0) roots.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
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

void CheckpointWatch::Look(Nanos wall) {
  std::map<FileId, Nanos> modified;
  for (const std::string& file : Files()) {
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
    Version& version = open_.try_emplace(id, Version{fresh ? birth : std::min(end, wall), end, 0}).first->second;
    if (fresh) version.begin = birth;
    version.end = std::max(end, version.begin);
    version.bytes = static_cast<std::int64_t>(info.stx_size);
    ++seen_;
  }
  modified_ = std::move(modified);
}

std::vector<CheckpointWrite> CheckpointWatch::Take(Nanos wall) {
  std::vector<Version> versions;
  for (const auto& [id, version] : open_) versions.push_back(version);
  std::sort(versions.begin(), versions.end(), [](const Version& a, const Version& b) { return a.begin < b.begin; });
  std::vector<CheckpointWrite> writes;
  for (const Version& version : versions) {
    if (writes.empty() || version.begin - writes.back().end >= kApart) {
      writes.push_back({version.begin, version.end, 0, 0});
    }
    writes.back().end = std::max(writes.back().end, version.end);
    writes.back().bytes += version.bytes;
    ++writes.back().files;
  }
  // The last one may go on.
  if (!writes.empty() && wall - writes.back().end < kApart) writes.pop_back();
  const Nanos done = writes.empty() ? Nanos(0) : writes.back().end;
  std::erase_if(open_, [&](const auto& entry) { return entry.second.end <= done; });
  return writes;
}

}  // namespace idleburn
