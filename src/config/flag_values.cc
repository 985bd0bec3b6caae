#include "config/flag_values.h"

#include <fmt/format.h>

#include <cstring>
#include <optional>

#include "os/input_file.h"
#include "text/line_reader.h"
#include "text/number.h"

namespace idleburn {
Result<std::int64_t> FlagCount(const char* command, const char* flag, const std::string& text, std::int64_t least,
                               std::int64_t usual) {
  if (text.empty()) return usual;
  const std::optional<std::int64_t> count = ParseInteger(text);
  if (count && *count >= least) return *count;
  return FailUsage(fmt::format("{}: {}: '{}' is not a number of {} or more", command, flag, text.substr(0, 20), least));
}

Result<Nanos> FlagSpan(const char* command, const char* flag, const std::string& text, Nanos usual) {
  if (text.empty()) return usual;
  const Result<Nanos> span = ParseDuration(text);
  if (!span) return FailUsage(fmt::format("{}: {}: {}", command, flag, span.error().message));
  return span;
}

Result<double> FlagShare(const std::string& command, const char* flag, const std::string& text) {
  const std::optional<double> share = ParseShare(text);
  if (share && *share >= 0 && *share < 1) return *share;
  // The usual slip is "35" for 35 %, so the message shows both ways to write it.
  if (share && *share > 1 && *share < 100) {
    return FailUsage(fmt::format("{}: {} {} is not a share below 1; write {}% or {:g}", command, flag,
                                 text.substr(0, 20), text.substr(0, 20), *share / 100));
  }
  return FailUsage(
      fmt::format("{}: {} '{}' is not a share below 1; write 0.05 or 5%", command, flag, text.substr(0, 20)));
}

Result<int> FlagSignal(const std::string& flag, const std::string& text, std::span<const int> those) {
  std::string known;
  for (const int signal : those) {
    const std::string name = SignalName(signal);
    // The name is accepted with and without its first three letters, "SIG".
    if (EqualsIgnoreCase(text, name) || EqualsIgnoreCase(text, name.substr(3))) return signal;
    known += (known.empty() ? "" : ", ") + name;
  }
  return FailUsage(fmt::format("{}: '{}' is not one of {}", flag, text.substr(0, 20), known));
}

std::string SignalName(int signal) {
  const char* name = sigabbrev_np(signal);
  return name == nullptr ? std::to_string(signal) : "SIG" + std::string(name);
}

Result<std::string> ReadInput(const std::string& path, std::size_t most) {
  const std::unique_ptr<ByteSource> in = TRY(OpenInput(path));
  return ReadAll(*in, most);
}

}  // namespace idleburn
