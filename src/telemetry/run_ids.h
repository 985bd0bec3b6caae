#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/run_ids.h"
#include "telemetry/run_facts.h"

namespace idleburn {

// The ids of a run, by which people find it again in their scheduler or experiment tracker. The key of the fact that
// holds the id of a recorded run:
inline constexpr std::string_view kRunIdFact = "run.id";

// The ids in the facts of a run: "env.NAME", kept from the environment of its command. What looks like a secret in a
// value is left out.
RunIds IdsOf(const RunFacts& facts);
// The ids in which all runs of a report agree. A run without an id does not agree with a run that has one.
RunIds SharedIds(std::span<const RunIds> runs);

// The known ids in one line: "run 0f3a..., job 4711, experiment bert". Empty without any.
std::string IdsText(const RunIds& ids);
// The same as the line at the top of a text, "Ids: job 4711". Empty without any.
std::string IdsLine(const RunIds& ids);
// The title of a page with the ids behind it: "2 scenarios; job 4711".
std::string TitleAndIds(std::string title, const RunIds& ids);

}  // namespace idleburn
