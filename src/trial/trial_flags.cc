#include "trial/trial_flags.h"

#include <fmt/format.h>

#include <array>

#include "audit/live_flags.h"
#include "config/flag_values.h"
#include "text/number.h"

namespace idleburn {

void TrialFlags::AddTo(CommandFlags& flags, const std::string& each) {
  const auto add = [&](const char* name, const char* value, const std::string& help, std::string& text) {
    flags.Add(name, value, help).text = &text;
  };
  const std::string steps_usual = usual.steps ? fmt::format(" (default {})", *usual.steps) : "";
  const std::string time_usual = usual.time ? fmt::format(" (default {})", SecondsText(*usual.time)) : "";
  add("--for", "TIME", fmt::format("measure each {} for so long after its warm-up{}", each, time_usual), time);
  add("--steps", "N", fmt::format("measure each {} for so many steps after its warm-up{}", each, steps_usual), steps);
  add("--skip-steps", "N", fmt::format("the warm-up of each {}, not measured (default {})", each, usual.skip_steps),
      skip_steps);
  add("--patience", "TIME",
      fmt::format("give a {} up that makes no progress for so long (default {})", each, SecondsText(usual.patience)),
      patience);
  add("--grace", "TIME",
      fmt::format("kill a {} that has not ended so long after SIGTERM (default {})", each, SecondsText(usual.grace)),
      grace);
}

Result<TrialBounds> TrialFlags::Bounds(const char* command) const {
  TrialBounds bounds = usual;
  bounds.skip_steps = TRY(FlagCount(command, "--skip-steps", skip_steps, 0, usual.skip_steps));
  const std::optional<Nanos> span = TRY(ParseFor(time));
  if (span || !steps.empty()) {
    bounds.time = span;
    bounds.steps.reset();
  }
  if (!steps.empty()) {
    bounds.steps = TRY(FlagCount(command, "--steps", steps, 1, 0));
  }
  bounds.patience = TRY(FlagSpan(command, "--patience", patience, usual.patience));
  bounds.grace = TRY(FlagSpan(command, "--grace", grace, usual.grace));
  return bounds;
}

std::string TrialFlags::Given() const {
  const std::array<std::pair<const char*, const std::string*>, 5> all = {{{"--for", &time},
                                                                          {"--steps", &steps},
                                                                          {"--skip-steps", &skip_steps},
                                                                          {"--patience", &patience},
                                                                          {"--grace", &grace}}};
  for (const auto& [name, text] : all) {
    if (!text->empty()) return name;
  }
  return "";
}

}  // namespace idleburn
