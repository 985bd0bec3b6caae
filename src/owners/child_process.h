#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace idleburn {

// Runs a tool of the scheduler to its end and returns its standard output. It waits at most `timeout`; then the tool
// and its children are killed, and that is an error. So are an exit code other than 0 and more than `most` bytes of
// output. The error is one line with the tool's name and the first line that the tool wrote on standard error.
//
// The tool is found on the PATH. It gets no input, unblocked signals and the locale C. Call it from a thread that may
// wait: it is slow by nature.
Result<std::string> OutputOf(const std::vector<std::string>& command, Nanos timeout, std::size_t most);

// Whether a program can be run: a path that is executable, or a name that is found so on the PATH.
bool IsProgram(const std::string& name);

}  // namespace idleburn
