#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "base/time.h"

namespace idleburn {

// What a flag of a command says, or a usage error that names both. An empty text: it was not given.

Result<std::int64_t> FlagCount(const char* command, const char* flag, const std::string& text, std::int64_t least,
                               std::int64_t usual);
Result<Nanos> FlagSpan(const char* command, const char* flag, const std::string& text, Nanos usual);

}  // namespace idleburn
