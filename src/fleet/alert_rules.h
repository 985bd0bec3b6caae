// Alert and recording rules for the metrics of the agents, from one table, as YAML that Prometheus 2.42 or
// vmalert 1.79 load. docs/fleet-rules.md says what each alert means.

#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/money.h"

namespace idleburn {

// The program that evaluates the rules. vmalert 1.79 rejects a file with keep_firing_for.
enum class RuleEngine : std::uint8_t { kPrometheus, kVmalert };

// How urgent an alert is: act at once, the same day, or when it suits.
enum class AlertSeverity : std::uint8_t { kCritical, kWarning, kInfo };

// A row of the table of alerts. Expressions are PromQL that MetricsQL reads alike.
struct AlertRule {
  std::string_view name = {};
  // True while the alert should be pending or firing. A window plus `for_minutes` is the time that --watch waits.
  std::string_view expression = {};
  int for_minutes = 5;
  // Hysteresis, at most one of the two. `release` is a looser expression: a firing alert ends when that is false.
  // `keep_minutes`: a firing alert goes on for so long after `expression` was last true.
  std::string_view release = {};
  int keep_minutes = 0;
  AlertSeverity severity = AlertSeverity::kWarning;
  // The labels that tell one alert of this row from another: "node, uuid".
  std::string_view keys = {};
  // A sentence for a subject line. It may use templates of the engines, such as $labels.
  std::string_view summary = {};
  // Whether IO, model size, scheduling or a user error is the cause, and what tells. {name} is a row of the table of
  // evidence: the engine puts in the value at the time of the alert.
  std::string_view cause = {};
};

// The table of alerts.
std::span<const AlertRule> AlertRules();

// What a fleet may cost in 720 hours.
struct MonthlyBudget {
  Money amount;
  std::string currency;  // ISO 4217, in capitals
};

// An expression that the engine evaluates once a minute and stores under a name. Later rows may use earlier ones.
struct RecordingRule {
  std::string name;
  std::string expression;
  std::string currency;  // its label of that name; empty: none
  std::string comment;   // one sentence
};

// The sums of dashboards, and what several alerts share. Without a budget nothing is recorded for it, and the alert on
// the budget stays silent. The currency must satisfy IsCurrencyCode.
std::vector<RecordingRule> RecordingRules(const std::optional<MonthlyBudget>& budget);

// The evidence that `cause` may name: {name} as the engines' template, with its query. Empty for an unknown name.
std::string EvidenceTemplate(std::string_view name);

// The rule file: one group, evaluated once a minute.
std::string AlertRulesYaml(RuleEngine engine, const std::optional<MonthlyBudget>& budget = {});

}  // namespace idleburn
