#pragma once

#include <string_view>

namespace idleburn {

// Takes the letter off "7B" or "4k" and returns what it stands for, 1 without one. A thousand tokens of a sequence are
// 1024, as models are built; of anything else they are 1000.
double TakeCountUnit(std::string_view key, std::string_view& digits);

}  // namespace idleburn
