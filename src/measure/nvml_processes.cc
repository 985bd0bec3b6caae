#include "measure/nvml_processes.h"

#include <algorithm>
#include <cstring>

namespace idleburn {
namespace {

constexpr std::size_t kWord = sizeof(std::uint64_t);
constexpr std::size_t kShort = sizeof(nvml::ProcessInfo) / kWord;
constexpr std::size_t kLong = 32 / kWord;
// What no driver writes: neither pids nor sizes nor ids of instances are so large.
constexpr std::uint64_t kUnwritten = 0xA5C35A3CA5C35A3C;

}  // namespace

ProcessRoom::ProcessRoom(std::uint32_t entries) : entries_(entries), words_(entries * kLong, kUnwritten) {}

std::optional<std::vector<nvml::ProcessInfo>> ProcessRoom::Read(std::uint32_t count) const {
  std::vector<nvml::ProcessInfo> list(count);
  if (count == 0) return list;
  if (count > entries_) return std::nullopt;
  const auto last = std::find_if(words_.rbegin(), words_.rend(), [](std::uint64_t word) { return word != kUnwritten; });
  const auto written = static_cast<std::size_t>(words_.rend() - last);
  // The last word of a record, ids of instances or protected memory, may be left alone where it means nothing. One
  // record begins alike in both lengths.
  const auto fits = [&](std::size_t length) { return written + 1 == count * length || written == count * length; };
  const std::size_t length = fits(kShort) ? kShort : fits(kLong) ? kLong : 0;
  if (length == 0) return std::nullopt;
  for (std::size_t i = 0; i < count; ++i) {
    std::memcpy(&list[i], &words_[i * length], sizeof(nvml::ProcessInfo));
  }
  return list;
}

}  // namespace idleburn
