#pragma once

#include <string_view>

namespace idleburn {

// What an input that begins like this seems to be, where it is no log but what people give in place of one, and what
// to do instead. Empty if nothing is known of it.
std::string_view MistakenFor(std::string_view head);

// The same of what holds files and is no input itself, whatever lies in it: a tar archive of a log begins like one.
std::string_view ArchiveFor(std::string_view head);

}  // namespace idleburn
