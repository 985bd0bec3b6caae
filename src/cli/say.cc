#include "cli/say.h"

#include <cstdio>

#include "text/escape.h"

namespace idleburn {

void Say(std::string_view line) { std::fprintf(stderr, "idleburn: %s\n", Printable(line).c_str()); }

}  // namespace idleburn
