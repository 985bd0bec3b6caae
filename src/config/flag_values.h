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

// Reads a whole number from `least` on. Returns `usual` if the flag was not given.
Result<std::int64_t> FlagCount(const char* command, const char* flag, const std::string& text, std::int64_t least,
                               std::int64_t usual);
// Reads a span of time such as "10m". Returns `usual` if the flag was not given.
Result<Nanos> FlagSpan(const char* command, const char* flag, const std::string& text, Nanos usual);
// Reads a share from 0 to below 1: "35%" or ".35". The text must not be empty. "35" is an error that says what to
// write, because it could mean 35 % or be a slip.
Result<double> FlagShare(const std::string& command, const char* flag, const std::string& text);
// Reads the name of a signal: "SIGTERM", "TERM" or "term". Fails if it is none of `those`. `flag` starts the message.
Result<int> FlagSignal(const std::string& flag, const std::string& text, std::span<const int> those);

// The name of a signal: "SIGTERM" for 15. The number of a signal without a name.
std::string SignalName(int signal);

// Reads a small input, unpacked, as one text. More than `most` bytes are an error: the caller expects a document, not
// a log.
Result<std::string> ReadInput(const std::string& path, std::size_t most);

}  // namespace idleburn
