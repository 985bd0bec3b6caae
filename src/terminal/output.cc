#include "terminal/output.h"

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "os/output_file.h"
#include "text/figures.h"
#include "text/strings.h"

// Output of the program. A write that fails is an error for the report, which the user asked for, and is ignored for
// messages: there is no other place to report it.

namespace idleburn {
void Say(std::string_view line) { std::fprintf(stderr, "idleburn: %s\n", Printable(line).c_str()); }

Result<void> Print(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0) {
    return Fail(std::string("standard output cannot be written: ") + std::strerror(errno));
  }
  return {};
}

void PrintAside(std::string_view text) { std::fwrite(text.data(), 1, text.size(), stderr); }

Result<void> WriteOutput(const std::string& path, std::string_view text) {
  return path.empty() || path == "-" ? Print(text) : WriteFileWhole(path, text);
}

}  // namespace idleburn
