#include "owners/job_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "measure/proc_files.h"
#include "owners/process_owners.h"
#include "text/number.h"
#include "text/strings.h"

namespace idleburn {
namespace {

constexpr std::size_t kMostFileBytes = 4096;
constexpr std::size_t kMostFiles = 4096;
constexpr Nanos kLifelessFor{60 * kNanosPerSecond};
constexpr std::int64_t kLatestSecond = 9'000'000'000;

// A file and when it was written.
struct JobFileText {
  std::string text;
  Instant written;
};

// Reads a small plain file of a folder without following a link. The reason if it is none.
Result<JobFileText> ReadSmallFile(int folder, const std::string& name) {
  const int fd = openat(folder, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) return Fail(errno == ELOOP ? "is a link" : std::strerror(errno));
  struct stat status = {};
  std::array<char, kMostFileBytes + 1> room{};
  std::string why;
  ssize_t size = 0;
  if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) {
    why = "is not a plain file";
  } else if ((size = read(fd, room.data(), room.size())) < 0) {
    why = std::strerror(errno);
  } else if (static_cast<std::size_t>(size) > kMostFileBytes) {
    why = "is larger than 4 kB";
  }
  close(fd);
  if (!why.empty()) return Fail(why);
  const std::int64_t nanos = status.st_mtim.tv_sec * kNanosPerSecond + status.st_mtim.tv_nsec;
  return JobFileText{std::string(room.data(), static_cast<std::size_t>(size)), Instant::FromNanos(nanos)};
}

// The names in an open folder, sorted, without hidden ones.
std::vector<std::string> VisibleNames(DIR* folder) {
  std::vector<std::string> names;
  while (const dirent* entry = readdir(folder)) {
    if (entry->d_name[0] != '.' && names.size() < kMostFiles) names.emplace_back(entry->d_name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::optional<std::uint32_t> UserNumber(std::string_view word) {
  const auto number = NumberOf(word);
  return number && *number <= UINT32_MAX ? std::optional(static_cast<std::uint32_t>(*number)) : std::nullopt;
}

std::optional<FiledJob> ParseJobLine(std::string_view line, JobFileForm form) {
  Words words(line);
  FiledJob job;
  job.id = words.Next();
  if (!IsJobId(job.id)) return std::nullopt;
  if (form == JobFileForm::kIdleburn) {
    const auto start = NumberOf(words.Next());
    if (!start || *start <= 0 || *start > kLatestSecond) return std::nullopt;
    job.start = Instant::FromNanos(*start * kNanosPerSecond);
  }
  if (form != JobFileForm::kDcgm && !(job.user = UserNumber(words.Next()))) return std::nullopt;
  return words.Next().empty() ? std::optional(job) : std::nullopt;
}

// Counts faults and keeps the first, so that a folder of a thousand bad files is one line.
struct FaultCount {
  std::size_t count = 0;
  std::string first;
  void Add(const std::string& fault) {
    if (count++ == 0) first = fault;
  }
};

}  // namespace

std::optional<std::vector<FiledJob>> ParseJobFile(std::string_view text, JobFileForm form) {
  std::vector<FiledJob> jobs;
  std::size_t lines = 0;
  while (!text.empty()) {
    const std::string_view line = Trim(TakeLine(&text));
    if (line.empty()) continue;
    const auto job = ParseJobLine(line, form);
    if (!job || (++lines > 1 && form != JobFileForm::kDcgm)) return std::nullopt;
    const bool again =
        std::any_of(jobs.begin(), jobs.end(), [&](const FiledJob& other) { return other.id == job->id; });
    if (!again) jobs.push_back(*job);
  }
  // Only dcgm-exporter's convention has empty files: they mean "no job".
  if (jobs.empty() && form != JobFileForm::kDcgm) return std::nullopt;
  return jobs;
}

const NodeGpu* GpuOfJobFile(std::string_view name, JobFileForm form, std::span<const NodeGpu> gpus) {
  if (form != JobFileForm::kDcgm && (name.starts_with("GPU-") || name.starts_with("MIG-"))) {
    return GpuOfUuid(name, gpus);
  }
  if (form == JobFileForm::kIdleburn) return nullptr;
  const std::size_t dot = form == JobFileForm::kDcgm ? name.find('.') : std::string_view::npos;
  const auto index = NumberOf(name.substr(0, dot));
  if (!index) return nullptr;
  if (dot == std::string_view::npos) return GpuOfIndex(*index, std::nullopt, gpus);
  const auto gi = NumberOf(name.substr(dot + 1));
  return gi ? GpuOfIndex(*index, gi, gpus) : nullptr;
}

bool JobFiles::IsStale(const std::string& key, const FiledJob& job, const std::string& uuid,
                       const JobFileSigns& signs) {
  if (signs.held->contains(uuid) || signs.jobs->contains(job.id)) return false;
  const auto before = lifeless_since_.find(key);
  const Instant since = before == lifeless_since_.end() ? signs.now : before->second;
  lifeless_now_[key] = since;
  return signs.now - since > kLifelessFor;
}

void JobFiles::ReadFolder(const JobFolder& folder, const JobFileSigns& signs, std::span<const NodeGpu> gpus,
                          SourceAnswer* answer) {
  DIR* const open_folder = opendir(folder.path.c_str());
  if (open_folder == nullptr) {
    answer->errors.push_back("job files: " + folder.path + " cannot be read: " + std::strerror(errno));
    answer->complete = false;
    return;
  }
  FaultCount faults;
  for (const std::string& name : VisibleNames(open_folder)) {
    const std::string where = SafeName(name) + " ";
    const NodeGpu* gpu = GpuOfJobFile(name, folder.form, gpus);
    if (gpu == nullptr) {
      faults.Add(where + "is the name of no GPU here");
      continue;
    }
    const auto file = ReadSmallFile(dirfd(open_folder), name);
    const auto jobs = file ? ParseJobFile(file->text, folder.form) : std::nullopt;
    if (!jobs) {
      faults.Add(where + (file ? "has another form than its convention" : file.error().message));
      answer->unknown.push_back(gpu->uuid);
      continue;
    }
    if (signs.boot && file->written < *signs.boot) continue;
    std::vector<FiledJob> living;
    for (const FiledJob& job : *jobs) {
      if (!IsStale(folder.path + "/" + name + " " + job.id, job, gpu->uuid, signs)) living.push_back(job);
    }
    for (const FiledJob& job : living) {
      OwnerClaim claim;
      claim.raw_id = job.id;
      claim.holding.uuid = gpu->uuid;
      claim.holding.owner.job = job.id;
      claim.holding.owner.start = job.start;
      if (job.user) claim.holding.owner.user = std::to_string(*job.user);
      // Several jobs share the device by no known weight.
      claim.holding.parts = static_cast<std::int64_t>(living.size());
      claim.holding.proof = living.size() == 1 ? OwnerProof::kMappingFile : OwnerProof::kEstimated;
      answer->claims.push_back(std::move(claim));
    }
  }
  closedir(open_folder);
  if (faults.count > 0) {
    answer->errors.push_back("job files: " + folder.path + ": " + std::to_string(faults.count) +
                             (faults.count == 1 ? " file is" : " files are") + " not usable: " + faults.first);
  }
}

SourceAnswer JobFiles::Read(const JobFileSigns& signs, std::span<const NodeGpu> gpus) {
  SourceAnswer answer;
  for (const JobFolder& folder : folders_) ReadFolder(folder, signs, gpus, &answer);
  // A file that was removed is forgotten: a requeued job has the same id and may write the same file again.
  lifeless_since_ = std::move(lifeless_now_);
  lifeless_now_.clear();
  return answer;
}

}  // namespace idleburn
