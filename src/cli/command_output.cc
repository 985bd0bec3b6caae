#include "cli/command_output.h"

#include <fcntl.h>
#include <unistd.h>

namespace idleburn {

CommandOutput::CommandOutput(bool shown) : fd_(shown ? dup(STDERR_FILENO) : open("/dev/null", O_WRONLY | O_CLOEXEC)) {}

CommandOutput::~CommandOutput() {
  if (fd_ >= 0) close(fd_);
}

}  // namespace idleburn
