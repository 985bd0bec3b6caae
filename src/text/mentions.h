#pragma once

#include <string_view>

namespace idleburn {

// Whether `word` stands anywhere in `text`, in capitals or not.
bool Mentions(std::string_view text, std::string_view word);

}  // namespace idleburn
