#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/run_ids.h"
#include "telemetry/run_facts.h"

namespace idleburn {

// The fact that holds the id of a recorded run.
inline constexpr std::string_view kRunIdFact = "run.id";

// As the facts of a run tell them: "env.NAME", kept from the environment of its command. What looks like a secret in a
// value is left out.
RunIds IdsOf(const RunFacts& facts);
// Those in which all runs of a report agree. A run that tells none agrees with none that does.
RunIds SharedIds(std::span<const RunIds> runs);

// "run 0f3a..., job 4711, experiment bert": those that are known; empty without any.
std::string IdsText(const RunIds& ids);
// The same as the line that heads a text, "Ids: job 4711"; no line without any.
std::string IdsLine(const RunIds& ids);
// "2 scenarios; job 4711": the title of a page, with the ids behind it.
std::string TitleAndIds(std::string title, const RunIds& ids);

}  // namespace idleburn
