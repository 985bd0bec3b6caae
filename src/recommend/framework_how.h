// How to apply a lever in the framework that a trace is of.

#pragma once

#include <optional>
#include <string_view>

#include "diagnose/framework.h"

namespace idleburn {

// The line of code or the flag. Empty: the framework has none, and the lever is named without one. Absent: the table
// has no row, and the lever's own text holds, which is PyTorch's or of no framework.
std::optional<std::string_view> FrameworkHow(Framework framework, std::string_view lever);

}  // namespace idleburn
