#include "owners/process_owners.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>

#include "measure/proc_files.h"
#include "os/kept_file.h"
#include "owners/node_gpu.h"
#include "text/strings.h"

namespace idleburn {
namespace {

constexpr int kMostAncestors = 64;

// The first kMostEnviron bytes of an environment. False if it may not be read.
bool ReadEnviron(const std::string& path, std::string* text) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return errno != EACCES && errno != EPERM;
  text->resize(kMostEnviron);
  std::size_t size = 0;
  bool allowed = true;
  while (size < text->size()) {
    const ssize_t got = read(fd, text->data() + size, text->size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) allowed = errno != EACCES && errno != EPERM;
    if (got <= 0) break;
    size += static_cast<std::size_t>(got);
  }
  close(fd);
  text->resize(size);
  return allowed;
}

// The parent of a process; 0 if it has ended.
std::int64_t ParentOf(const std::string& proc, std::int64_t pid) {
  const auto stat = ParseProcessStat(FileText(proc + "/" + std::to_string(pid) + "/stat"));
  return stat ? stat->parent : 0;
}

bool NamesJob(const EnvironValues& values) {
  return values.contains("SLURM_JOB_ID") || !EnvironKeys::RunOf(values).empty();
}

}  // namespace

bool IsJobId(std::string_view text) {
  constexpr std::size_t kMost = 64;
  return !text.empty() && text.size() <= kMost && std::all_of(text.begin(), text.end(), [](char c) {
    return IsAlnum(c) || c == '_' || c == '.' || c == '+' || c == '-';
  });
}

ProcessFacts ProcessReader::ReadOne(std::int64_t pid, std::int64_t start_ticks) const {
  const std::string folder = proc_ + "/" + std::to_string(pid);
  ProcessFacts facts;
  if (StartTicksOf(proc_, pid) != start_ticks) return facts;
  facts.group = OwnerOfGroups(FileText(folder + "/cgroup"));
  const std::optional<std::int64_t> user = ValueOfKey(FileText(folder + "/status"), "Uid:");
  if (user && *user <= UINT32_MAX) facts.user = static_cast<std::uint32_t>(*user);
  std::string environ;
  facts.environ_denied = !ReadEnviron(folder + "/environ", &environ);
  facts.values = keys_.ValuesIn(environ);
  if (StartTicksOf(proc_, pid) != start_ticks) return ProcessFacts{};
  facts.found = true;
  return facts;
}

const ProcessReader::Ancestor& ProcessReader::AncestorOf(std::int64_t pid) {
  const auto [at, added] = ancestors_.try_emplace(pid);
  if (!added) return at->second;
  const auto start = StartTicksOf(proc_, pid);
  if (!start) return at->second;
  at->second.values = ReadOne(pid, *start).values;
  at->second.parent = ParentOf(proc_, pid);
  return at->second;
}

void ProcessReader::InheritValues(std::int64_t pid, ProcessFacts* facts) {
  std::int64_t above = ParentOf(proc_, pid);
  for (int i = 0; i < kMostAncestors && above > 1 && !NamesJob(facts->values); ++i) {
    const Ancestor& ancestor = AncestorOf(above);
    above = ancestor.parent;
    if (!NamesJob(ancestor.values)) continue;
    // What the process says of itself stays: it is nearer.
    for (const auto& [key, value] : ancestor.values) facts->values.try_emplace(key, value);
  }
}

const ProcessFacts& ProcessReader::FactsOf(std::int64_t pid, std::int64_t start_ticks, Instant now) {
  Known& known = known_[{pid, start_ticks}];
  const bool fresh = known.facts.found && now - known.read_at < max_age_ && now >= known.read_at;
  known.asked_at = now;
  if (fresh) return known.facts;
  known.facts = ReadOne(pid, start_ticks);
  known.read_at = now;
  if (known.facts.found) InheritValues(pid, &known.facts);
  return known.facts;
}

void ProcessReader::Forget(Instant since) {
  std::erase_if(known_, [&](const auto& entry) { return entry.second.asked_at < since; });
  ancestors_.clear();
}

const std::string& ProcessReader::NameOfUser(std::uint32_t user) {
  const auto [at, added] = user_names_.try_emplace(user);
  if (added) at->second = SafeName(UserName(user).value_or(std::to_string(user)));
  return at->second;
}

}  // namespace idleburn
