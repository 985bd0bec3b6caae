#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/result.h"
#include "base/time.h"

namespace idleburn {
// Values of flags. A bad text is a usage error that names command and flag. An empty text means that the flag was not
// given.

// A whole number from `least` on; `usual` if the flag was not given.
Result<std::int64_t> FlagCount(const char* command, const char* flag, const std::string& text, std::int64_t least,
                               std::int64_t usual);
// A span of time such as "10m"; `usual` if the flag was not given.
Result<Nanos> FlagSpan(const char* command, const char* flag, const std::string& text, Nanos usual);
// "35%" or ".35": a share from 0 to below 1. It must be given. "35" is an error that says what to write: it could mean
// both.
Result<double> FlagShare(const std::string& command, const char* flag, const std::string& text);
// "SIGTERM", "TERM" or "term", if it is one of `those`. `flag` starts the message.
Result<int> FlagSignal(const std::string& flag, const std::string& text, std::span<const int> those);

// "SIGTERM" for 15; the number of a signal without a name.
std::string SignalName(int signal);

// Reads a small input, unpacked, as one text. More than `most` bytes are an error: the caller expects a document, not
// a log.
Result<std::string> ReadInput(const std::string& path, std::size_t most);

}  // namespace idleburn
