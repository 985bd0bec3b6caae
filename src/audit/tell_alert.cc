#include "audit/tell_alert.h"

#include <array>
#include <string_view>

#include "terminal/output.h"

namespace idleburn {
namespace {

constexpr std::array<std::string_view, 3> kActNames = {"warn", "checkpoint", "stop"};

}  // namespace

void TellAlert(const WatchAlert& alert, AlertCommand* command) {
  Say("alert: " + alert.text);
  if (command == nullptr || command->Tell(std::string(kActNames[static_cast<std::size_t>(alert.act)]), alert.text)) {
    return;
  }
  Say("--on-alert: its process is gone or far behind; the alert was not passed on");
}

WatchAlert NothingIsWatched(const std::string& why) {
  return {WatchAct::kWarn, "nothing is watched, and no limit can hold: no GPU is measured (" + why + ")"};
}

}  // namespace idleburn
