// Recording and alert rules over the agent's metrics (docs/fleet-rules.md), all from one table. Rules show rates and
// estimates. Time without data has its own alert and never makes a GPU look idle.

#pragma once

#include <string>

namespace idleburn {

// The program that evaluates the rules. The rules are the same; a comment says how to load them.
enum class RuleEngine { kPrometheus, kVmalert };

// One YAML document with a group of recording rules and a group of alerts.
std::string AlertRulesYaml(RuleEngine engine);

}  // namespace idleburn
