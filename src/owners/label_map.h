#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace idleburn {

// What a rule may look at. All of it is text of others.
struct LabelFacts {
  std::string_view user;
  std::string_view account;
  std::string_view ns;  // namespace of Kubernetes
  std::string_view job_name;
};
struct Labels {
  std::string team;
  std::string project;
};

// Teams and projects by a mapping file in TOML:
//
//     schema_version = 1
//     [[rule]]
//     account = "nlp-*"
//     team = "language"
//     project = "search"
//     [[rule]]
//     user = "alice"
//     job_name = "*eval*"
//     team = "evaluation"
//
// A rule matches if all of its patterns do: user, account, namespace and job_name. In a pattern `*` stands for any text
// and `?` for one byte. The first rule that matches and has a team gives the team, and the same holds for the project.
class LabelMap {
 public:
  // Fails with file and line on an unknown key, with the nearest known one, on a rule without a pattern or without a
  // label, and on another schema_version.
  static Result<LabelMap> ReadFile(const std::string& path);
  // The same for a text; `name` stands for the file in messages.
  static Result<LabelMap> Parse(std::string_view text, const std::string& name);

  // The labels of an owner; empty ones have no rule.
  [[nodiscard]] Labels LabelsOf(const LabelFacts& facts) const;

 private:
  struct Rule {
    std::optional<std::string> user;
    std::optional<std::string> account;
    std::optional<std::string> ns;
    std::optional<std::string> job_name;
    Labels labels;
  };
  std::vector<Rule> rules_;
};

// Whether a text matches a pattern as a whole. Its time grows with the product of the lengths, at most.
bool MatchesPattern(std::string_view pattern, std::string_view text);

}  // namespace idleburn
