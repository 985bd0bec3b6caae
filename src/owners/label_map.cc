#include "owners/label_map.h"

#include <toml++/toml.h>

#include <array>

#include "os/input_file.h"
#include "owners/node_gpu.h"
#include "text/command_line.h"
#include "text/line_reader.h"

namespace idleburn {
namespace {

constexpr std::size_t kMostBytes = 1 << 20;
constexpr std::size_t kMostPattern = 256;
const std::vector<std::string>& RuleKeys() {
  static const std::vector<std::string> kKeys = {"user", "account", "namespace", "job_name", "team", "project"};
  return kKeys;
}

std::string PlaceOf(const std::string& name, const toml::source_region& source) {
  return name + ":" + std::to_string(source.begin.line) + ": ";
}

tl::unexpected<Error> UnknownKey(const std::string& where, std::string_view key,
                                 const std::vector<std::string>& known) {
  return FailUsage(where + "unknown key '" + SafeName(key).substr(0, 60) + "'; " + SuggestionFor(key, known));
}

// The text of a pattern or label, one line of at most 256 bytes.
Result<std::string> LabelText(const std::string& where, std::string_view key, const toml::node& node) {
  const auto* text = node.as_string();
  if (text == nullptr || text->get().empty() || SafeName(text->get()) != text->get()) {
    return FailUsage(where + std::string(key) + " is not a text of 1 to " + std::to_string(kMostPattern) + " bytes");
  }
  return text->get();
}

}  // namespace

Result<LabelMap> LabelMap::ReadFile(const std::string& path) {
  const auto in = TRY(OpenInput(path));
  const std::string text = TRY(ReadAll(*in, kMostBytes));
  return Parse(text, path);
}

Result<LabelMap> LabelMap::Parse(std::string_view text, const std::string& name) {
  toml::table file;
  try {
    file = toml::parse(text);
  } catch (const toml::parse_error& error) {
    return FailUsage(PlaceOf(name, error.source()) + std::string(error.description()));
  }
  static const std::vector<std::string> kTopKeys = {"schema_version", "rule"};
  LabelMap map;
  bool versioned = false;
  for (const auto& [key, node] : file) {
    const std::string where = PlaceOf(name, key.source());
    if (key.str() == "schema_version") {
      if (node.value<std::int64_t>() != 1) return FailUsage(where + "schema_version is not 1");
      versioned = true;
    } else if (key.str() != "rule") {
      return UnknownKey(where, key.str(), kTopKeys);
    } else if (node.as_array() == nullptr) {
      return FailUsage(where + "rule is not a table; write each rule under [[rule]]");
    }
  }
  if (!versioned) return FailUsage(name + ": schema_version is missing; write schema_version = 1 on top");
  const toml::array* rules = file["rule"].as_array();
  if (rules == nullptr) return map;
  for (const toml::node& entry : *rules) {
    const toml::table* table = entry.as_table();
    const std::string place = PlaceOf(name, entry.source());
    if (table == nullptr) return FailUsage(place + "rule is not a table; write each rule under [[rule]]");
    Rule rule;
    for (const auto& [key, node] : *table) {
      const std::string where = PlaceOf(name, key.source());
      const std::string_view word = key.str();
      std::optional<std::string>* pattern = word == "user"        ? &rule.user
                                            : word == "account"   ? &rule.account
                                            : word == "namespace" ? &rule.ns
                                            : word == "job_name"  ? &rule.job_name
                                                                  : nullptr;
      std::string* label = word == "team" ? &rule.labels.team : word == "project" ? &rule.labels.project : nullptr;
      if (pattern == nullptr && label == nullptr) return UnknownKey(where, word, RuleKeys());
      std::string value = TRY(LabelText(where, word, node));
      if (label != nullptr) *label = value;
      if (pattern != nullptr) *pattern = std::move(value);
    }
    if (!rule.user && !rule.account && !rule.ns && !rule.job_name) {
      return FailUsage(place + "the rule has no pattern; give user, account, namespace or job_name");
    }
    if (rule.labels.team.empty() && rule.labels.project.empty()) {
      return FailUsage(place + "the rule has no label; give team or project");
    }
    map.rules_.push_back(std::move(rule));
  }
  return map;
}

Labels LabelMap::LabelsOf(const LabelFacts& facts) const {
  // A fact that is not known matches no pattern, not even "*".
  const auto fits = [](const std::optional<std::string>& pattern, std::string_view text) {
    return !pattern || (!text.empty() && MatchesPattern(*pattern, text.substr(0, kMostPattern)));
  };
  Labels labels;
  for (const Rule& rule : rules_) {
    if (!fits(rule.user, facts.user) || !fits(rule.account, facts.account) || !fits(rule.ns, facts.ns) ||
        !fits(rule.job_name, facts.job_name)) {
      continue;
    }
    if (labels.team.empty()) labels.team = rule.labels.team;
    if (labels.project.empty()) labels.project = rule.labels.project;
  }
  return labels;
}

bool MatchesPattern(std::string_view pattern, std::string_view text) {
  std::size_t p = 0;
  std::size_t t = 0;
  // After a mismatch the last "*" takes one byte more. Earlier ones need no second try.
  std::optional<std::size_t> star;
  std::size_t taken = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      taken = t;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
      ++p;
      ++t;
    } else if (star) {
      p = *star + 1;
      t = ++taken;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

}  // namespace idleburn
