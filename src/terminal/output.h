#pragma once

#include <string>
#include <string_view>

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

}  // namespace idleburn
