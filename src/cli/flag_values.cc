#include "cli/flag_values.h"

#include <fmt/format.h>

#include <optional>

#include "text/duration.h"
#include "text/number.h"

namespace idleburn {

Result<std::int64_t> FlagCount(const char* command, const char* flag, const std::string& text, std::int64_t least,
                               std::int64_t usual) {
  if (text.empty()) return usual;
  const std::optional<std::int64_t> count = ParseInteger(text);
  if (count && *count >= least) return *count;
  return FailUsage(fmt::format("{}: {}: '{}' is no number from {} on", command, flag, text.substr(0, 20), least));
}

Result<Nanos> FlagSpan(const char* command, const char* flag, const std::string& text, Nanos usual) {
  if (text.empty()) return usual;
  const Result<Nanos> span = ParseDuration(text);
  if (!span) return FailUsage(fmt::format("{}: {}: {}", command, flag, span.error().message));
  return span;
}

}  // namespace idleburn
