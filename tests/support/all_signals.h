#pragma once

#include <csignal>

namespace idleburn::testing {

// In a process that was just forked: no signal is ignored, as after a login. Whoever runs tests in the background, or
// by nohup, has some ignored.
inline void MindAllSignals() {
  for (const int ignored : {SIGINT, SIGQUIT, SIGHUP, SIGPIPE}) signal(ignored, SIG_DFL);
}

}  // namespace idleburn::testing
