#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/result.h"
#include "base/time.h"

namespace idleburn {

// What a flag of a command says, or a usage error that names both. An empty text: it was not given.

Result<std::int64_t> FlagCount(const char* command, const char* flag, const std::string& text, std::int64_t least,
                               std::int64_t usual);
Result<Nanos> FlagSpan(const char* command, const char* flag, const std::string& text, Nanos usual);
// "35%" or ".35": at least 0 and below 1.
Result<double> FlagShare(const std::string& command, const char* flag, const std::string& text);
// "SIGTERM", "TERM" or "term", if it is one of those; `flag` starts the message.
Result<int> FlagSignal(const std::string& flag, const std::string& text, std::span<const int> those);

// "SIGTERM".
std::string SignalName(int signal);

}  // namespace idleburn
