#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "telemetry/live_sink.h"

namespace idleburn {

// One variable of an environment; absent if it is not set.
using VariableLookup = std::function<std::optional<std::string>(std::string_view name)>;

// Which job, run and place in it an environment speaks of, as facts "env.NAME". Only the names of a fixed list are
// asked for, none of which holds a secret: an environment as a whole is never read, kept or hashed. Values are cut to
// 256 bytes and freed of control characters; of addresses only the host remains, without user and password.
std::vector<RunFact> ExperimentFacts(const VariableLookup& lookup);

}  // namespace idleburn
