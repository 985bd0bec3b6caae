#pragma once

#include <string_view>

namespace idleburn {

// What an input that begins like this seems to be, where it is no log but what people give in place of one, and what
// to do instead. Empty if nothing is known of it.
std::string_view MistakenFor(std::string_view head);

}  // namespace idleburn
