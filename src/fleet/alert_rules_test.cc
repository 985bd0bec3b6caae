#include "fleet/alert_rules.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <regex>
#include <set>

#include "base/time.h"
#include "watch/gpu_load.h"

namespace idleburn {
namespace {

const AlertRule& RuleNamed(std::string_view name) {
  const auto rules = AlertRules();
  const auto found = std::find_if(rules.begin(), rules.end(), [&](const AlertRule& rule) { return rule.name == name; });
  EXPECT_NE(found, rules.end()) << name;
  return *found;
}

// The minutes of the longest window of an expression, such as [5m] or [1h].
int WindowMinutes(std::string_view expression) {
  static const std::regex kWindow(R"((?:\[|ratio)(\d+)([mh]))");
  const std::string text(expression);
  int longest = 0;
  for (std::sregex_iterator window(text.begin(), text.end(), kWindow), end; window != end; ++window)
    longest = std::max(longest, std::stoi((*window)[1]) * ((*window)[2] == "h" ? 60 : 1));
  return longest;
}

// A limit of --watch as an expression writes it: 0.5, 0.85.
std::string LimitOf(LoadAlert alert) {
  const std::int64_t percent = kLoadAlerts[Index(alert)].usual.share / kPercent;
  std::string digits = std::to_string(percent);
  while (digits.back() == '0') digits.pop_back();
  return "0." + digits;
}

TEST(AlertRules, EveryRowIsWellFormed) {
  std::set<std::string_view> names;
  static const std::regex kName("Idleburn[A-Z][A-Za-z]+");
  for (const AlertRule& rule : AlertRules()) {
    SCOPED_TRACE(rule.name);
    EXPECT_TRUE(names.insert(rule.name).second);
    EXPECT_TRUE(std::regex_match(std::string(rule.name), kName));
    EXPECT_FALSE(rule.expression.empty());
    EXPECT_FALSE(rule.keys.empty());
    EXPECT_FALSE(rule.summary.empty());
    EXPECT_GE(rule.for_minutes, 5);
    EXPECT_TRUE(rule.release.empty() || rule.keep_minutes == 0) << "two kinds of hysteresis";
    EXPECT_NE(rule.release, rule.expression);
    // The summary names what the alert is about.
    EXPECT_NE(rule.summary.find("$labels." + std::string(rule.keys.substr(0, rule.keys.find(',')))),
              std::string_view::npos);
  }
  EXPECT_EQ(names.size(), 9U);
}

TEST(AlertRules, EveryCauseAnswersTheFourSuspectsWithEvidence) {
  static const std::regex kNamed(R"(\{([a-z_]+)\})");
  for (const AlertRule& rule : AlertRules()) {
    SCOPED_TRACE(rule.name);
    const std::string cause(rule.cause);
    for (const char* suspect : {"IO", "odel size", "cheduling", "ser error"})
      EXPECT_NE(cause.find(suspect), std::string::npos) << suspect;
    int named = 0;
    for (std::sregex_iterator name(cause.begin(), cause.end(), kNamed), end; name != end; ++name, ++named)
      EXPECT_NE(EvidenceTemplate((*name)[1].str()), "") << (*name)[1];
    EXPECT_GE(named, 2);
    // What an alert has no label for, its evidence cannot ask about.
    for (std::sregex_iterator name(cause.begin(), cause.end(), kNamed), end; name != end; ++name) {
      const std::string evidence = EvidenceTemplate((*name)[1].str());
      for (const char* label : {"node", "uuid"}) {
        if (evidence.find(std::string("$labels.") + label) == std::string::npos) continue;
        EXPECT_NE(rule.keys.find(label), std::string_view::npos) << (*name)[1];
      }
    }
  }
  EXPECT_EQ(EvidenceTemplate("no_such"), "");
}

TEST(AlertRules, LimitsAndTimesAreThoseOfWatch) {
  const AlertRule& low = RuleNamed("IdleburnLowUtilization");
  EXPECT_NE(low.expression.find(" < " + LimitOf(LoadAlert::kLowUtilization) + "\n"), std::string_view::npos);
  EXPECT_EQ(WindowMinutes(low.expression) * 60 * kNanosPerSecond,
            kLoadAlerts[Index(LoadAlert::kLowUtilization)].usual.time.count());
  EXPECT_TRUE(RuleNamed("IdleburnMemory").expression.ends_with(" > " + LimitOf(LoadAlert::kMemory)));
  const std::pair<const char*, LoadAlert> stalls[] = {{"IdleburnPcieStall", LoadAlert::kPcieStall},
                                                      {"IdleburnAllReduceStall", LoadAlert::kAllReduceStall}};
  for (const auto& [name, alert] : stalls) {
    const AlertRule& stall = RuleNamed(name);
    EXPECT_NE(stall.expression.find(" >= " + LimitOf(alert) + "\n"), std::string_view::npos) << name;
    EXPECT_EQ((WindowMinutes(stall.expression) + stall.for_minutes) * 60 * kNanosPerSecond,
              kLoadAlerts[Index(alert)].usual.time.count())
        << name;
  }
  const AlertRule& held = RuleNamed("IdleburnIdleHeld");
  EXPECT_EQ(WindowMinutes(held.expression) + held.for_minutes, 15) << "--watch all: idle-held at 15 minutes";
}

TEST(AlertRules, RecordedNamesAreUniqueAndDefinedBeforeTheyAreUsed) {
  static const std::regex kRecorded("idleburn:[a-z_]+(:[a-z0-9_]+)?");
  std::set<std::string> known;
  const auto uses_known = [&](std::string_view text) {
    const std::string words(text);
    for (std::sregex_iterator name(words.begin(), words.end(), kRecorded), end; name != end; ++name)
      EXPECT_EQ(known.count(name->str()), 1U) << name->str();
  };
  for (const RecordingRule& rule : RecordingRules(MonthlyBudget{Money::Cents(1), "USD"})) {
    uses_known(rule.expression);
    EXPECT_TRUE(known.insert(rule.name).second) << rule.name;
    EXPECT_TRUE(rule.comment.ends_with(".")) << rule.name;
  }
  for (const AlertRule& rule : AlertRules()) {
    uses_known(rule.expression);
    uses_known(rule.release);
  }
  uses_known(AlertRulesYaml(RuleEngine::kPrometheus));  // the queries of the evidence too
}

TEST(AlertRules, TheBudgetIsARecordedSeriesInItsCurrency) {
  const std::string with = AlertRulesYaml(RuleEngine::kPrometheus, MonthlyBudget{*Money::Parse("1234567.891"), "EUR"});
  EXPECT_NE(with.find("- record: idleburn:budget_per_month\n    expr: |-\n      vector(1234567.891)\n"
                      "    labels:\n      currency: EUR\n"),
            std::string::npos);
  const std::string without = AlertRulesYaml(RuleEngine::kPrometheus);
  EXPECT_EQ(without.find("record: idleburn:budget_per_month"), std::string::npos);
  EXPECT_NE(without.find("# No budget was given"), std::string::npos);
  EXPECT_NE(without.find("alert: IdleburnBudgetBurnRate"), std::string::npos);
}

TEST(AlertRules, OnlyPrometheusIsGivenWhatVmalertDoesNotKnow) {
  EXPECT_NE(AlertRulesYaml(RuleEngine::kPrometheus).find("keep_firing_for: 5m"), std::string::npos);
  const std::string vmalert = AlertRulesYaml(RuleEngine::kVmalert);
  EXPECT_EQ(vmalert.find("keep_firing_for"), std::string::npos);
  EXPECT_NE(vmalert.find(")[5m:1m])\n      and on (node, uuid) ALERTS{alertname=\"IdleburnIdleHeld\""),
            std::string::npos);
}

}  // namespace
}  // namespace idleburn
