#pragma once

#include <map>
#include <string>
#include <string_view>

namespace idleburn {

using BillingTags = std::map<std::string, std::string>;

// The tags in a FOCUS cell `Tags`, a flat JSON object: a number or a truth value by its text, nothing for null. Empty
// where the cell is none.
BillingTags ReadBillingTags(std::string_view cell);

}  // namespace idleburn
