#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/byte_source.h"
#include "base/result.h"

namespace idleburn {
// Prints one line of the program's own to standard error: "idleburn: ...". Control characters are escaped.
void Say(std::string_view line);

// Prints to standard output. Fails if not all of it could be written (a full disk, a closed pipe).
Result<void> Print(std::string_view text);
// Prints to standard error, for commands whose standard output belongs to a workload. Errors are ignored, because
// there is no other place to report them.
void PrintAside(std::string_view text);
// Writes to the file at `path`, or prints if `path` is "" or "-". The file appears whole or not at all, so a full
// disk never leaves half a report.
Result<void> WriteOutput(const std::string& path, std::string_view text);

// Wraps a source so that standard error shows how much of it was read, how fast, and how long it will take. The line
// appears after a second, is renewed twice a second while the source is read, and is wiped at the end. `size` is the
// size of the input in bytes. 0 means unknown (compressed input, a pipe); then no remaining time is shown.
std::unique_ptr<ByteSource> WithProgress(std::unique_ptr<ByteSource> in, std::uintmax_t size);

}  // namespace idleburn
