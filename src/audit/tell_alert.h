#pragma once

#include <string>

#include "run/alert_command.h"
#include "watch/watch.h"

namespace idleburn {

// Says an alert on standard error, and to `command` if there is one.
void TellAlert(const WatchAlert& alert, AlertCommand* command);

// What to say where a watch sees nothing; `why` there is no GPU.
WatchAlert NothingIsWatched(const std::string& why);

}  // namespace idleburn
