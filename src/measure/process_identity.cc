#include "measure/process_identity.h"

#include <algorithm>
#include <string_view>

#include "measure/proc_text.h"
#include "os/kept_file.h"

namespace idleburn {
namespace {

constexpr std::size_t kLongestCommand = 4096;

std::optional<std::string> ReadOf(const std::string& proc, std::int64_t pid, const char* name) {
  KeptFile file(proc + "/" + std::to_string(pid) + "/" + name, nullptr);
  std::string buffer;
  const std::optional<std::string_view> text = file.Read(buffer);
  return text ? std::optional<std::string>(*text) : std::nullopt;
}

// "4711 (python train) S ..."; the name may hold anything, brackets too.
std::string NameIn(std::string_view stat) {
  const std::size_t begin = stat.find('(');
  const std::size_t end = stat.rfind(')');
  if (begin == std::string_view::npos || end == std::string_view::npos || end < begin) return {};
  return std::string(stat.substr(begin + 1, end - begin - 1));
}

std::vector<std::string> WordsOf(std::string_view arguments) {
  std::vector<std::string> words;
  while (!arguments.empty()) {
    const std::size_t end = std::min(arguments.find('\0'), arguments.size());
    words.emplace_back(arguments.substr(0, end));
    arguments.remove_prefix(std::min(end + 1, arguments.size()));
  }
  // A program that writes its title over its arguments leaves nothing but ends behind it.
  while (!words.empty() && words.back().empty()) words.pop_back();
  return words;
}

}  // namespace

namespace {

std::optional<ProcessStat> StatOf(const std::string& proc, std::int64_t pid) {
  const auto text = pid > 0 ? ReadOf(proc, pid, "stat") : std::nullopt;
  return text ? ParseProcessStat(*text) : std::nullopt;
}

}  // namespace

std::optional<std::int64_t> StartTicksOf(const std::string& proc, std::int64_t pid) {
  const auto stat = StatOf(proc, pid);
  return stat ? std::optional(stat->start_ticks) : std::nullopt;
}

std::optional<std::int64_t> RunningSince(const std::string& proc, std::int64_t pid) {
  const auto stat = StatOf(proc, pid);
  const bool ended = stat && (stat->state == 'Z' || stat->state == 'X');
  return stat && !ended ? std::optional(stat->start_ticks) : std::nullopt;
}

std::optional<ProcessIdentity> IdentityOf(const std::string& proc, std::int64_t pid, std::int64_t start_ticks) {
  ProcessIdentity identity;
  const auto status = ReadOf(proc, pid, "status");
  const std::optional<std::int64_t> user = status ? ValueOfKey(*status, "Uid:") : std::nullopt;
  if (user) identity.user = static_cast<std::uint32_t>(*user);
  const auto arguments = ReadOf(proc, pid, "cmdline");
  if (arguments) identity.command = WordsOf(std::string_view(*arguments).substr(0, kLongestCommand));
  // Last: what was read before is of the same process only if that is still there.
  const auto text = ReadOf(proc, pid, "stat");
  const auto stat = text ? ParseProcessStat(*text) : std::nullopt;
  if (!stat || stat->start_ticks != start_ticks) return std::nullopt;
  identity.name = NameIn(*text);
  return identity;
}

}  // namespace idleburn
